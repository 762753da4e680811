# SPDX-License-Identifier: Apache-2.0
"""How the services that are measured are started."""

import pathlib
import stat
import sys
import textwrap
import time

import pytest

from benchmarks.services import CannotStart, Service

# Stands for uWSGI: a process that answers, and one that it has forked.
FORKING_SERVER = """
    #!{python}
    import http.server, os, sys, time
    child = os.fork()
    if not child:
        time.sleep(1000)
    with open('started', 'w') as started:
        print(child, *sys.argv, file=started)
    address = sys.argv[sys.argv.index('--http-socket') + 1].split(':')
    handler = http.server.SimpleHTTPRequestHandler
    http.server.HTTPServer((address[0], int(address[1])), handler).serve_forever()
"""


def test_missing_uwsgi_raises_cannot_start(tmp_path: pathlib.Path) -> None:
    service = Service(
        'ours', str(tmp_path / 'bin' / 'python'), 'sqlite://', tmp_path, wsgi_server='uwsgi'
    )

    with pytest.raises(CannotStart, match='pyuwsgi is not installed'):
        service.start()


def test_service_that_exits_raises_cannot_start(tmp_path: pathlib.Path) -> None:
    broken = tmp_path / 'python'
    broken.write_text('#!/bin/sh\nexit 1\n')
    broken.chmod(0o755)
    service = Service('ours', str(broken), 'sqlite://', tmp_path)

    with pytest.raises(CannotStart, match=r'ours is not running, see .*ours\.log'):
        service.start()


def test_several_processes_are_counted_and_killed_together(tmp_path: pathlib.Path) -> None:
    bin_directory = tmp_path / 'bin'
    bin_directory.mkdir()
    uwsgi = bin_directory / 'uwsgi'
    uwsgi.write_text(textwrap.dedent(FORKING_SERVER).lstrip().format(python=sys.executable))
    uwsgi.chmod(uwsgi.stat().st_mode | stat.S_IXUSR)
    service = Service(
        'ours', str(bin_directory / 'python'), 'sqlite://', tmp_path, wsgi_server='uwsgi',
        processes=2,
    )  # fmt: skip

    service.start()
    child, *arguments = (tmp_path / 'started').read_text().split()
    cpu_seconds = service.cpu_seconds()
    memory_mb = service.memory_mb()
    service.stop()

    assert '--processes 2' in ' '.join(arguments)
    assert cpu_seconds > 0
    assert memory_mb > 1
    assert ends(int(child))


def ends(pid: int) -> bool:
    """Whether a process ends soon, be it that nobody asks for its status."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if ') Z ' in pathlib.Path(f'/proc/{pid}/stat').read_text():
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False
