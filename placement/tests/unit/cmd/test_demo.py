# SPDX-License-Identifier: Apache-2.0
"""`placement-demo` in a process of its own: it starts, and its commands find what is wrong."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from osc_placement_insight.tests.client import Client
from placement.cmd import demo, serve

SECONDS = 120
COMMAND = [sys.executable, '-m', 'placement.cmd.demo', '--port', '0']


class Demo:
    """A demonstration that serves, and what it said until then."""

    def __init__(self, state: Path) -> None:
        self.state = state
        names = [name for name in os.environ if name.startswith('OS_')]
        environ = {name: value for name, value in os.environ.items() if name not in names}
        self.process = subprocess.Popen(
            [*COMMAND, '--state-dir', str(state)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
        )  # fmt: skip
        self.said = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            if 'serving on' in line:
                break

    @property
    def commands(self) -> Mapping[str, list[str]]:
        """The printed commands by their questions: of the client, if any, and with curl."""
        questions = '\n'.join(self.said).split('\n# ')[1:]
        found = [question.partition('\n\n')[0].splitlines() for question in questions]
        return {question: commands for question, *commands in found}

    def answer(self, question: str) -> str:
        """Run the second command below a question in a shell and return its output."""
        done = subprocess.run(
            self.commands[question][-1],
            shell=True,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert (done.returncode, done.stderr) == (0, '')
        return done.stdout

    def answer_of_client(self, question: str) -> str:
        """Run the command of the client with the printed variables and return its output."""
        (exported,) = [line for line in self.said if line.startswith('export ')]
        variables = dict(word.split('=', 1) for word in exported.split()[1:])
        _, *arguments = shlex.split(self.commands[question][0])
        return Client(variables)(*arguments).out


@pytest.fixture(scope='module')
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    started = Demo(tmp_path_factory.mktemp('demo') / 'state')
    try:
        yield started
    finally:
        started.process.send_signal(signal.SIGTERM)
        _rest, errors = started.process.communicate(timeout=SECONDS)
    assert started.process.returncode == 0
    # Warnings about what it made wrong on purpose would look like faults of the service.
    assert 'WARNING' not in errors
    assert 'over-capacity' not in errors


def test_it_says_how_much_it_made_and_where_it_is(running: Demo) -> None:
    said = '\n'.join(running.said)
    assert re.search(r'1,641 resource providers and 7,\d{3} consumers, made in [\d.]+ s', said)
    assert re.search(r'serving on http://127.0.0.1:\d+, stop with Ctrl-C', running.said[-1])


# The questions that are printed; what the command with curl answers, and that of the client.
ANSWERS = {
    'Why does not even a small server fit in zone az1?': (
        r'^full Fits nowhere now', r'^full: Fits nowhere now',
    ),
    'Why does az2-cpu-117, which is empty, get no servers?': (
        r"^\['forbidden trait COMPUTE_STATUS_DISABLED for VCPU, MEMORY_MB'\]$",
        r'COMPUTE_STATUS_DISABLED',
    ),
    'Why does no server with a GPU and AVX-512 fit anywhere?': (
        r'^infeasible .* 60 trees would fit without required trait HW_CPU_X86_AVX512F',
        r'60 trees without required trait HW_CPU_X86_AVX512F',
    ),
    'Of which NUMA nodes is more in use than there is?': (
        r"^\[\('az3-numa-\d+-node\d', 'MEMORY_MB'\), \('az3-numa-[^()]*', 'MEMORY_MB'\)\]$",
        r'over-capacity.* az3-numa-',
    ),
    'Which migrations still hold what they should have given back?': (
        r"^12 migrations, \{.*'VCPU': 8,", r'MIGRATION',
    ),
    'What do projects hold, among them one that was deleted?': (
        r"(?m)^\('project-deleted-in-march', \{'VCPU': \d+", r'project-deleted-in-march',
    ),
    'How many servers were written by clients that know no consumer types?': (r'^18$', r'unknown'),
    'How many more small servers fit?': (
        r"^now: \{'at_least': [1-9]\d+.* if nothing were used: \{'at_least': [1-9]\d+",
        r'^Fits [\d,]+ times now',
    ),
    'Which hosts must not fail?': (
        r"^\('az3-numa-088', \{.*'PCPU': 60\}\)\n\('az4-gpu-042', \{.*'VGPU': 4\}\)$",
        r'(?s)^2 of 997 losses would not be survived.*\naz3-numa-088 .*\naz4-gpu-042 ',
    ),
    'Which zones must not fail?': (
        r"^\('az1', (\d+), 'of', \1, .*\n\('az2', 0, 'of', \d+, ", None,
    ),
    'Which places do the servers of az4-memory-001 find, so that it can be repaired?': (
        r"^(\('[0-9a-f-]+', 'to', 'az4-memory-00[23]'\)\n){5}0\nhomeless$",
        r'(?s)^5 of 5 servers find a place .*(\n[0-9a-f-]{36} .* az4-memory-00[23] [^\n]*){5}',
    ),
    'What was asked for in vain?': (
        r"(?m)^\(2, 'full', 'resources=.*VCPU:4", r'\| +2 \|.* full ',
    ),
}  # fmt: skip


@pytest.mark.parametrize('question', ANSWERS)
def test_printed_commands_find_the_problem(running: Demo, question: str) -> None:
    answer, answer_of_client = ANSWERS[question]

    assert re.search(answer, running.answer(question))
    assert len(running.commands[question]) == 1 + (answer_of_client is not None)
    if answer_of_client is not None:
        assert re.search(answer_of_client, running.answer_of_client(question))


def test_every_printed_question_is_tested(running: Demo) -> None:
    assert list(ANSWERS) == list(running.commands)


def test_a_second_one_does_not_take_the_data_of_the_first(
    running: Demo, capfd: pytest.CaptureFixture[str]
) -> None:
    before = os.stat(running.state / 'placement.sqlite')
    with pytest.raises(serve.CannotServe, match='another demonstration uses'):
        demo._discard(str(running.state))
    assert os.stat(running.state / 'placement.sqlite').st_ino == before.st_ino


@pytest.mark.parametrize('name', ['OS_PLACEMENT_DATABASE__CONNECTION', 'OS_PLACEMENT_CONFIG_DIR'])
def test_a_database_that_the_environment_names_is_not_touched(tmp_path: Path, name: str) -> None:
    url = f'sqlite:///{tmp_path}/of-value.sqlite'
    (tmp_path / 'placement.conf').write_text(f'[placement_database]\nconnection = {url}\n')
    value = url if name.endswith('CONNECTION') else str(tmp_path)
    done = subprocess.run(
        [*COMMAND, '--state-dir', str(tmp_path / 'state')],
        capture_output=True, text=True, timeout=SECONDS, env={**os.environ, name: value},
    )  # fmt: skip

    assert done.returncode == 1
    assert 'the environment names a database or a configuration' in done.stderr
    assert not (tmp_path / 'of-value.sqlite').exists()


def test_data_of_something_else_are_not_thrown_away(tmp_path: Path) -> None:
    file = tmp_path / 'placement.sqlite'
    file.write_bytes(b'of value')
    with pytest.raises(serve.CannotServe, match='has data of something else'):
        demo._discard(str(tmp_path))
    assert file.read_bytes() == b'of value'


def test_data_of_an_earlier_one_are_thrown_away(tmp_path: Path) -> None:
    for name in (demo.MARK, *demo.DATABASE_FILES):
        (tmp_path / name).write_bytes(b'')
    (tmp_path / 'note').write_bytes(b'')
    demo._discard(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([demo.MARK, 'note'])
