# SPDX-License-Identifier: Apache-2.0
"""Measures the scheduling cycles per second by the number of processes and threads.

    make bench-workers ARGS='--db mariadb'

A cycle is four requests: a search, a claim on one of the candidates, a read of it, its release.
Workers are processes on one database; clients are distributed over them as a load balancer would
do. Clients and database run on the same machine, so on few cores the last workers gain less than
they would elsewhere.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks import clouds, databases, services
from benchmarks.client import Client, TooSlow, Unexpected
from benchmarks.loading import load_as_rows
from benchmarks.measure import percentile, run_together
from benchmarks.progress import Progress
from benchmarks.report import columns, significant
from benchmarks.scenarios.claims import Schedule
from benchmarks.services import CannotStart, Service

ROOT = pathlib.Path(__file__).parents[1]

# Processes and the threads of each; more make no difference on a machine of few cores.
POOLS = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 2), (2, 4))
SIZES = (1_000, 10_000, 50_000)

HEADINGS = (
    'hosts', 'processes', 'threads each', 'cycles/s', 'median ms', 'p99 ms', 'CPU ms', 'MB each',
)  # fmt: skip


@dataclass(frozen=True)
class WorkerPool:
    """The measurement of a number of processes with a number of threads each."""

    size: int
    processes: int
    threads: int
    latencies: list[float]
    elapsed: float
    cpu_seconds: float
    memory_mb: float

    def line(self) -> Sequence[str]:
        """One line of the table: totals of all workers, except memory, which is per worker."""
        done = len(self.latencies)
        figures = (
            done / self.elapsed,
            statistics.median(self.latencies) * 1000,
            percentile(self.latencies, 0.99) * 1000,
            self.cpu_seconds / done * 1000,
            self.memory_mb,
        )
        return (
            f'{self.size:,}', str(self.processes), str(self.threads), *map(significant, figures)
        )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen pools and sizes; the exit status."""
    options = _parser().parse_args(arguments)
    directory = ROOT / '.bench' / f'run-{os.getpid()}'
    directory.mkdir(parents=True)
    progress = Progress(len(options.sizes) * len(options.pools))
    found: list[WorkerPool] = []
    try:
        for size in options.sizes:
            found.extend(_measure_size(size, options, directory, progress))
    except (CannotStart, TooSlow, Unexpected) as reason:
        print(f'\n{reason}', file=sys.stderr)
        return 1
    progress.end()
    shutil.rmtree(directory)
    print(f'database: {options.db}, clients: {options.clients}, cores: {os.cpu_count()}\n')
    print(columns([HEADINGS, *(pool.line() for pool in found)]))
    return 0


def _measure_size(
    size: int, options: argparse.Namespace, directory: pathlib.Path, progress: Progress
) -> Iterator[WorkerPool]:
    """The measurement of every pool in one cloud."""
    with databases.temporary_database(options.db, 'workers', directory) as database:
        progress.say(f'loading {size} hosts')
        with _workers(1, 1, database, directory):
            # The start creates the tables.
            pass
        load_as_rows(database, clouds.flat(size))
        for processes, threads in options.pools:
            progress.say(f'{size} hosts, {processes} processes of {threads} threads')
            with _workers(processes, threads, database, directory) as workers:
                yield _measure_pool(size, threads, workers, options)
            progress.advance()


@contextlib.contextmanager
def _workers(
    processes: int, threads: int, database: str, directory: pathlib.Path
) -> Iterator[list[Service]]:
    """Worker processes that serve one database."""
    with contextlib.ExitStack() as stack:
        workers = []
        for number in range(processes):
            worker = Service(f'worker-{number}', sys.executable, database, directory, threads)
            stack.callback(worker.stop)
            worker.start()
            workers.append(worker)
        yield workers


def _measure_pool(
    size: int, threads: int, workers: Sequence[Service], options: argparse.Namespace
) -> WorkerPool:
    """The measurement of one pool, after each worker has searched once."""
    clients = [Client(workers[n % len(workers)].port) for n in range(options.clients)]
    works = [Schedule(size, number) for number in range(options.clients)]
    for work, client in zip(works, clients[: len(workers)], strict=False):
        work.run(client)
    cpu_before = sum(worker.cpu_seconds() for worker in workers)
    begin = time.perf_counter()
    latencies = run_together(begin + options.seconds, works, clients)
    elapsed = time.perf_counter() - begin
    cpu_seconds = sum(worker.cpu_seconds() for worker in workers) - cpu_before
    for client in clients:
        client.close()
    memory = statistics.fmean(worker.memory_mb() for worker in workers)
    return WorkerPool(size, len(workers), threads, latencies, elapsed, cpu_seconds, memory)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m benchmarks.workers', description=__doc__)
    add = parser.add_argument
    add('--db', choices=databases.ENGINES, default='sqlite', help='database engine (%(default)s)')
    add(
        '--sizes', type=lambda text: [int(part) for part in text.split(',')], default=SIZES,
        metavar='N,N', help='hosts in the cloud',
    )  # fmt: skip
    add(
        '--pools', type=_pools, default=POOLS, metavar='PxT,PxT',
        help='processes and the threads of each, such as 1x4,2x4',
    )  # fmt: skip
    add('--clients', type=int, default=16, help='concurrent clients (%(default)s)')
    add(
        '--seconds', type=float, default=10,
        help='how long each pool is measured (%(default)s)',
    )  # fmt: skip
    return parser


def _pools(text: str) -> list[tuple[int, int]]:
    pairs = (part.split('x') for part in text.split(','))
    return [(int(processes), int(threads)) for processes, threads in pairs]


if __name__ == '__main__':
    services.stop_on_sigterm()
    sys.exit(main())
