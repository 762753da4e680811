# SPDX-License-Identifier: Apache-2.0
"""The service in a process of its own: what a new user sees, and what stops it."""

import contextlib
import errno
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import waitress
from oslo_config import cfg

from placement.cmd import serve

SECONDS = 60


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration but that of the test."""
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
        with self.open(path, None, **headers) as answer:
            return json.load(answer)

    def open(self, path: str, body: Any, **headers: str) -> Any:
        sent = {'X-Auth-Token': 'admin', **headers}
        if body is not None:
            sent['Content-Type'] = 'application/json'
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, sent)
        return urllib.request.urlopen(request, timeout=SECONDS)

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
    """What is said, in one line, by a service that does not start."""
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
    with running('--state-dir', str(state)) as service:
        said = '\n'.join(service.said)
        assert f'database: {state}/placement.sqlite (new)' in said
        assert 'noauth2' in said
        assert service.url.startswith('http://127.0.0.1:')
        with service.open('/resource_providers', {'name': 'host'}) as answer:
            assert answer.status == 201
        assert service.stop(signal.SIGINT) == 0
        assert service.said[-1] == 'placement-serve: stopped'
        assert 'Traceback' not in service.errors

    with running('--state-dir', str(state)) as service:
        assert f'database: {state}/placement.sqlite (kept from before)' in '\n'.join(service.said)
        (provider,) = service.get('/resource_providers')['resource_providers']
        assert provider['name'] == 'host'
        assert service.stop(signal.SIGTERM) == 0


def test_the_commands_that_it_suggests_work(state: Path) -> None:
    with running('--state-dir', str(state)) as service:
        suggested = [shlex.split(line) for line in service.said if line.startswith('    curl ')]
        assert len(suggested) == 2
        for words in suggested:
            assert words[0] == 'curl'
            headers = [words[n + 1] for n, word in enumerate(words) if word == '-H']
            sent = dict(header.split(': ', 1) for header in headers)
            request = urllib.request.Request(words[-1], headers=sent)
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                assert answer.status == 200
                assert json.load(answer)


def test_the_other_command_serves_what_is_configured(tmp_path: Path) -> None:
    file = tmp_path / 'placement.conf'
    file.write_text(
        f'[placement_database]\nconnection = sqlite:///{tmp_path}/other.sqlite\n'
        'sync_on_startup = true\n[api]\nauth_strategy = noauth2\n'
    )
    with running('--config-file', str(file), function='api') as service:
        assert service.get('/resource_providers') == {'resource_providers': []}
        assert tmp_path.joinpath('other.sqlite').exists()
        assert service.stop(signal.SIGTERM) == 0


def test_a_port_that_is_taken_is_one_clear_line_and_nothing_is_written(
    state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = str(taken.getsockname()[1])
        words = refusal(capfd, '--port', port, '--state-dir', str(state))

    assert words == (
        f'placement-serve: cannot listen on 127.0.0.1 port {port}: Address already in use'
    )
    assert not state.exists()


def test_a_directory_that_cannot_be_made_is_one_clear_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'file'
    file.touch()
    words = refusal(capfd, '--port', '0', '--state-dir', f'{file}/state')

    assert words == f'placement-serve: cannot keep data in {file}/state: Not a directory'


def test_a_directory_that_cannot_be_written_to_is_one_clear_line(
    state: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, exist_ok: bool) -> None:
        raise PermissionError(errno.EACCES, 'no', path)

    # The tests may be run by root, whom no directory refuses.
    monkeypatch.setattr(os, 'makedirs', refuse)
    words = refusal(capfd, '--port', '0', '--state-dir', str(state))

    assert words == f'placement-serve: cannot keep data in {state}: Permission denied'


def test_a_file_that_is_no_database_is_one_clear_line(
    state: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    state.mkdir()
    state.joinpath('placement.sqlite').write_text('This is a letter. ' * 100)

    assert 'file is not a database' in refusal(capfd, '--port', '0', '--state-dir', str(state))


@pytest.mark.parametrize('host', ['0.0.0.0', '::', '192.0.2.1', 'host.example'])
def test_noauth2_is_refused_where_others_could_connect(
    state: Path, capfd: pytest.CaptureFixture[str], host: str
) -> None:
    words = refusal(capfd, '--host', host, '--state-dir', str(state))

    assert words.startswith(f'placement-serve: refusing to serve on {host} with')
    assert not state.exists()


def test_the_other_command_needs_a_database(capfd: pytest.CaptureFixture[str]) -> None:
    words = refusal(capfd, '--port', '0', function='api')

    assert words == (
        'placement-api: the configuration is not complete: value required for option connection '
        'in group [placement_database]'
    )


def test_a_configuration_file_that_is_not_there_is_one_clear_line(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert '/nonexistent' in refusal(capfd, '--config-file', '/nonexistent')


class TestConfiguration:
    """What is assumed, and what the user's own configuration changes of it."""

    def test_without_any_it_needs_nothing(self, state: Path) -> None:
        conf = load(state)

        assert conf.placement_database.connection == f'sqlite:///{state}/placement.sqlite'
        assert conf.placement_database.sync_on_startup is True
        assert conf.api.auth_strategy == 'noauth2'

    def test_a_directory_may_have_an_odd_name(self, tmp_path: Path) -> None:
        odd = tmp_path / 'of $HOME, 100% café'

        assert load(odd).placement_database.connection == f'sqlite:///{odd}/placement.sqlite'

    def test_variables_of_the_environment_win(
        self, state: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv('OS_PLACEMENT_DATABASE__CONNECTION', 'sqlite:///elsewhere')
        monkeypatch.setenv('OS_API__AUTH_STRATEGY', 'keystone')
        conf = load(state)

        assert conf.placement_database.connection == 'sqlite:///elsewhere'
        assert conf.api.auth_strategy == 'keystone'

    def test_a_configuration_file_means_what_it_means_elsewhere(
        self, state: Path, tmp_path: Path
    ) -> None:
        file = tmp_path / 'placement.conf'
        file.write_text('[placement_database]\nconnection = sqlite:///elsewhere\n')
        conf = load(state, str(file))

        assert conf.placement_database.connection == 'sqlite:///elsewhere'
        assert conf.placement_database.sync_on_startup is False
        assert conf.api.auth_strategy == 'keystone'

    @pytest.mark.parametrize('host', ['127.0.0.1', '127.1.2.3', '::1', 'localhost'])
    def test_addresses_of_this_machine_alone(self, host: str) -> None:
        serve._check_audience('noauth2', host)

    def test_keystone_may_be_served_to_all(self) -> None:
        serve._check_audience('keystone', '0.0.0.0')


def load(state: Path, file: str | None = None) -> cfg.ConfigOpts:
    return serve._load_configuration(file, str(state))


def test_the_server_has_several_threads() -> None:
    adjustments = waitress.adjustments.Adjustments(threads=serve.DEFAULT_THREADS)

    assert adjustments.threads > 1
