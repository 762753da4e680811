# SPDX-License-Identifier: Apache-2.0
"""The service in a process of its own: what a new user sees, and what stops it."""

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from docutils import nodes
from oslo_config import cfg

from placement import deploy
from placement.cmd import serve
from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples

SECONDS = 60
TOKEN = {'X-Auth-Token': 'admin'}

# A fresh machine may have none.
HAS_CURL = shutil.which('curl') is not None


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Use an empty home directory and no variables of the service."""
    for name in os.environ:
        if re.fullmatch(r'OS_[A-Z_]+', name):
            monkeypatch.delenv(name)
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / 'state'


def command(*arguments: str, function: str = 'main') -> list[str]:
    program = f'import sys; from placement.cmd import serve; sys.exit(serve.{function}())'
    return [sys.executable, '-c', program, *arguments]


class Running:
    """A service that has said where it is."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            self.said.append(line.rstrip())
            if 'resource_providers' in line:
                break
        found = re.search(r'serving on (http://\S+),', '\n'.join(self.said))
        assert found, self.said
        self.url = found[1]

    def get(self, path: str, **headers: str) -> Any:
        request = urllib.request.Request(self.url + path, headers={**TOKEN, **headers})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)

    def stop(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        rest, self.errors = self.process.communicate(timeout=SECONDS)
        self.said += rest.splitlines()
        return self.process.returncode


@contextlib.contextmanager
def running(*arguments: str, function: str = 'main') -> Iterator[Running]:
    process = subprocess.Popen(
        command(*arguments, '--port', '0', function=function),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield Running(process)
    finally:
        process.kill()
        process.communicate()


def refusal(capfd: pytest.CaptureFixture[str], *arguments: str, function: str = 'main') -> str:
    """Return the one line of a service that does not start."""
    assert getattr(serve, function)(arguments) == 1
    errors = capfd.readouterr().err
    assert 'Traceback' not in errors
    assert errors.count('\n') == 1, errors
    return errors.rstrip()


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """The handlers of signals as they were: a service that refuses has put its own in place."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_it_tells_each_step_and_keeps_the_data_over_a_restart(state: Path) -> None:
    # Files in the usual places change nothing.
    usual = Path.home() / '.placement'
    usual.mkdir(parents=True)
    usual.joinpath('placement.conf').write_text('[api]\nauth_strategy = keystone\n')
    usual.joinpath('policy.yaml').write_text('no policy')
    with running('--state-dir', str(state)) as service:
        said = '\n'.join(service.said)
        assert 'configuration: none, defaults for trials' in said
        assert f'database: {state}/placement.sqlite (new)' in said
        assert 'noauth2' in said
        assert f'page: {service.url}/ui/' in said
        assert service.url.startswith('http://127.0.0.1:')
        check_suggestions(service)
        check_modes(state)
        with pytest.raises(urllib.error.HTTPError, match='403') as refused:
            service.get('/', Host='evil.example')
        refused.value.close()
        check_upload(service)
        made = urllib.request.Request(
            f'{service.url}/resource_providers', b'{"name": "host"}',
            TOKEN | {'Content-Type': 'application/json'},
        )  # fmt: skip
        urllib.request.urlopen(made, timeout=SECONDS).close()
        assert service.stop(signal.SIGINT) == 0
        assert service.said[-1] == 'placement-serve: stopped'
        assert 'Traceback' not in service.errors

    with running('--state-dir', str(state)) as service:
        assert f'database: {state}/placement.sqlite (kept from before)' in '\n'.join(service.said)
        (provider,) = service.get('/resource_providers')['resource_providers']
        assert provider['name'] == 'host'
        assert service.stop(signal.SIGTERM) == 0


def check_suggestions(service: Running) -> None:
    """The commands that it prints work."""
    suggested = [line for line in service.said if line.startswith('    curl ')]
    assert len(suggested) == 2
    for command in suggested if HAS_CURL else ():
        assert json.loads(shell(f'{command} --silent --fail'))


def shell(command: str, directory: Path | None = None) -> str:
    """Run a command in a shell and return what it prints."""
    return subprocess.run(
        command, shell=True, cwd=directory, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.skipif(not HAS_CURL, reason='the commands are of curl')
@pytest.mark.parametrize(
    ('page', 'name'), [('README.rst', 'short session'), ('doc/source/try-it.rst', 'session')]
)
def test_each_command_of_a_session_prints_what_it_shows(
    state: Path, tmp_path: Path, page: str, name: str
) -> None:
    with running('--state-dir', str(state)) as service:
        session = list(session_of(page, name, service.url))
        assert len(session) > 5
        for command, output in session:
            printed = shell(command, tmp_path)
            assert without_ids(printed) == without_ids(output), command


def session_of(path: str, name: str, url: str) -> Iterator[tuple[str, str]]:
    """The commands of a session of a page, for the address of a service, and what they print."""
    page = applications.repository_path(path).read_text()
    session = page.partition(f'.. begin of the {name}')[2].partition(f'.. end of the {name}')[0]
    tree, _ = samples.parse_page(session)
    text = '\n'.join(block.astext() for block in tree.findall(nodes.literal_block))
    # A command goes on in lines that are indented, and what it prints begins at the left.
    for command, output in re.findall(r'^\$ (.*(?:\n .*)*)([^$]*)', text, re.MULTILINE):
        yield command.replace('http://127.0.0.1:8778', url), output


def without_ids(text: str) -> str:
    """A text with one and the same id in place of every request id."""
    return samples.ANY_REQUEST_ID.sub('req-', text.strip())


def test_the_other_command_serves_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / 'placement.conf'
    file.write_text(
        f'[placement_database]\nconnection = sqlite:///{tmp_path}/other.sqlite\n'
        'sync_on_startup = true\n'
    )
    monkeypatch.setenv('OS_API__AUTH_STRATEGY', 'noauth2')
    monkeypatch.setenv('OS_TOKEN', 'of no option')
    with running('--config-file', str(file), '--host', '::1', function='api') as service:
        assert service.said[0] == f'placement-api: configuration: {file}, OS_API__AUTH_STRATEGY'
        assert service.url.startswith('http://[::1]:')
        assert service.get('/resource_providers') == {'resource_providers': []}
        assert tmp_path.joinpath('other.sqlite').exists()
        assert '/ui/' not in '\n'.join(service.said)
        assert service.stop(signal.SIGTERM) == 0


def test_a_configuration_without_a_database_needs_no_other_command(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / 'placement.conf'
    file.write_text('[history]\nenabled = true\n')
    monkeypatch.setenv('OS_API__AUTH_STRATEGY', 'noauth2')
    with running('--config-file', str(file), '--state-dir', str(state)) as service:
        assert service.get('/insight/history')['history'] == []
        assert service.stop(signal.SIGTERM) == 0


def test_a_port_that_is_taken_is_one_clear_line_and_nothing_is_written(
    state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = str(taken.getsockname()[1])
        words = refusal(capfd, '--port', port, '--state-dir', str(state))

    assert words == (
        f'placement-serve: cannot listen on 127.0.0.1 port {port}: Address already in use; '
        'choose another with --port N (make serve PORT=N)'
    )
    assert not state.exists()


NO_PORT = 'cannot listen on 127.0.0.1 port {}: a port is a number from 0 to 65535'
REFUSED = 'refusing to serve on {} with auth_strategy noauth2'


@pytest.mark.parametrize(
    ('option', 'value', 'strategy', 'words'),
    [
        *(('--port', port, 'noauth2', NO_PORT) for port in ('-1', '65536')),
        *(('--host', host, 'noauth2', REFUSED) for host in ('0.0.0.0', '::', '192.0.2.1')),
        ('--host', 'host.invalid', 'noauth2', 'cannot listen on {} port 8778: Name or'),
        ('--host', 'ü' * 70, 'noauth2', 'cannot listen on {} port 8778: '),
        ('--host', '192.0.2.1', 'keystone', 'cannot listen on {} port 8778: Cannot assign'),
        ('--config-file', '/nonexistent', 'noauth2', 'cannot be used: Failed to find some'),
    ],
)
def test_an_impossible_option_is_one_clear_line(
    state: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    value: str,
    strategy: str,
    words: str,
) -> None:
    monkeypatch.setenv('OS_API__AUTH_STRATEGY', strategy)

    assert words.format(value) in refusal(capfd, f'{option}={value}', '--state-dir', str(state))
    assert not state.exists()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_waits_for_the_database(
    tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / 'placement.conf'
    with socket.create_server(('127.0.0.1', 0)) as silent:
        file.write_text(
            '[DEFAULT]\ndebug = true\n[placement_database]\n'
            f'connection = mysql+pymysql://x:x@127.0.0.1:{silent.getsockname()[1]}/x\n'
            'max_retries = -1\n[api]\nauth_strategy = noauth2\n'
        )
        with subprocess.Popen(
            command('--port', '0', '--config-file', str(file), function='api'),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            silent.settimeout(SECONDS)
            connection, _address = silent.accept()
            with connection:
                process.send_signal(number)
                said, errors = process.communicate(timeout=SECONDS)

    assert process.returncode == 0
    assert said.endswith('placement-api: stopped\n')
    assert 'KeyboardInterrupt' not in errors
    assert 'Traceback' not in errors


def test_a_directory_that_cannot_be_written_to_is_one_clear_line(
    state: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, mode: int, exist_ok: bool) -> None:
        raise PermissionError(errno.EACCES, 'no', path)

    # The tests may be run by root, whom no directory refuses.
    monkeypatch.setattr(os, 'makedirs', refuse)
    words = refusal(capfd, '--port', '0', '--state-dir', str(state))

    assert words == f'placement-serve: cannot keep data in {state}: Permission denied'


def test_a_file_that_is_no_database_is_one_clear_line(
    state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    state.mkdir()
    file = state / 'placement.sqlite'
    file.write_text('This is a letter. ' * 100)

    assert refusal(capfd, '--port', '0', '--state-dir', str(state)) == (
        f'placement-serve: {file} is not an SQLite database; move it away to begin anew'
    )


@pytest.mark.parametrize(
    ('error', 'words'),
    [(ValueError('two\n lines'), 'two lines'), (ValueError(), 'ValueError')],
)
def test_an_application_that_cannot_be_loaded_is_one_clear_line(
    state: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    words: str,
) -> None:
    monkeypatch.setattr(deploy, 'loadapp', mock.Mock(side_effect=error))

    words = f'placement-serve: cannot load the application: {words}'
    assert refusal(capfd, '--port', '0', '--state-dir', str(state)) == words


def test_noauth2_is_refused_on_a_name_with_an_address_that_others_reach(
    state: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, '', (address, 0))
             for address in ('127.0.0.1', '192.0.2.1')]  # fmt: skip
    monkeypatch.setattr(socket, 'getaddrinfo', lambda *arguments, **options: found)
    words = refusal(capfd, '--host', 'host.example', '--state-dir', str(state))

    assert words.startswith('placement-serve: refusing to serve on host.example with')


def check_modes(state: Path) -> None:
    """Check that only the owner can read the files."""
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in state.iterdir()}
    assert 'placement.sqlite' in modes
    assert set(modes.values()) == {0o600}


def test_database_that_others_could_read_is_closed_to_them(state: Path) -> None:
    state.mkdir(mode=0o755)
    file = state / 'placement.sqlite'
    file.touch(mode=0o644)
    serve._prepare_database(load(state), str(state), lambda line: None)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_was_accepted_is_answered_after_sigterm(state: Path) -> None:
    with running('--state-dir', str(state), '--threads', '1') as service:
        clients = [client_of(service) for _ in range(16)]
        request = (
            b'GET /resource_providers HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: admin\r\n\r\n'
        )
        for client in clients:
            client.sendall(request * 3)
        assert service.stop(signal.SIGTERM) == 0
        for client in clients:
            answers = client.makefile('rb').read()
            assert answers.count(b'HTTP/1.1 200 OK') >= 1
            assert answers.startswith(b'HTTP/1.1 200 OK')
            client.close()
    assert service.said[-1] == 'placement-serve: stopped'


def client_of(service: Running) -> socket.socket:
    host, _, port = service.url.removeprefix('http://').rpartition(':')
    client = socket.create_connection((host, int(port)), timeout=SECONDS)
    client.settimeout(SECONDS)
    return client


def check_upload(service: Running) -> None:
    """An upload beyond the bound is refused before it has arrived."""
    client = client_of(service)
    client.sendall(
        b'PUT /traits/CUSTOM_A HTTP/1.1\r\nHost: localhost\r\n'
        b'Content-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n{'
    )
    with client, client.makefile('rb') as file:
        answer = file.read()
    assert answer.startswith(b'HTTP/1.1 413')
    assert b'Connection: close' in answer


def test_the_other_command_needs_a_database(capfd: pytest.CaptureFixture[str]) -> None:
    words = refusal(capfd, '--port', '0', function='api')

    assert words.startswith(
        'placement-api: the configuration cannot be used: value required for option connection '
        'in group [placement_database]: no configuration file was found in '
    )


@pytest.mark.parametrize(
    ('variable', 'is_named', 'expected'),
    [
        (None, False, ('sqlite:///{}/placement.sqlite', True, 'noauth2')),
        ('OS_API__AUTH_STRATEGY', False, ('sqlite:///{}/placement.sqlite', True, 'keystone')),
        ('OS_PLACEMENT_DATABASE__CONNECTION', False, ('keystone', True, 'noauth2')),
        # A configuration file means what it means elsewhere.
        ('OS_PLACEMENT_CONFIG_DIR', False, ('sqlite:///elsewhere', False, 'keystone')),
        (None, True, ('sqlite:///elsewhere', False, 'keystone')),
    ],
)
def test_defaults_are_for_trials_unless_something_is_configured(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    is_named: bool,
    expected: tuple[str, bool, str],
) -> None:
    file, state = tmp_path / 'placement.conf', tmp_path / 'of $HOME, 100% café'
    file.write_text('[placement_database]\nconnection = sqlite:///elsewhere\n')
    if variable is not None:
        monkeypatch.setenv(variable, str(tmp_path) if 'DIR' in variable else 'keystone')
    conf = load(state, str(file) if is_named else None)

    database = conf.placement_database
    found = (database.connection, database.sync_on_startup, conf.api.auth_strategy)
    assert found == (expected[0].format(state), *expected[1:])


def load(state: Path, file: str | None = None) -> cfg.ConfigOpts:
    return serve._load_configuration(file, str(state))
