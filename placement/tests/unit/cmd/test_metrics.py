# SPDX-License-Identifier: Apache-2.0
"""`placement-metrics`: one process that serves the counts of other processes."""

import signal
import subprocess
import sys
import urllib.request
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
    """The directory for counts of the processes of the service."""
    directory = tmp_path / 'metrics'
    monkeypatch.setenv('OS_METRICS__ENABLED', 'true')
    monkeypatch.setenv('OS_METRICS__DIRECTORY', str(directory))
    return directory


def test_it_tells_what_processes_count_and_how_the_cloud_is_until_it_is_stopped(
    engine: sa.Engine, directory: Path
) -> None:
    process = Recorder(str(directory))
    process.add(catalog.SNAPSHOT_LOAD_SECONDS)
    program = 'import sys; from placement.cmd import metrics; sys.exit(metrics.main())'
    command = [sys.executable, '-c', program, '--listen', '127.0.0.1:0']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        assert said.startswith('placement-metrics: serving http://127.0.0.1:')
        url = said.split()[-1]

        def read() -> str:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                text: str = answer.read().decode()
                return text

        # The database came later than the command.
        text = read()
        assert 'placement_snapshot_full_load_duration_seconds_total 1.0\n' in text
        assert 'placement_cloud_readable 0.0\n' in text

        migration.sync(engine)
        process.add(catalog.SNAPSHOT_LOAD_SECONDS)
        text = read()
        assert 'placement_snapshot_full_load_duration_seconds_total 2.0\n' in text
        assert 'placement_cloud_readable 1.0\n' in text
        assert 'placement_resource_providers 0.0\n' in text

        running.send_signal(signal.SIGTERM)
        said, _ = running.communicate(timeout=SECONDS)
    assert said.endswith('placement-metrics: stopped\n')
    assert 'Traceback' not in said
    assert running.returncode == 0
    process.close()


CONNECTION = 'OS_PLACEMENT_DATABASE__CONNECTION'


@pytest.mark.usefixtures('directory')
@pytest.mark.parametrize(
    ('variable', 'value', 'reason'),
    [
        ('OS_METRICS__ENABLED', 'false', 'nothing is counted: [metrics] enabled is false'),
        ('OS_METRICS__SURVIVAL_INTERVAL', '299', '[metrics] survival_interval has to be '),
        (CONNECTION, None, 'the configuration is not complete: value required'),
        *(
            (CONNECTION, url, 'the database cannot be used: ')
            for url in ('no URL', 'unknown://here', 'mysql+missing://here/placement')
        ),
        (CONNECTION, 'sqlite://', 'cannot listen on 192.0.2.1 port 9178: '),
    ],
)
def test_it_says_in_a_line_why_it_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    value: str | None,
    reason: str,
) -> None:
    if value is None:
        monkeypatch.delenv(variable)
    else:
        monkeypatch.setenv(variable, value)
    # It would replace the handlers of pytest.
    monkeypatch.setattr(metrics, 'start_logging', lambda _conf: None)

    # An address that nobody can have, which it would come to in the end.
    assert metrics.main(['--listen', '192.0.2.1:9178']) == 1
    words = capsys.readouterr().err
    assert words.startswith(f'placement-metrics: {reason}')
    assert words.count('\n') == 1


@pytest.mark.parametrize('address', ['9178', 'host', 'host:port', 'host:65536'])
def test_malformed_address_is_a_mistake_of_the_caller(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        metrics.main(['--listen', address])

    assert caught.value.code == 2
    assert f'{address} is not HOST:PORT' in capsys.readouterr().err
