# SPDX-License-Identifier: Apache-2.0
"""Installed, missing and mixed distributions."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Sequence
from importlib import metadata

import pytest

import placement
from placement.doctor import modules
from placement.doctor.check import Check, Code
from placement.tests.unit.doctor.conftest import Configure, expect

MYSQL = "Run pip install 'openstack-placement[mysql]'."
POSTGRESQL = "Run pip install 'openstack-placement[postgresql]'."


@pytest.mark.parametrize(
    ('url', 'missing', 'code', 'words'),
    [
        ('sqlite://', None, Code.SUCCESS, ''),
        ('mysql+pymysql://db/placement', None, Code.SUCCESS, ''),
        ('postgresql+psycopg://db/placement', None, Code.SUCCESS, ''),
        ('mysql+pymysql://db/placement', 'pymysql', Code.FAILURE, MYSQL),
        ('postgresql+psycopg://db/p', 'psycopg', Code.FAILURE, POSTGRESQL),
        ('mysql+nodriver://db/placement', None, Code.FAILURE, 'as mysql+pymysql://…, and run pip'),
        ('mysql://db/placement', 'MySQLdb', Code.FAILURE, 'as mysql+pymysql://…, and run pip'),
        ('mysql+mysqldb://db/p', 'MySQLdb', Code.FAILURE, 'as mysql+pymysql://…, and run pip'),
        ('postgresql+psycopg2://db/p', 'psycopg2', Code.FAILURE, 'as postgresql+psycopg://…, and'),
        ('nobase://db/placement', None, Code.FAILURE, 'Run pip install the driver.'),
        ('the database', None, Code.FAILURE, 'is no URL of a database'),
    ],
)
def test_driver_of_the_url_has_to_be_installed(
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    missing: str | None,
    code: Code,
    words: str,
) -> None:
    if missing is not None:
        # What Python sees of a module that is not installed.
        monkeypatch.setitem(sys.modules, missing, None)

    deployment = configure(f'[placement_database]\nconnection = {url}\n')
    expect(modules.check_driver(deployment), code, words)


@pytest.mark.parametrize(
    ('check', 'missing', 'package'),
    [
        (modules.check_keystone_middleware, 'keystonemiddleware.auth_token', 'keystonemiddleware'),
        (modules.check_memcached_client, 'memcache', "'openstack-placement[memcached]'"),
    ],
)
def test_library_has_to_be_installed_where_it_is_used(
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    check: Check,
    missing: str,
    package: str,
) -> None:
    used = configure('[keystone_authtoken]\nmemcached_servers = controller:11211\n')
    expect(check(used), Code.SUCCESS)
    monkeypatch.setitem(sys.modules, missing, None)

    expect(check(used), Code.FAILURE, f'Run pip install {package}.')
    assert modules.check_memcached_client(configure()) is None


WORDS_OF_MIXTURE = (
    'has 2 module(s), such as handler.py, that are not of openstack-placement 1.0, and '
    'lacks 1 module(s), such as errors.py, that openstack-placement 1.0 installed: two'
)
OURS = ('openstack-placement', '__init__.py', 'errors.py')


@pytest.mark.parametrize(
    ('distributions', 'present', 'code', 'words'),
    [
        ([], ['errors.py'], Code.SUCCESS, 'it runs from its sources'),
        ([OURS, ('other',)], OURS[1:], Code.SUCCESS, 'openstack-placement 1.0 in {}.'),
        (
            [OURS, ('placement', '__init__.py')],
            OURS[1:],
            Code.FAILURE,
            'openstack-placement 1.0 and placement 1.0 are installed',
        ),
        ([OURS], ['__init__.py', 'handler.py', 'util.py'], Code.FAILURE, WORDS_OF_MIXTURE),
    ],
)
def test_distributions_must_not_be_mixed(
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
    distributions: list[tuple[str, ...]],
    present: Sequence[str],
    code: Code,
    words: str,
) -> None:
    """Lay out distributions as pip does, with and without their modules."""
    package = tmp_path / 'placement'
    package.mkdir()
    for module in present:
        (package / module).touch()
    for name, *installed in distributions:
        info = tmp_path / f'{name.replace("-", "_")}-1.0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(f'Name: {name}\nVersion: 1.0\n')
        (info / 'RECORD').write_text(''.join(f'placement/{path},,\n' for path in installed))
    monkeypatch.setattr(placement, '__file__', str(package / '__init__.py'))
    find = metadata.distributions
    monkeypatch.setattr(metadata, 'distributions', lambda: find(path=[str(tmp_path)]))

    expect(modules.check_distributions(configure()), code, words.format(package))
