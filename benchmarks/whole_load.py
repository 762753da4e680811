#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of loading a whole cloud at the start of a worker: processor time and peak memory; and
the processor time of requests afterwards, without a web server.

    python -m benchmarks.whole_load [hosts [repetitions [engine [cloud]]]]

By default three times 100,000 hosts that all differ, from SQLite; `flat` and `trees_of_eight` are
other clouds. Each load runs in a process of its own, whose whole memory is measured.
"""

import multiprocessing
import pathlib
import resource
import statistics
import sys
import tempfile
import time
from typing import Any

from benchmarks import clouds
from benchmarks.client import Answer
from benchmarks.databases import temporary_database
from benchmarks.metered import serving
from benchmarks.report import columns
from benchmarks.scenarios.claims import new_consumer
from benchmarks.starts import SEARCH
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.feed.keeper import SnapshotKeeper
from placement.feed.sink import Feed
from placement.tests.functional.fixtures.clouds import claim
from placement.tests.functional.fixtures.databases import migrate
from placement.tests.large_clouds import load_as_rows

CYCLES = 21


def load(url: str) -> tuple[float, float]:
    """The seconds of processor time that a load takes, and the most megabytes ever in use."""
    database = Database(create_engine(url), Feed())
    with database.begin(Mode.READ_ONE_MOMENT):
        start = time.process_time()
    SnapshotKeeper(database).current()
    taken = time.process_time() - start
    database.dispose()
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cycles(url: str) -> dict[str, float]:
    """The milliseconds of processor time that requests take, medians of cycles of them."""
    spent: dict[str, list[float]] = {}

    def timed(name: str, method: str, path: str, body: Any = None) -> Answer:
        start = time.process_time()
        answer = client.send(method, path, body)
        spent.setdefault(name, []).append((time.process_time() - start) * 1000)
        return answer

    with serving(url) as client:
        for _ in range(CYCLES):
            found = timed('search', 'GET', SEARCH).json()['allocation_requests']
            body = {**claim({}), 'allocations': found[0]['allocations']}
            consumer = new_consumer()
            timed('claim', 'PUT', consumer, body)
            timed('search after a claim', 'GET', SEARCH)
            timed('release', 'DELETE', consumer)
            client.get(SEARCH)
    return {name: statistics.median(taken) for name, taken in spent.items()}


def fill(url: str, kind: str, hosts: int) -> None:
    """Create the schema, the standard names, and a cloud with a number of hosts."""
    migrate(url)
    load_as_rows(url, getattr(clouds, kind)(hosts))


def main() -> None:
    """Print the medians."""
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    engine = sys.argv[3] if len(sys.argv) > 3 else 'sqlite'
    kind = sys.argv[4] if len(sys.argv) > 4 else 'different'
    # Not forked, so that no process has the memory of another.
    processes = multiprocessing.get_context('spawn')
    with (
        tempfile.TemporaryDirectory() as directory,
        temporary_database(engine, 'whole_load', pathlib.Path(directory)) as url,
        processes.Pool(1, maxtasksperchild=1) as pool,
    ):
        pool.apply(fill, (url, kind, hosts))
        loads = [pool.apply(load, (url,)) for _ in range(repetitions)]
        taken = pool.apply(cycles, (url,))
    seconds, megabytes = map(statistics.median, zip(*loads, strict=True))
    headings = ('cloud', 'load s', 'MB', *(f'{name} ms' for name in taken))
    figures = (f'{seconds:.2f}', f'{megabytes:.0f}', *(f'{ms:.1f}' for ms in taken.values()))
    print(columns([headings, (f'{hosts:,} {kind}, {engine}', *figures)]))


if __name__ == '__main__':
    main()
