# SPDX-License-Identifier: Apache-2.0
"""`placement-demo` in a process of its own: it starts, and its commands find what is wrong."""

import json
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
from placement.cmd import serve
from placement.tests.servers import installation
from placement_insight import demo

SECONDS = 120
COMMAND = [sys.executable, '-m', 'placement_insight.demo', '--port', '0']


class Demo:
    """A running demonstration, and its output so far."""

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
        """The printed commands by their questions: of the client, and with curl."""
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
        """Run the first command below a question and return its output."""
        return self.run_client(self.commands[question][0])

    def run_client(self, command: str) -> str:
        """Run a command of the client with the printed variables and return its output."""
        (exported,) = [line for line in self.said if line.startswith('export ')]
        variables = dict(word.split('=', 1) for word in exported.split()[1:])
        _, *arguments = shlex.split(command)
        done = Client(variables)(*arguments)
        return done.out + done.err


@pytest.fixture(scope='module')
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    started = Demo(tmp_path_factory.mktemp('demo') / 'state')
    try:
        yield started
    finally:
        started.process.send_signal(signal.SIGTERM)
        _rest, errors = started.process.communicate(timeout=SECONDS)
    assert started.process.returncode == 0
    assert errors == ''
    # Warnings about intended problems would look like faults of the service.
    log = started.state.joinpath(demo.LOG_FILE).read_text()
    assert 'over-capacity' not in log


def test_it_says_how_much_it_made_and_where_it_is(running: Demo) -> None:
    said = '\n'.join(running.said)
    assert re.search(r'1,641 resource providers and 7,\d{3} consumers, made in [\d.]+ s', said)
    assert re.search(r'serving on http://127.0.0.1:\d+, stop with Ctrl-C', running.said[-1])


# The questions that are printed; what is in the answer of the service, and what the client prints.
ANSWERS = {
    'Why does not even a small server fit in zone az1?': (
        r'"verdict": "full"', r'^Full now \(it would fit if nothing were used\): ',
    ),
    'Why does az2-cpu-117, which is empty, get no servers?': (
        r'"failed": .*COMPUTE_STATUS_DISABLED', r'COMPUTE_STATUS_DISABLED',
    ),
    'What would az4-cpu-150, whose agent has not been upgraded, lack if nova required its own'
    ' providers?': (r'"failed": .*OWNER_NOVA', r'OWNER_NOVA'),
    'Why does no server with a GPU and AVX-512 fit anywhere?': (
        r'"verdict": "infeasible".*HW_CPU_X86_AVX512F',
        r'60\s+have\s+what\s+group\s+_GPU',
    ),
    'Of which NUMA nodes is more in use than there is?': (
        r'"name": "az3-numa-022-node1"', r'over-capacity.* az3-numa-',
    ),
    'Which migrations still hold what they should have given back?': (
        r'"consumer_type": "MIGRATION"', r'MIGRATION',
    ),
    'What do projects hold, among them one that was deleted?': (
        r'"project_id": "project-deleted-in-march"', r'project-deleted-in-march',
    ),
    'How many servers were written by clients that know no consumer types?': (
        r'"consumer_type": "unknown"', r'unknown',
    ),
    'How many more small servers fit?': (
        r'"now": \{"at_least": [1-9]\d+', r'^Fits [\d,]+ times now',
    ),
    'Which hosts must not fail?': (
        r'"name": "az3-numa-088".*"name": "az4-gpu-042"',
        r'(?s)^2 of 996 losses would not be survived.*\naz3-numa-088 .*\naz4-gpu-042 ',
    ),
    'Which zones must not fail?': (
        r'"domain": "az2"', r'(?s)^5 of 6 losses would not be survived.*\naz2 .*\naz1 .* survived',
    ),
    'Where do the servers of these two hosts go, which are to be empty tonight?': (
        r'"unplaced": \[\]', r'(?s)^6 of 6 servers find a place .*(az4-cpu-0(89|90) .*){6}',
    ),
    'Which places do the servers of az4-memory-001 find, so that it can be repaired?': (
        r'"unplaced": \[\]',
        r'(?s)^5 of 5 servers find a place .*(\n[0-9a-f-]{36} .* az4-memory-00[23] [^\n]*){5}',
    ),
    'Which searches found nothing?': (
        r'"verdict": "full".*VCPU:4', r'\| +2 \|.* full now ',
    ),
    'Which trait do searches of a flavor name that does not exist?': (
        r'"verdict": "refused".*No such trait.*AA40',
        r'No such trait.*AA40. Did you mean CUSTOM_GPU_NVIDIA_A40\?',
    ),
    'Which promise of room is broken?': (
        r'"name": "whole-numa-node"[^{}]*"state": "broken"', r'whole-numa-node +\| broken ',
    ),
    'Who broke it?': (
        r'"summary": "Broken since .*: room for 4 became room for 3 when inventory was changed',
        r'4 to 3: inventories.set by nova-compute-az3-numa-014 on az3-numa-014',
    ),
    'What changed in the last hour?': (
        r'"user_name": "nova-compute-az3-numa-014"',
        r'(?s)by nova-compute-az3-numa-014.*by nova-compute-az4-cpu-087',
    ),
    'Where did the servers of az4-cpu-087 go, and who drained it?': (
        r'COMPUTE_STATUS_DISABLED',
        r'(?s)by nova-compute-az4-cpu-087.*nothing any more.*COMPUTE_STATUS_DISABLED',
    ),
    'Who halved the memory of a NUMA node that servers use?': (
        r'"total": 131072.*"total": 262144',
        r'(?s)by nova-compute-az3-numa-022 .*total 131072.*total 262144',
    ),
    'Which server of project-pilot, which was deleted half an hour ago, was forgotten?': (
        r'^\{"consumers": \[\{[^]]*"project_id": "project-pilot"[^]]*\}\]', r'project-pilot',
    ),
    'What did the migration do that failed a quarter of an hour ago?': (
        r'"consumer_type": "MIGRATION"',
        r'(?s)by nova-compute-az4-cpu-082.*consumer_type: MIGRATION',
    ),
}  # fmt: skip


