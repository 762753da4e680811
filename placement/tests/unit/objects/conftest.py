# SPDX-License-Identifier: Apache-2.0
"""An empty cloud for the tests in this directory."""

from collections.abc import Iterator

import pytest

from placement.feed import sink
from placement.tests.unit.objects.cloud import Cloud, create_database


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud that has no providers yet."""
    # Now and then a write removes old entries of the change feed, which would be counted with it.
    monkeypatch.setattr(sink, 'WRITES_BETWEEN', 2**62)
    database = create_database()
    yield Cloud(database)
    database.dispose()
