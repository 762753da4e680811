# SPDX-License-Identifier: Apache-2.0
"""An empty cloud for the tests beside this file."""

from collections.abc import Iterator

import pytest

from placement.feed import change_feed
from placement.tests.unit.objects.cloud import Cloud, create_database


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """A cloud that has no providers yet."""
    # By chance a write removes old entries of the change feed, which would be counted with it.
    monkeypatch.setattr(change_feed, 'PRUNE_ONE_IN', 2**62)
    database = create_database()
    yield Cloud(database)
    database.dispose()
