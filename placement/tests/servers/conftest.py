# SPDX-License-Identifier: Apache-2.0
"""Where a server has its files, and the archives of a release."""

import pathlib
import tempfile
from collections.abc import Iterator, Mapping

import pytest

from placement.tests.servers import installation, release


@pytest.fixture
def directory() -> Iterator[pathlib.Path]:
    """A directory where any user can read."""
    with installation.directory() as directory:
        yield directory


@pytest.fixture(scope='session')
def archive() -> Iterator[pathlib.Path]:
    """The source archive, made from what git knows."""
    with tempfile.TemporaryDirectory(prefix='placement-archive-') as directory:
        yield release.archive_of(pathlib.Path(directory))


@pytest.fixture(scope='session')
def wheel(archive: pathlib.Path) -> pathlib.Path:
    """The wheel, built from the archive as pip builds it for a deployer."""
    return release.wheel_of(archive, archive.parent)


@pytest.fixture(scope='session')
def client_wheels() -> Iterator[Mapping[str, pathlib.Path]]:
    """The wheels of the other distributions, by name."""
    with tempfile.TemporaryDirectory(prefix='placement-clients-') as name:
        directories = {client: pathlib.Path(name, client) for client in release.CLIENTS}
        wheels = {}
        for client, directory in directories.items():
            source = release.copied(directory, f'{client}/') / client
            wheels[client] = release.wheel_of(source, directory)
        yield wheels
