# SPDX-License-Identifier: Apache-2.0
"""Conflicts of schedulers that search at the same moment and claim the same host.

Scheduler processes search together, then claim together, round by round, in a cloud whose hosts
have room for one candidate each. Compares schedulers that take the first candidate or a random
one, with `randomize_allocation_candidates` off and on.

    python -m benchmarks.schedulers --db mariadb

For schedulers that do not wait for each other, in a cloud that is 95 % full at first:

    python -m benchmarks.schedulers --db mariadb --schedulers 32 --full 95 --independent
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.synchronize
import os
import pathlib
import random
import shutil
import statistics
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks import clouds, databases, services, upstream
from benchmarks.client import Client
from benchmarks.report import columns, significant
from benchmarks.services import Service
from placement.tests.functional.fixtures.clouds import claim
from placement.tests.large_clouds import load_as_rows

ROOT = pathlib.Path(__file__).parents[1]
CONFLICT = 409
STEP_LIMIT = 60.0
RANDOMIZE = 'OS_PLACEMENT__RANDOMIZE_ALLOCATION_CANDIDATES'
HEADINGS = (
    'randomize', 'takes', 'claims', 'refused', 'search ms', 'CPU ms of a round', 'placed/s',
    'placed per CPU s',
)  # fmt: skip


class Kind(NamedTuple):
    """The order of answers, random or not, and the choice of a scheduler, random or first."""

    randomizes: bool
    takes_any: bool


KINDS = (Kind(False, False), Kind(False, True), Kind(True, False))


class Settings(NamedTuple):
    """The settings that all schedulers share."""

    port: int
    rounds: int
    limit: int
    takes_any: bool
    is_independent: bool


class Outcome(NamedTuple):
    """The results of one scheduler: its claims, the refused ones, and the seconds that it searched
    and ran."""

    claims: int
    refused: int
    searches: list[float]
    elapsed: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each kind of scheduler; the exit status."""
    options = _parser().parse_args(arguments)
    directory = ROOT / '.bench' / f'run-{os.getpid()}'
    directory.mkdir(parents=True)
    lines: list[Sequence[str]] = [HEADINGS]
    try:
        lines.extend(_measure(kind, options, directory) for kind in KINDS)
    finally:
        shutil.rmtree(directory)
    print(f'database: {options.db}, schedulers: {options.schedulers}, limit: {options.limit}')
    print(f'full: {options.full} % when they begin\n')
    print(columns(lines))
    return 0


def _measure(kind: Kind, options: argparse.Namespace, directory: pathlib.Path) -> Sequence[str]:
    """The line of one kind of scheduler, in a cloud of its own."""
    count = options.schedulers * (options.rounds + options.limit)
    with databases.temporary_database(
        options.db, 'schedulers', directory, options.database_url
    ) as database:
        python, drivers = upstream.chosen(options.upstream)
        service = Service('service', python, database, directory, options.threads, drivers)
        try:
            # The start creates the tables.
            service.start({RANDOMIZE: str(kind.randomizes)})
            service.stop()
            load_as_rows(database, clouds.of_one_core(count, options.full))
            service.start({RANDOMIZE: str(kind.randomizes)})
            _search_once(service, options.limit)
            before = service.cpu_seconds()
            settings = Settings(
                service.port, options.rounds, options.limit, kind.takes_any, options.independent
            )
            outcomes = _run(settings, options.schedulers)
            spent = service.cpu_seconds() - before
        finally:
            service.stop()
    return _line(kind, outcomes, spent, options.rounds)


def _search_once(service: Service, limit: int) -> None:
    """Search once, so that the service loads the whole cloud before the measurement."""
    client = Client(service.port)
    client.get(_path(limit))
    client.close()


def _line(
    kind: Kind, outcomes: Sequence[Outcome], cpu_seconds: float, rounds: int
) -> Sequence[str]:
    claims = sum(one.claims for one in outcomes)
    refused = sum(one.refused for one in outcomes)
    elapsed = max(one.elapsed for one in outcomes)
    search = statistics.median(seconds for one in outcomes for seconds in one.searches)
    return (
        'on' if kind.randomizes else 'off',
        'any' if kind.takes_any else 'the first',
        str(claims), f'{refused / claims:.1%}', significant(search * 1000),
        significant(cpu_seconds / rounds * 1000), significant((claims - refused) / elapsed),
        significant((claims - refused) / cpu_seconds),
    )  # fmt: skip


def _run(settings: Settings, count: int) -> list[Outcome]:
    """The outcomes of that many scheduler processes, in step or independent of each other."""
    barrier = multiprocessing.Barrier(1 if settings.is_independent else count)
    queue: multiprocessing.Queue[Outcome] = multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=_schedule, args=(settings, number, barrier, queue))
        for number in range(count)
    ]
    for process in processes:
        process.start()
    outcomes = [queue.get(timeout=STEP_LIMIT * settings.rounds) for _ in processes]
    for process in processes:
        process.join()
    return outcomes


def _schedule(
    settings: Settings,
    number: int,
    barrier: multiprocessing.synchronize.Barrier,
    queue: multiprocessing.Queue[Outcome],
) -> None:
    generator = random.Random(number)
    client = Client(settings.port)
    claims = refused = 0
    searches = []
    start = time.perf_counter()
    for path in _rounds(settings, barrier):
        begin = time.perf_counter()
        found = client.get(path).json()['allocation_requests']
        searches.append(time.perf_counter() - begin)
        barrier.wait(STEP_LIMIT)
        chosen = generator.choice(found) if settings.takes_any else found[0]
        taken = {one: parts['resources'] for one, parts in chosen['allocations'].items()}
        answer = client.request('PUT', f'/allocations/{uuid.uuid4()}', claim(taken))
        claims += 1
        refused += answer.status == CONFLICT
    client.close()
    queue.put(Outcome(claims, refused, searches, time.perf_counter() - start))


def _rounds(settings: Settings, barrier: multiprocessing.synchronize.Barrier) -> Iterator[str]:
    """The path of each search, when all schedulers are ready for it."""
    for _ in range(settings.rounds):
        barrier.wait(STEP_LIMIT)
        yield _path(settings.limit)


def _path(limit: int) -> str:
    return f'/allocation_candidates?resources=VCPU:1&limit={limit}'


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m benchmarks.schedulers', description=__doc__)
    add = parser.add_argument
    add('--db', choices=databases.ENGINES, default='sqlite', help='database engine (%(default)s)')
    add('--database-url', metavar='URL', help='SQLAlchemy URL of the database server')
    add('--schedulers', type=int, default=8, help='scheduler processes (%(default)s)')
    add('--rounds', type=int, default=50, help='searches of each scheduler (%(default)s)')
    add('--limit', type=int, default=10, help='candidates that a search asks for (%(default)s)')
    add('--threads', type=int, default=8, help='threads of the worker (%(default)s)')
    add('--full', type=int, default=0, help='percent of the hosts that are full (%(default)s)')
    add('--independent', action='store_true', help='no scheduler waits for another one')
    add(
        '--upstream', metavar='PYTHON', type=os.path.abspath,
        help='measure upstream, by the Python that has it',
    )  # fmt: skip
    return parser


if __name__ == '__main__':
    services.stop_on_sigterm()
    sys.exit(main())
