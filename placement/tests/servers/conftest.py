# SPDX-License-Identifier: Apache-2.0
"""Where a server has its files."""

import pathlib
from collections.abc import Iterator

import pytest

from placement.tests.servers import installation


@pytest.fixture
def directory() -> Iterator[pathlib.Path]:
    """A directory where any user can read."""
    with installation.directory() as directory:
        yield directory
