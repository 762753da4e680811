# SPDX-License-Identifier: Apache-2.0
"""Requests under each web server while the log file cannot be opened, and afterwards."""

import pathlib
from collections.abc import Iterator

import pytest

from placement.tests.servers import installation, servers

NAMES = ('apache', 'uwsgi', 'gunicorn', 'placement-api')

# Each worker answers some of these.
REQUESTS = 60


@pytest.fixture(params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[servers.Server]:
    """One of the servers, with a log file in a directory of its own."""
    with installation.directory() as directory:
        server = servers.made(request.param, directory)
        log = directory / 'log'
        log.mkdir()
        log.chmod(0o777)
        server.log_file = log / 'placement.log'
        with server:
            yield server


def ask(server: servers.Server, mark: str) -> set[int]:
    """The statuses of requests, each of which is in the log by its mark."""
    return servers.statuses_of(server, (f'/?{mark}-{number}' for number in range(REQUESTS)))


def logged(path: pathlib.Path, mark: str) -> int:
    """How many requests with a mark the log has."""
    return path.read_text(errors='replace').count(f'"GET /?{mark}-')


def test_requests_are_answered_while_the_log_cannot_be_opened(server: servers.Server) -> None:
    log_file = server.log_file
    assert log_file is not None
    assert ask(server, 'before') == {200}
    log_file.rename(log_file.with_name('rotated'))
    log_file.mkdir()
    assert ask(server, 'directory') == {200}
    log_file.rmdir()
    log_file.touch()
    log_file.chmod(0o666)
    assert ask(server, 'afterwards') == {200}
    assert logged(log_file, 'afterwards') >= REQUESTS
    # What the file could not take is where standard error goes.
    assert logged(server.log, 'directory') >= REQUESTS

    log_file.unlink()
    log_file.mkdir()
    server.stop()
    server.restart()
    assert ask(server, 'started') == {200}
    log_file.rmdir()
    assert ask(server, 'mended') == {200}
    assert logged(log_file, 'mended') >= REQUESTS
