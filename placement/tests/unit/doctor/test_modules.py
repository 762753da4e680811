# SPDX-License-Identifier: Apache-2.0
"""What is installed, and what is missing or mixed."""

import pathlib
import sys
from importlib import metadata

import pytest

import placement
from placement.doctor import modules
from placement.doctor.result import Status
from placement.tests.unit.doctor.conftest import Configure


def connection(url: str) -> str:
    return f'[placement_database]\nconnection = {url}\n'


@pytest.mark.parametrize(
    'url', ['sqlite://', 'mysql+pymysql://user:secret@db/placement', 'postgresql+psycopg://db/p']
)
def test_installed_driver_passes(configure: Configure, url: str) -> None:
    result = modules.check_driver(configure(connection(url)))

    assert result.status is Status.OK
    assert 'secret' not in result.found


@pytest.mark.parametrize(
    ('url', 'module', 'package'),
    [
        ('mysql+pymysql://db/placement', 'pymysql', "'openstack-placement[mysql]'"),
        ('postgresql+psycopg://db/placement', 'psycopg', "'openstack-placement[postgresql]'"),
        ('mysql+nodriver://db/placement', None, "'openstack-placement[mysql]'"),
        ('nobase://db/placement', None, 'the driver'),
    ],
)
def test_missing_driver_is_a_failure(
    configure: Configure,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    module: str | None,
    package: str,
) -> None:
    if module is not None:
        # What Python sees of a module that is not installed.
        monkeypatch.setitem(sys.modules, module, None)

    result = modules.check_driver(configure(connection(url)))

    assert result.status is Status.FAILURE
    assert result.remedy == f'Run pip install {package}.'


def test_what_is_no_url_is_a_failure(configure: Configure) -> None:
    result = modules.check_driver(configure(connection('the database')))

    assert result.status is Status.FAILURE
    assert 'is no URL of a database' in result.found


def test_missing_token_library_is_a_failure(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = configure()
    assert modules.check_keystone_middleware(deployment).status is Status.OK  # type: ignore[union-attr]
    monkeypatch.setitem(sys.modules, 'keystonemiddleware.auth_token', None)

    result = modules.check_keystone_middleware(deployment)

    assert result is not None
    assert (result.status, result.remedy) == (
        Status.FAILURE,
        'Run pip install keystonemiddleware.',
    )


def test_missing_memcached_client_is_a_failure(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'memcache', None)

    result = modules.check_memcached_client(
        configure('[keystone_authtoken]\nmemcached_servers = controller:11211\n')
    )

    assert result is not None
    assert (result.status, result.remedy) == (
        Status.FAILURE,
        "Run pip install 'openstack-placement[memcached]'.",
    )


@pytest.mark.parametrize(
    'text',
    ['', '[api]\nauth_strategy = noauth2\n[keystone_authtoken]\nmemcached_servers = c:1\n'],
)
def test_memcached_client_is_needed_for_memcached_only(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setitem(sys.modules, 'memcache', None)

    assert modules.check_memcached_client(configure(text)) is None


# Installed distributions, laid out as pip does.


class Site:
    """A directory that distributions are installed in."""

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

    result = modules.check_distributions(configure())

    assert (result.status, result.found) == (
        Status.OK,
        f'openstack-placement 1.0 in {site.package}.',
    )


def test_sources_that_nobody_installed_pass(configure: Configure, site: Site) -> None:
    result = modules.check_distributions(configure())

    assert result.status is Status.OK
    assert 'it runs from its sources' in result.found


def test_two_distributions_are_a_failure(configure: Configure, site: Site) -> None:
    site.install('openstack-placement', '__init__.py', 'errors.py')
    site.install('placement', '__init__.py')

    result = modules.check_distributions(configure())

    assert result.status is Status.FAILURE
    assert result.found.startswith('openstack-placement 1.0 and placement 1.0 are installed')


def test_modules_of_another_distribution_are_a_failure(configure: Configure, site: Site) -> None:
    site.install('openstack-placement', '__init__.py')
    (site.package / 'handler.py').touch()
    (site.package / 'util.py').touch()

    result = modules.check_distributions(configure())

    assert result.status is Status.FAILURE
    assert 'has 2 module(s), such as handler.py, that are not of' in result.found


def test_missing_modules_are_a_failure(configure: Configure, site: Site) -> None:
    site.install('openstack-placement', '__init__.py', 'errors.py')
    (site.package / 'errors.py').unlink()

    result = modules.check_distributions(configure())

    assert result.status is Status.FAILURE
    assert ' lacks 1 module(s), such as errors.py, that openstack-placement 1.0' in result.found
