# SPDX-License-Identifier: Apache-2.0
"""Installed, missing and mixed distributions."""

import pathlib
import sys
from importlib import metadata

import pytest

import placement
from placement.doctor import modules
from placement.doctor.check import Code
from placement.tests.unit.doctor.conftest import Configure, expect

MYSQL = "Run pip install 'openstack-placement[mysql]'."


@pytest.mark.parametrize(
    ('url', 'missing', 'code', 'words'),
    [
        ('sqlite://', None, Code.SUCCESS, ''),
        ('mysql+pymysql://db/placement', None, Code.SUCCESS, ''),
        ('postgresql+psycopg://db/placement', None, Code.SUCCESS, ''),
        ('mysql+pymysql://db/placement', 'pymysql', Code.FAILURE, MYSQL),
        (
            'postgresql+psycopg://db/p',
            'psycopg',
            Code.FAILURE,
            MYSQL.replace('mysql', 'postgresql'),
        ),
        ('mysql+nodriver://db/placement', None, Code.FAILURE, MYSQL),
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

    expect(
        modules.check_driver(configure(f'[placement_database]\nconnection = {url}\n')), code, words
    )


def test_token_library_has_to_be_installed(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = configure()
    expect(modules.check_keystone_middleware(deployment), Code.SUCCESS)
    monkeypatch.setitem(sys.modules, 'keystonemiddleware.auth_token', None)

    result = modules.check_keystone_middleware(deployment)

    expect(result, Code.FAILURE, 'Run pip install keystonemiddleware.')


def test_client_of_memcached_has_to_be_installed_where_servers_are_configured(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'memcache', None)
    used = configure('[keystone_authtoken]\nmemcached_servers = controller:11211\n')

    result = modules.check_memcached_client(used)

    expect(result, Code.FAILURE, "Run pip install 'openstack-placement[memcached]'.")
    assert modules.check_memcached_client(configure()) is None


class Site:
    """A directory that distributions are installed in, laid out as pip does."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.package = path / 'placement'
        self.package.mkdir()

    def install(self, name: str, *modules: str) -> None:
        for module in modules:
            (self.package / module).touch()
        info = self.path / f'{name.replace("-", "_")}-1.0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(f'Name: {name}\nVersion: 1.0\n')
        (info / 'RECORD').write_text(''.join(f'placement/{module},,\n' for module in modules))


@pytest.fixture
def site(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site(tmp_path)
    monkeypatch.setattr(placement, '__file__', str(site.package / '__init__.py'))
    find = metadata.distributions
    monkeypatch.setattr(metadata, 'distributions', lambda: find(path=[str(tmp_path)]))
    return site


def test_one_distribution_passes(configure: Configure, site: Site) -> None:
    site.install('openstack-placement', '__init__.py', 'errors.py')
    site.install('other')

    words = f'openstack-placement 1.0 in {site.package}.'
    expect(modules.check_distributions(configure()), Code.SUCCESS, words)


def test_sources_that_nobody_installed_pass(configure: Configure, site: Site) -> None:
    result = modules.check_distributions(configure())

    expect(result, Code.SUCCESS, 'it runs from its sources')


def test_two_distributions_are_a_failure(configure: Configure, site: Site) -> None:
    site.install('openstack-placement', '__init__.py', 'errors.py')
    site.install('placement', '__init__.py')

    words = 'openstack-placement 1.0 and placement 1.0 are installed'
    expect(modules.check_distributions(configure()), Code.FAILURE, words)


def test_modules_of_another_distribution_and_missing_ones_are_a_failure(
    configure: Configure, site: Site
) -> None:
    site.install('openstack-placement', '__init__.py', 'errors.py')
    (site.package / 'handler.py').touch()
    (site.package / 'util.py').touch()
    (site.package / 'errors.py').unlink()

    expect(
        modules.check_distributions(configure()),
        Code.FAILURE,
        'has 2 module(s), such as handler.py, that are not of openstack-placement 1.0, and '
        'lacks 1 module(s), such as errors.py, that openstack-placement 1.0 installed: two',
    )
