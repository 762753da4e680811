# SPDX-License-Identifier: Apache-2.0
"""The application as WSGI servers load it.

Specification: configuration, "Entry points for Python".
"""

import gc
import pathlib
import runpy
import shutil
import subprocess
import sys

import pytest
import webob
from oslo_config import cfg

from placement import wsgi
from placement.tests.functional.fixtures import applications

API = pathlib.Path(wsgi.__file__).with_name('api.py')
COMMAND = applications.repository_path('bin') / 'placement-api'


@pytest.fixture
def directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A configuration directory, of which the environment tells."""
    tmp_path.joinpath('placement.conf').write_text(
        f'[placement_database]\nconnection = sqlite:///{tmp_path}/placement.sqlite\n'
        'sync_on_startup = true\n[api]\nauth_strategy = noauth2\n'
    )
    monkeypatch.setenv('OS_PLACEMENT_CONFIG_DIR', str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures('directory')
def test_the_application_is_configured_from_the_directory() -> None:
    application = wsgi.init_application()
    request = webob.Request.blank('/resource_providers', headers={'X-Auth-Token': 'admin'})

    assert request.get_response(application).json == {'resource_providers': []}


def test_the_module_works_when_it_is_copied_alone(directory: pathlib.Path) -> None:
    copy = directory / 'cgi-bin' / 'placement-api'
    copy.parent.mkdir()
    shutil.copy(API, copy)
    application = runpy.run_path(str(copy))['application']

    assert webob.Request.blank('/').get_response(application).status_int == 200


@pytest.mark.usefixtures('directory')
def test_the_command_is_a_script_when_a_web_server_loads_it() -> None:
    application = runpy.run_path(str(COMMAND), run_name='_mod_wsgi_placement')['application']

    assert webob.Request.blank('/').get_response(application).status_int == 200


def test_the_command_serves_when_it_is_executed() -> None:
    refused = subprocess.run(
        [sys.executable, COMMAND, '--port', 'x'], capture_output=True, text=True
    )

    assert refused.returncode == 2
    assert refused.stderr.startswith('usage: placement-api [-h] [--host HOST]')


def test_the_module_makes_the_application_when_it_is_imported(directory: pathlib.Path) -> None:
    subprocess.run(
        [sys.executable, '-c', 'from placement.wsgi.api import application; application.__call__'],
        check=True,
    )

    assert directory.joinpath('placement.sqlite').exists()


@pytest.mark.usefixtures('directory')
def test_a_start_that_finds_nothing_to_migrate_does_without_alembic() -> None:
    wsgi.init_application()
    start = (
        'import sys; from placement import wsgi; wsgi.init_application();'
        'sys.exit("alembic" in sys.modules)'
    )
    subprocess.run([sys.executable, '-c', start], check=True)


@pytest.mark.usefixtures('directory')
def test_the_collector_goes_on_when_the_application_is_made() -> None:
    wsgi.init_application()

    assert gc.isenabled()


def test_without_a_database_there_is_no_application(directory: pathlib.Path) -> None:
    directory.joinpath('placement.conf').write_text('[api]\nauth_strategy = noauth2\n')

    with pytest.raises(cfg.RequiredOptError):
        wsgi.init_application()


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is logged as a warning at start, where logging itself is set up anew."""
    warnings: list[str] = []
    monkeypatch.setattr(wsgi.LOG, 'warning', warnings.append)
    return warnings


@pytest.mark.usefixtures('directory')
def test_noauth2_is_warned_of_and_serves_no_strange_hosts(warnings: list[str]) -> None:
    application = wsgi.init_application()
    request = webob.Request.blank('/', headers={'Host': 'evil.example'})

    assert request.get_response(application).status_int == 403
    (warning,) = warnings
    assert 'auth_strategy is noauth2' in warning


@pytest.mark.usefixtures('directory')
def test_keystone_is_not_warned_of(warnings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OS_API__AUTH_STRATEGY', 'keystone')
    wsgi.init_application()

    assert warnings == []
