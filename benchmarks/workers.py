# SPDX-License-Identifier: Apache-2.0
"""Measures the scheduling cycles per second by the number of processes and threads.

    make bench-workers ARGS='--db mariadb'

A cycle is four requests: a search, a claim on one of the candidates, a read of it, its release.
Workers are processes on one database; clients are distributed over them as a load balancer would
do. Clients and database run on the same machine, so on few cores the last workers gain less than
they would elsewhere.

*In turns* is the processor time of a cycle where one client asks all workers in turn, so that they
do not compete for cores.

Three or more numbers of processes with equally many threads are followed by a model of what more
cores give: one of the cycles per second, of the pools that have a core for each process, and one
of the processor time in turns. On a server with sixteen cores:

    make bench-workers ARGS='--db mariadb --sizes 1000 --pools 1x2,2x2,4x2,8x2,16x2 --clients 32'
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import pathlib
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks import clouds, databases, scalability, services, upstream
from benchmarks.client import Client, TooSlow, Unexpected
from benchmarks.measure import percentile, run_together
from benchmarks.progress import Progress
from benchmarks.report import columns, significant
from benchmarks.scenarios.claims import Schedule
from benchmarks.services import CannotStart, Service
from placement.tests.large_clouds import load_as_rows

ROOT = pathlib.Path(__file__).parents[1]

# Processes and the threads of each; more make no difference on a machine of few cores.
POOLS = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 2), (2, 4))
SIZES = (1_000, 10_000, 50_000)

HEADINGS = (
    'hosts', 'processes', 'threads each', 'clients', 'cycles/s', 'median ms', 'p99 ms', 'CPU ms',
    'in turns', 'MB each',
)  # fmt: skip

# Numbers of cores that the model is asked about.
CORES = (16, 64)
MODEL_HEADINGS = (
    'hosts', 'threads each', 'clients', 'fitted to', 'one process', 'contention', 'coherency',
    'most with', *(f'{cores} cores' for cores in CORES),
)  # fmt: skip


@dataclass(frozen=True)
class WorkerPool:
    """The measurement of a number of processes with a number of threads each."""

    size: int
    processes: int
    threads: int
    clients: int
    latencies: list[float]
    elapsed: float
    cpu_seconds: float
    cpu_seconds_in_turns: float
    memory_mb: float

    @property
    def rate(self) -> float:
        """Cycles per second."""
        return len(self.latencies) / self.elapsed

    @property
    def has_cores(self) -> bool:
        """A core for each worker; without it, throughput says nothing of what more cores give."""
        return self.processes <= (os.cpu_count() or 1)

    @property
    def rate_of_own_cores(self) -> float:
        """Cycles per second of workers that each keep one core of their own busy."""
        return self.processes / self.cpu_seconds_in_turns

    def line(self) -> Sequence[str]:
        """One line of the table: totals of all workers, except memory, which is per worker."""
        done = len(self.latencies)
        figures = (
            self.rate,
            statistics.median(self.latencies) * 1000,
            percentile(self.latencies, 0.99) * 1000,
            self.cpu_seconds / done * 1000,
            self.cpu_seconds_in_turns * 1000,
            self.memory_mb,
        )
        counts = map(str, (self.processes, self.threads, self.clients))
        return f'{self.size:,}', *counts, *map(significant, figures)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen pools and sizes; the exit status."""
    options = _parser().parse_args(arguments)
    directory = ROOT / '.bench' / f'run-{os.getpid()}'
    directory.mkdir(parents=True)
    progress = Progress(len(options.sizes) * len(options.pools) * len(options.clients))
    found: list[WorkerPool] = []
    try:
        for size in options.sizes:
            found.extend(_measure_size(size, options, directory, progress))
    except (CannotStart, TooSlow, Unexpected) as reason:
        print(f'\n{reason}', file=sys.stderr)
        return 1
    progress.end()
    shutil.rmtree(directory)
    print(f'database: {options.db}, cores: {os.cpu_count()}\n')
    print(columns([HEADINGS, *(pool.line() for pool in found)]))
    if lines := list(_model(found)):
        print('\nModel, the universal scalability law, in cycles/s:\n')
        print(columns([MODEL_HEADINGS, *lines]))
    return 0


def _model(pools: Sequence[WorkerPool]) -> Iterator[Sequence[str]]:
    """The lines of the law, for each cloud, number of threads and of clients with enough pools."""
    for same, group in itertools.groupby(sorted(pools, key=_same_law), key=_same_law):
        (size, *counts), measured = same, list(group)
        for name, rates in (
            ('cycles/s', {pool.processes: pool.rate for pool in measured if pool.has_cores}),
            ('in turns', {pool.processes: pool.rate_of_own_cores for pool in measured}),
        ):
            if len(rates) < scalability.UNKNOWNS:
                continue
            law = scalability.fit(rates)
            rates_asked = (law.alone, law.best(), *map(law.throughput, CORES))
            alone, *asked = map(significant, rates_asked)
            constants = (f'{law.contention:.3f}', f'{law.coherency:.4f}')
            yield f'{size:,}', *map(str, counts), name, alone, *constants, *asked


