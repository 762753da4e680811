#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a worker that starts takes to load a whole cloud: processor time, and memory at most.

    python -m benchmarks.whole_load [hosts [repetitions [engine]]]

By default three times 100,000 hosts that all differ, from SQLite. Each load is made by a process
of its own, whose memory is that of the whole process.
"""

import multiprocessing
import pathlib
import resource
import statistics
import sys
import tempfile
import time

from benchmarks.clouds import different
from benchmarks.databases import temporary_database
from benchmarks.loading import load_as_rows, make_schema
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.feed.keeper import SnapshotKeeper


def load(url: str) -> tuple[float, float]:
    """The seconds of processor time that a load takes, and the most megabytes ever in use."""
    database = Database(create_engine(url))
    with database.consistent_reader():
        start = time.process_time()
    SnapshotKeeper(database).current()
    taken = time.process_time() - start
    database.dispose()
    return taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fill(url: str, hosts: int) -> None:
    """Make the schema, the standard names, and a cloud of so many hosts."""
    make_schema(url)
    load_as_rows(url, different(hosts))


def main() -> None:
    """Print the medians."""
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    engine = sys.argv[3] if len(sys.argv) > 3 else 'sqlite'
    # Not forked, so that no process has the memory of another.
    processes = multiprocessing.get_context('spawn')
    with (
        tempfile.TemporaryDirectory() as directory,
        temporary_database(engine, 'whole_load', pathlib.Path(directory)) as url,
        processes.Pool(1, maxtasksperchild=1) as pool,
    ):
        pool.apply(fill, (url, hosts))
        loads = [pool.apply(load, (url,)) for _ in range(repetitions)]
    seconds, megabytes = map(statistics.median, zip(*loads, strict=True))
    print(f'{hosts} different hosts, {engine}: {seconds:.2f} s, {megabytes:.0f} MB')


if __name__ == '__main__':
    main()
