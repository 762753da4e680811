# SPDX-License-Identifier: Apache-2.0
"""The application as WSGI servers load it.

Specification: configuration, "Entry points for Python".
"""

import gc
import logging
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

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


@pytest.mark.usefixtures('directory')
def test_a_start_that_finds_nothing_to_migrate_does_without_alembic() -> None:
    wsgi.init_application()
    start = (
        'import sys; from placement import wsgi; wsgi.init_application();'
        'sys.exit("alembic" in sys.modules)'
    )
    subprocess.run([sys.executable, '-c', start], check=True)


@pytest.mark.usefixtures('directory')
def test_the_collector_does_not_look_at_what_the_application_has_loaded() -> None:
    application = wsgi.init_application()
    try:
        assert gc.isenabled()
        assert not any(value is application for value in gc.get_objects())
    finally:
        gc.unfreeze()


def test_without_a_database_there_is_no_application(directory: pathlib.Path) -> None:
    directory.joinpath('placement.conf').write_text('[api]\nauth_strategy = noauth2\n')

    with pytest.raises(cfg.RequiredOptError):
        wsgi.init_application()


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The warnings logged at start."""
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


@pytest.fixture
def log(directory: pathlib.Path) -> Iterator[pathlib.Path]:
    """The log file that the configuration names, closed afterwards."""
    path = directory / 'log' / 'placement.log'
    path.parent.mkdir()
    with directory.joinpath('placement.conf').open('a') as configuration:
        configuration.write(f'[DEFAULT]\nlog_file = {path}\n')
    handlers = list(logging.getLogger().handlers)
    yield path
    for handler in logging.getLogger().handlers:
        if handler not in handlers:
            handler.close()


def put_a_directory(log: pathlib.Path) -> Callable[[], None]:
    """Replace the log with a directory; return a function that removes it."""
    log.unlink(missing_ok=True)
    log.mkdir()
    return log.rmdir


def take_the_directory(log: pathlib.Path) -> Callable[[], None]:
    """Replace the directory of the log with a file; return a function that restores it."""
    aside = log.parent.with_name('aside')
    log.parent.rename(aside)
    log.parent.touch()

    def restore() -> None:
        log.parent.unlink()
        os.rename(aside, log.parent)

    return restore


@pytest.mark.parametrize('obstruct', [put_a_directory, take_the_directory])
@pytest.mark.parametrize('at_start', [True, False])
def test_requests_are_answered_while_the_log_cannot_be_opened(
    log: pathlib.Path,
    obstruct: Callable[[pathlib.Path], Callable[[], None]],
    capfd: pytest.CaptureFixture[str],
    at_start: bool,
) -> None:
    """Obstruct the log before or after the start of the service."""

    def ask(query: str) -> None:
        assert webob.Request.blank(f'/?{query}').get_response(application).status_int == 200

    if at_start:
        restore = obstruct(log)
        application = wsgi.init_application()
    else:
        application = wsgi.init_application()
        ask('before')
        restore = obstruct(log)
    ask('meanwhile')
    restore()
    ask('afterwards')

    errors = capfd.readouterr().err
    assert 'GET /?meanwhile' in errors
    assert errors.count('The log cannot be written') == 1
    assert 'GET /?afterwards' not in errors
    assert 'GET /?afterwards' in log.read_text()
