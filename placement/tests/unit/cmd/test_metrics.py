# SPDX-License-Identifier: Apache-2.0
"""`placement-metrics`: one process that tells what others have counted."""

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement.cmd import metrics
from placement.db.schema import migration
from placement.metrics import catalog
from placement.metrics.recorder import Recorder

SECONDS = 60


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where processes of the service write."""
    directory = tmp_path / 'metrics'
    monkeypatch.setenv('OS_METRICS__ENABLED', 'true')
    monkeypatch.setenv('OS_METRICS__DIRECTORY', str(directory))
    return directory


@pytest.fixture
def process(directory: Path) -> Iterator[Recorder]:
    """A process of the service that has counted one failure."""
    recorder = Recorder(str(directory))
    recorder.add(catalog.INSIGHT_FAILURES)
    yield recorder
    recorder.close()


class Running:
    """The command, and what it answers."""

    def __init__(self) -> None:
        program = 'import sys; from placement.cmd import metrics; sys.exit(metrics.main())'
        command = [sys.executable, '-c', program, '--listen', '127.0.0.1:0']
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said.startswith('placement-metrics: serving http://127.0.0.1:')
        self.url = said.split()[-1]

    def read(self) -> str:
        """The metrics."""
        with urllib.request.urlopen(self.url, timeout=SECONDS) as answer:
            text: str = answer.read().decode()
            return text

    def stop(self) -> tuple[str, int]:
        """Stop it; what else it said, and its status."""
        self.process.send_signal(signal.SIGTERM)
        said, _ = self.process.communicate(timeout=SECONDS)
        return said, self.process.returncode


@pytest.fixture
def running(process: Recorder) -> Iterator[Running]:
    running = Running()
    yield running
    running.process.kill()
    running.process.wait()
    assert running.process.stdout is not None
    running.process.stdout.close()


def test_it_tells_what_processes_count_and_how_the_cloud_is(
    engine: sa.Engine, process: Recorder, running: Running
) -> None:
    # The database came later than the command.
    text = running.read()
    assert 'placement_insight_failures_total 1.0\n' in text
    assert 'placement_cloud_readable 0.0\n' in text

    migration.sync(engine)
    process.add(catalog.INSIGHT_FAILURES)
    text = running.read()
    assert 'placement_insight_failures_total 2.0\n' in text
    assert 'placement_cloud_readable 1.0\n' in text
    assert 'placement_resource_providers 0.0\n' in text


def test_it_ends_when_it_is_told_to(running: Running) -> None:
    assert running.stop() == ('placement-metrics: stopped\n', 0)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert metrics.main(arguments) == 1
    return capsys.readouterr().err


def test_it_refuses_where_nothing_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    words = 'placement-metrics: nothing is counted: [metrics] enabled is false\n'
    assert refusal(capsys) == words


def test_it_refuses_without_a_database(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv('OS_PLACEMENT_DATABASE__CONNECTION')

    assert 'the configuration is not complete: value required' in refusal(capsys)


@pytest.mark.parametrize('url', ['no URL', 'unknown://here', 'mysql+missing://here/placement'])
def test_it_says_in_a_line_that_a_url_names_no_database(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    monkeypatch.setenv('OS_PLACEMENT_DATABASE__CONNECTION', url)
    # It would replace the handlers of pytest.
    monkeypatch.setattr(metrics, 'start_logging', lambda _conf: None)

    words = refusal(capsys, '--listen', '127.0.0.1:0')
    assert words.startswith('placement-metrics: the database cannot be used: ')
    assert words.count('\n') == 1


def test_it_names_an_address_that_it_cannot_have(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(metrics, 'start_logging', lambda _conf: None)
    words = refusal(capsys, '--listen', '192.0.2.1:9178')

    assert words.startswith('placement-metrics: cannot listen on 192.0.2.1 port 9178: ')


@pytest.mark.parametrize('address', ['9178', 'host', 'host:port', 'host:65536'])
def test_malformed_address_is_a_mistake_of_the_caller(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        metrics.main(['--listen', address])

    assert caught.value.code == 2
    assert f'{address} is not HOST:PORT' in capsys.readouterr().err