def _same_law(pool: WorkerPool) -> tuple[int, int, int]:
    return pool.size, pool.threads, pool.clients


def _measure_size(
    size: int, options: argparse.Namespace, directory: pathlib.Path, progress: Progress
) -> Iterator[WorkerPool]:
    """The measurement of every pool in one cloud."""
    with databases.temporary_database(options.db, 'workers', directory) as database:
        progress.say(f'loading {size} hosts')
        with _workers(1, 1, database, directory, options.upstream):
            # The start creates the tables.
            pass
        load_as_rows(database, clouds.flat(size))
        for processes, threads in options.pools:
            progress.say(f'{size} hosts, {processes} processes of {threads} threads')
            with _workers(processes, threads, database, directory, options.upstream) as workers:
                for clients in options.clients:
                    yield _measure_pool(size, threads, clients, workers, options.seconds)
                    progress.advance()


@contextlib.contextmanager
def _workers(
    processes: int,
    threads: int,
    database: str,
    directory: pathlib.Path,
    upstream_python: str | None,
) -> Iterator[list[Service]]:
    """Worker processes that serve one database."""
    python, drivers = upstream.chosen(upstream_python)
    with contextlib.ExitStack() as stack:
        workers = []
        for number in range(processes):
            worker = Service(f'worker-{number}', python, database, directory, threads, drivers)
            stack.callback(worker.stop)
            worker.start()
            workers.append(worker)
        yield workers


def _measure_pool(
    size: int, threads: int, clients: int, workers: Sequence[Service], seconds: float
) -> WorkerPool:
    """The measurement of one pool, after each worker has searched once."""
    for number, worker in enumerate(workers):
        client = Client(worker.port)
        Schedule(size, number).run(client)
        client.close()
    cpu_before = sum(worker.cpu_seconds() for worker in workers)
    begin = time.perf_counter()
    latencies = _run_clients(size, begin + seconds, workers, clients)
    elapsed = time.perf_counter() - begin
    cpu_seconds = sum(worker.cpu_seconds() for worker in workers) - cpu_before
    return WorkerPool(
        size=size,
        processes=len(workers),
        threads=threads,
        clients=clients,
        latencies=latencies,
        elapsed=elapsed,
        cpu_seconds=cpu_seconds,
        cpu_seconds_in_turns=_measure_turns(size, workers, seconds),
        memory_mb=statistics.fmean(worker.memory_mb() for worker in workers),
    )


def _measure_turns(size: int, workers: Sequence[Service], seconds: float) -> float:
    """The processor time of a cycle of workers to which one client sends requests in turn.

    Each worker reads the changes of all others since its last search, as it does on a core of its
    own, but here they do not compete for a core.
    """
    clients = [Client(worker.port) for worker in workers]
    works = [Schedule(size, number) for number in range(len(workers))]
    cpu_before = sum(worker.cpu_seconds() for worker in workers)
    done, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        for work, client in zip(works, clients, strict=True):
            work.run(client)
            done += 1
    cpu_seconds = sum(worker.cpu_seconds() for worker in workers) - cpu_before
    for client in clients:
        client.close()
    return cpu_seconds / done


def _run_clients(size: int, end: float, workers: Sequence[Service], clients: int) -> list[float]:
    """The latencies of all clients, which have a process for each worker.

    In a single process the clients, and not the workers, would be what limits throughput.
    """
    with concurrent.futures.ProcessPoolExecutor(
        len(workers), multiprocessing.get_context('fork')
    ) as pool:
        futures = [
            pool.submit(
                _run_clients_of, worker.port, size, range(first, clients, len(workers)), end
            )
            for first, worker in enumerate(workers)
        ]
        return [latency for future in futures for latency in future.result()]


def _run_clients_of(port: int, size: int, numbers: Sequence[int], end: float) -> list[float]:
    """The latencies of the clients of one worker."""
    clients = [Client(port) for _ in numbers]
    try:
        return run_together(end, [Schedule(size, number) for number in numbers], clients)
    finally:
        for client in clients:
            client.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m benchmarks.workers', description=__doc__)
    add = parser.add_argument
    add('--db', choices=databases.ENGINES, default='sqlite', help='database engine (%(default)s)')
    add(
        '--sizes', type=_numbers, default=SIZES, metavar='N,N', help='hosts in the cloud',
    )  # fmt: skip
    add(
        '--pools', type=_pools, default=POOLS, metavar='PxT,PxT',
        help='processes and the threads of each, such as 1x4,2x4',
    )  # fmt: skip
    add(
        '--clients', type=_numbers, default=[16], metavar='N,N',
        help='concurrent clients, at least one for each process (16)',
    )  # fmt: skip
    add(
        '--upstream', metavar='PYTHON', type=os.path.abspath,
        help='measure upstream, by the Python that has it',
    )  # fmt: skip
    add(
        '--seconds', type=float, default=10,
        help='how long each pool is measured (%(default)s)',
    )  # fmt: skip
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(',')]


def _pools(text: str) -> list[tuple[int, int]]:
    pairs = (part.split('x') for part in text.split(','))
    return [(int(processes), int(threads)) for processes, threads in pairs]


if __name__ == '__main__':
    services.stop_on_sigterm()
    sys.exit(main())
