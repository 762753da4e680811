# SPDX-License-Identifier: Apache-2.0
"""Claims of as many amounts as the service takes at once, and claims that replace them.

    python -m benchmarks.large_claims [sqlite|mariadb|postgresql]

Each provider is a host of a flat cloud; the service is in this process. The table has processor
time, which grows with the amounts and not with their square, and the time on the wall, in which
the database works.
"""

from __future__ import annotations

import functools
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks import clouds
from benchmarks.databases import temporary_database
from benchmarks.metered import InProcess, serving
from benchmarks.report import columns
from benchmarks.scenarios.claims import new_consumer
from placement.tests.functional.fixtures.clouds import claim
from placement.tests.functional.fixtures.databases import migrate
from placement.tests.large_clouds import load_as_rows

AMOUNTS = (5_000, 10_000, 20_000)
#: Processor time of the largest claim, in seconds.
BUDGET = 5


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Processor time and time on the wall of a call."""
    clocks = time.process_time, time.perf_counter
    before = [clock() for clock in clocks]
    work()
    processor, wall = (clock() - begun for clock, begun in zip(clocks, before, strict=True))
    return processor, wall


def put(client: InProcess, consumer: str, body: Any) -> None:
    """Send a claim, which has to be accepted."""
    answer = client.request('PUT', consumer, body)
    assert answer.status == 204, answer


def rows(client: InProcess) -> list[tuple[str, ...]]:
    """The rows of the table: each size, a new consumer and one that has the same already."""
    table: list[tuple[str, ...]] = []
    for amounts in AMOUNTS:
        held = {clouds.host(number): {'VCPU': 1} for number in range(amounts)}
        consumer = new_consumer()
        for name, generation in (('new', None), ('replacing', 1)):
            body = claim(held, generation)
            processor, wall = seconds(functools.partial(put, client, consumer, body))
            table.append((f'{amounts:,}', name, f'{processor:.2f}', f'{wall:.2f}'))
        client.request('DELETE', consumer)
    return table


def main(engine: str) -> None:
    """Print the table."""
    with (
        tempfile.TemporaryDirectory() as directory,
        temporary_database(engine, 'large_claims', pathlib.Path(directory)) as database,
    ):
        migrate(database)
        load_as_rows(database, clouds.flat(max(AMOUNTS)))
        with serving(database) as client:
            print(columns([('amounts', 'consumer', 'processor s', 'wall s'), *rows(client)]))
    print(f'Budget: {BUDGET} s of processor time for {max(AMOUNTS):,} amounts.')


if __name__ == '__main__':
    main(sys.argv[1] if len(sys.argv) > 1 else 'sqlite')
