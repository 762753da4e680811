# SPDX-License-Identifier: Apache-2.0
"""What has to be there before any functional test begins."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from .fixtures import databases


def pytest_configure(config: pytest.Config) -> None:
    """Fail at once, and say so, when the server that was asked for is not there."""
    try:
        databases.check_server()
    except sa.exc.DBAPIError as error:
        raise pytest.UsageError(f'{databases.VARIABLE} names no server: {error.orig}') from None


@pytest.fixture
def url() -> Iterator[str]:
    """A database with the standard traits and classes."""
    database = databases.create()
    yield database.url
    database.drop()
