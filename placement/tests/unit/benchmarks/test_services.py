# SPDX-License-Identifier: Apache-2.0
"""How the services that are measured are started."""

import pathlib

import pytest

from benchmarks.services import CannotStart, Service


def test_a_server_that_is_not_installed_is_told(tmp_path: pathlib.Path) -> None:
    service = Service(
        'ours', str(tmp_path / 'bin' / 'python'), 'sqlite://', tmp_path, wsgi_server='uwsgi'
    )

    with pytest.raises(CannotStart, match='pyuwsgi is not installed'):
        service.start()


def test_a_service_that_ends_at_once_is_told(tmp_path: pathlib.Path) -> None:
    broken = tmp_path / 'python'
    broken.write_text('#!/bin/sh\nexit 1\n')
    broken.chmod(0o755)
    service = Service('ours', str(broken), 'sqlite://', tmp_path)

    with pytest.raises(CannotStart, match=r'ours is not running, see .*ours\.log'):
        service.start()
