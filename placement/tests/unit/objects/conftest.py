# SPDX-License-Identifier: Apache-2.0
"""An empty cloud for the tests beside this file."""

from collections.abc import Iterator

import pytest

from placement.tests.unit.objects.cloud import Cloud, create_database


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """A cloud that has no providers yet."""
    database = create_database()
    yield Cloud(database)
    database.dispose()
