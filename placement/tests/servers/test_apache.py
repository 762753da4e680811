# SPDX-License-Identifier: Apache-2.0
"""The service under Apache with mod_wsgi, in processes and threads, installed as on Debian."""

import pathlib
import shutil
from collections.abc import Iterator

import pytest

from placement.tests.servers import gabbi_runner, installation, servers

# The command of the service, and what was copied before that was a script as well.
SCRIPT = 'bin/placement-api'
MODULE = 'lib/python3*/site-packages/placement/wsgi/api.py'

PACKAGES = ('apache2', 'libapache2-mod-wsgi-py3', 'python3-venv')

AT_ROOT = gabbi_runner.files_using('Placement')

# Those of mounted services, and of the others some that check no links.
UNDER_PREFIX = [
    *gabbi_runner.files_using('PlacementUnderPrefix'),
    *gabbi_runner.named(
        ('allocations-moves', 'content', 'errors', 'negotiation', 'reshaper'), AT_ROOT
    ),
]

FROM_COMMAND = gabbi_runner.named(('allocations-moves', 'errors'), AT_ROOT)


@pytest.fixture(scope='module')
def environment() -> pathlib.Path:
    """The service in an environment of the Python that mod_wsgi is built for."""
    installation.install_system_packages(*PACKAGES)
    return installation.service_environment('apache', installation.SYSTEM_PYTHON)


@pytest.fixture(scope='module')
def at_root(environment: pathlib.Path) -> Iterator[servers.Server]:
    """Apache with the script where the package has it."""
    script = environment / SCRIPT
    with (
        installation.directory() as directory,
        servers.Apache(directory, environment, '', script) as server,
    ):
        yield server


@pytest.fixture(scope='module')
def under_prefix(environment: pathlib.Path) -> Iterator[servers.Server]:
    """Apache with a copy of the script, alone in a directory."""
    with installation.directory() as directory:
        (origin,) = environment.glob(MODULE)
        script = directory / 'cgi-bin' / 'placement-api'
        script.parent.mkdir()
        shutil.copy(origin, script)
        with servers.Apache(directory, environment, '/placement', script) as server:
            yield server


@pytest.fixture(scope='module')
def from_command(environment: pathlib.Path) -> Iterator[servers.Server]:
    """Apache with the command that the package installs."""
    with installation.directory() as directory:
        command = environment / 'bin' / 'placement-api'
        with servers.Apache(directory, environment, '', command) as server:
            yield server


@pytest.mark.parametrize('path', AT_ROOT, ids=[path.stem for path in AT_ROOT])
def test_gabbi_file_at_the_root(
    path: pathlib.Path,
    at_root: servers.Server,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gabbi_runner.run(path, at_root, subtests, monkeypatch)


@pytest.mark.parametrize('path', UNDER_PREFIX, ids=[path.stem for path in UNDER_PREFIX])
def test_gabbi_file_under_a_prefix(
    path: pathlib.Path,
    under_prefix: servers.Server,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gabbi_runner.run(path, under_prefix, subtests, monkeypatch, '/placement')


@pytest.mark.parametrize('path', FROM_COMMAND, ids=[path.stem for path in FROM_COMMAND])
def test_gabbi_file_with_the_command_as_the_script(
    path: pathlib.Path,
    from_command: servers.Server,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gabbi_runner.run(path, from_command, subtests, monkeypatch)


def test_several_processes_answer_requests(at_root: servers.Server) -> None:
    assert len(servers.processes_that_answer(at_root)) > 1
