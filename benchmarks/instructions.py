# SPDX-License-Identifier: Apache-2.0
"""The instructions that the service executes for one request, with one optional feature or none.

    python -m benchmarks.instructions [sqlite|mariadb|postgresql]

Unlike processor time they hardly depend on what else a machine does. cachegrind, a tool of
valgrind, counts them: all of a process, until it ends. So for each request a warm process forks
two others, one of which executes it more often than the other. There is no web server, and what a
database server executes does not count. It takes about five minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from benchmarks import clouds
from benchmarks.client import Client
from benchmarks.databases import ENGINES, temporary_database
from benchmarks.metered import InProcess
from benchmarks.report import columns
from benchmarks.scenarios.claims import QUERY, SERVER, new_consumer
from benchmarks.services import SETTINGS
from placement.tests.functional.fixtures.clouds import claim
from placement.tests.functional.fixtures.databases import migrate
from placement.tests.large_clouds import load_as_rows

HOSTS = 1_000
OFF = {
    'OS_INSIGHT__ALLOCATION_CANDIDATES': 'false',
    'OS_INSIGHT__CAPACITY': 'false',
    'OS_INSIGHT__UNMET_DEMAND': 'false',
    'OS_INSIGHT__CLOUD': 'false',
    'OS_PLACEMENT__LOG_SEARCHES': 'none',
}
HISTORY = {'OS_HISTORY__ENABLED': 'true'}
SEARCHES = {'OS_INSIGHT__UNMET_DEMAND': 'true', 'OS_PLACEMENT__LOG_SEARCHES': 'all'}

# Number of executions of a request before others are forked from the process, and in these.
WARM = 20
FEW, MANY = 10, 40

_COUNTED = re.compile(r'^==(\d+)== I\s+refs:\s+([\d,]+)$', re.MULTILINE)

# A request of a number, each of which is used once.
Request = Callable[[int], object]


class Forked(NamedTuple):
    """A process that was forked to execute a request a number of times."""

    pid: int
    request: str
    times: int


def choices(directory: pathlib.Path) -> Mapping[str, Mapping[str, str]]:
    """The settings of each choice by its name, the first with everything off.

    Processes that count keep their counts below the directory.
    """
    counts = {'OS_METRICS__ENABLED': 'true', 'OS_METRICS__DIRECTORY': str(directory / 'metrics')}
    return {
        'off': OFF,
        'metrics': {**OFF, **counts},
        'history': {**OFF, **HISTORY},
        'searches': {**OFF, **SEARCHES},
    }


def requests(client: Client) -> Mapping[str, Request]:
    """The requests by name; a release deletes a consumer that was claimed before."""
    host = random.Random(1)
    consumers = [new_consumer() for _ in range(WARM + FEW + MANY)]

    def put(consumer: str) -> None:
        body = claim({clouds.host(host.randrange(HOSTS)): SERVER})
        client.send('PUT', consumer, body)

    for consumer in consumers:
        put(consumer)
    inventories = f'/resource_providers/{clouds.host(1)}/inventories'
    return {
        'read inventories': lambda _number: client.get(inventories),
        'search, found': lambda _number: client.get(f'/allocation_candidates?{QUERY}&limit=10'),
        'claim': lambda _number: put(new_consumer()),
        'release': lambda number: client.send('DELETE', consumers[number]),
    }


def fork_all(client: Client) -> Iterator[Forked]:
    """Warm up, and fork the processes for each request, one after the other.

    :raises RuntimeError: a process has failed, and said why
    """
    for name, request in requests(client).items():
        _repeat(request, range(WARM))
        numbers = iter(range(WARM, WARM + FEW + MANY))
        for times in (FEW, MANY):
            own = list(itertools.islice(numbers, times))
            pid = os.fork()
            if pid == 0:
                _end_after(request, own)
            _, status = os.waitpid(pid, 0)
            if status:
                raise RuntimeError(f'{name}: the process ended with {status}')
            yield Forked(pid, name, times)


def _end_after(request: Request, numbers: Iterable[int]) -> None:
    """Execute requests in a process that was forked, and end it."""
    status = 1
    try:
        _repeat(request, numbers)
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def _repeat(request: Request, numbers: Iterable[int]) -> None:
    for number in numbers:
        request(number)


def per_request(log: str, processes: list[Forked]) -> dict[str, float]:
    """The instructions of one request, by its name, from the log of cachegrind."""
    counted = {int(pid): int(count.replace(',', '')) for pid, count in _COUNTED.findall(log)}
    totals: dict[str, dict[int, int]] = {}
    for one in processes:
        totals.setdefault(one.request, {})[one.times] = counted[one.pid]
    return {name: (of[MANY] - of[FEW]) / (MANY - FEW) for name, of in totals.items()}


def measure(settings: Mapping[str, str], directory: pathlib.Path) -> dict[str, float]:
    """The instructions of one request, by its name, with these settings in the environment."""
    log = directory / 'cachegrind.log'
    command = [
        'valgrind', '--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null',
        f'--log-file={log}', sys.executable, '-m', 'benchmarks.instructions', '--forks',
    ]  # fmt: skip
    # The same order of sets, and the same places in memory, in each run.
    environment = {**os.environ, **SETTINGS, **settings, 'PYTHONHASHSEED': '0'}
    # The log is part of the work, and has the reason of a failure.
    errors = directory / 'service.log'
    with errors.open('wb') as file:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=file)
    if done.returncode:
        raise SystemExit(errors.read_text()[-10_000:])
    processes = [Forked(*json.loads(line)) for line in done.stdout.splitlines()]
    return per_request(log.read_text(), processes)


def table(measured: Mapping[str, Mapping[str, float]]) -> str:
    """A line for each request: thousands of instructions, and what each choice adds to them.

    `measured` is by the choice, the first of which is off, and the name of the request.
    """
    (_, off), *others = measured.items()
    lines = [('instructions', 'off, thousands', *(name for name, _ in others))]
    for request, count in off.items():
        added = (f'{figures[request] / count - 1:+.1%}' for _, figures in others)
        lines.append((request, f'{count / 1_000:,.0f}', *added))
    return columns(lines)


def main() -> None:
    """Print the table; in a process under cachegrind, print the processes that it forks."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.instructions')
    parser.add_argument('engine', nargs='?', choices=ENGINES, default='sqlite')
    parser.add_argument('--forks', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.forks:
        from placement.wsgi import init_application

        for one in fork_all(InProcess(init_application())):
            print(json.dumps(one), flush=True)
        return
    measured = {}
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for choice, settings in choices(directory).items():
            with temporary_database(options.engine, choice, directory) as url:
                migrate(url)
                load_as_rows(url, clouds.flat(HOSTS))
                connection = {'OS_PLACEMENT_DATABASE__CONNECTION': url}
                measured[choice] = measure({**settings, **connection}, directory)
    print(table(measured))


if __name__ == '__main__':
    main()
