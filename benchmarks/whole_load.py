#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a worker that starts takes to load a whole cloud: processor time, and memory at most; and
the processor time of its requests then, without a web server.

    python -m benchmarks.whole_load [hosts [repetitions [engine [cloud]]]]

By default three times 100,000 hosts that all differ, from SQLite; `flat` and `trees_of_eight` are
other clouds. Each load is made by a process of its own, whose memory is that of the whole process.
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
from benchmarks.loading import claim, load_as_rows, make_schema
from benchmarks.metered import serving
from benchmarks.scenarios.claims import new_consumer
from benchmarks.starts import SEARCH
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.feed.keeper import SnapshotKeeper

CYCLES = 21


def load(url: str) -> tuple[float, float]:
    """The seconds of processor time that a load takes, and the most megabytes ever in use."""
    database = Database(create_engine(url))
    with database.consistent_reader():
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
    """Make the schema, the standard names, and a cloud of so many hosts."""
    make_schema(url)
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
    print(f'{hosts} {kind}, {engine}: {seconds:.2f} s, {megabytes:.0f} MB')
    print(*(f'{name}: {milliseconds:.1f} ms' for name, milliseconds in taken.items()), sep=', ')


if __name__ == '__main__':
    main()
