# SPDX-License-Identifier: Apache-2.0
"""How the services that are measured are started."""

import pathlib

import pytest

from benchmarks.services import CannotStart, Service


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