@pytest.mark.parametrize('question', ANSWERS)
def test_printed_commands_find_the_problem(running: Demo, question: str) -> None:
    answer, answer_of_client = ANSWERS[question]

    found = running.answer(question)
    assert json.loads(found)
    assert re.search(answer, found)
    assert re.search(answer_of_client, running.answer_of_client(question))


# The beginnings of commands of the page about the page, and what they print.
ANSWERS_OF_GUIDE = {
    'capacity show --resource MEMORY_MB=1024'
    ' --forbidden COMPUTE_STATUS_DISABLED --member-of az1': r'Fits 0 times now',
    'unmet demand list': r'refused',
    'usage list --by project': r'project-mail',
    'audit run --placement-only': r'over-capacity.* az3-numa-',
    'explain --request REQUEST': r'60 trees would fit without required trait HW_CPU_X86_AVX512F',
    'tree show az3-numa-022': r'az3-numa-022-node1',
    'history list --since 1h': r'by nova-compute-az3-numa-014',
    'history list --provider az4-cpu-087': r'by nova-compute-az4-cpu-087',
    'promise show whole-numa-node': r'by nova-compute-az3-numa-014',
    'survival show --failing': r'2 of 996 losses would not be survived',
    'drain plan az4-cpu-089 az4-cpu-090': r'6 of 6 servers find a place',
}
# The demonstration has no nova.
ASKING_NOVA = ('survival', 'drain')


@pytest.mark.parametrize('command', ANSWERS_OF_GUIDE)
def test_commands_of_the_guide_answer_its_questions(running: Demo, command: str) -> None:
    request = 'req-3b0f44ac-0000-4000-8000-000000000003'
    typed = f'openstack placement {command.replace("REQUEST", request)}'
    option = ' --without-nova' if command.startswith(ASKING_NOVA) else ''
    assert re.search(ANSWERS_OF_GUIDE[command], running.run_client(typed + option))


def test_every_command_of_the_guide_is_tested() -> None:
    guide = installation.REPOSITORY.joinpath('doc/source/ui.rst').read_text()
    found = re.findall(r'^\S.*\?  +``openstack placement (.*)``$', guide, re.MULTILINE)
    assert found == list(ANSWERS_OF_GUIDE)


def test_every_printed_question_is_tested(running: Demo) -> None:
    assert list(ANSWERS) == list(running.commands)
    assert all(len(commands) == 2 for commands in running.commands.values())


def test_the_questions_are_printed_again(
    running: Demo, capsys: pytest.CaptureFixture[str]
) -> None:
    (port,) = re.findall(r'serving on http://127.0.0.1:(\d+),', running.said[-1])
    assert demo.main(['--questions', '--port', port]) == 0
    again = capsys.readouterr().out.strip()
    assert again.startswith('export OS_AUTH_TYPE=admin_token')
    assert again in '\n'.join(running.said)


def test_requests_are_in_the_log_and_not_on_the_terminal(running: Demo) -> None:
    running.answer('Which searches found nothing?')
    log = running.state.joinpath(demo.LOG_FILE).read_text()
    assert 'GET /insight/unmet_demand' in log
    assert 'GET /insight' not in '\n'.join(running.said)
    assert f'log: {running.state / demo.LOG_FILE}' in '\n'.join(running.said)


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
    for name in (demo.MARK, demo.LOG_FILE, *demo.DATABASE_FILES):
        (tmp_path / name).write_bytes(b'')
    (tmp_path / 'note').write_bytes(b'')
    demo._discard(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([demo.MARK, 'note'])
