# SPDX-License-Identifier: Apache-2.0
"""Run clients against a region while faults happen, and check what they were answered.

Prints the faults, the operations, the longest outages, the alerts, and what is wrong; ends with
status 1 where anything is.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks.region import alerts, checker, clients, nemesis, services
from benchmarks.region.databases import CLUSTERS
from benchmarks.region.record import Operation, Record


def main() -> int:
    """Run a region for some minutes."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.region', description=__doc__)
    parser.add_argument('--database', choices=sorted(CLUSTERS), default='galera')
    parser.add_argument(
        '--minutes', type=float, default=5, help='how long faults happen, at least'
    )
    parser.add_argument('--seed', type=int, default=1, help='of the faults and the clients')
    parser.add_argument(
        '--only', default='', help='do no other faults; a regular expression for their names'
    )
    arguments = parser.parse_args()
    # A node that joins again refuses what the pool of connections sends it at first.
    logging.getLogger('sqlalchemy.pool').setLevel(logging.CRITICAL)
    with services.region(arguments.database) as region:
        record = Record()
        print(', '.join(nemesis.versions(region)), flush=True)
        faults = nemesis.Nemesis(region, record, arguments.seed, arguments.only)
        with clients.working(region, record, arguments.seed) as (claimers, follower):
            faults.work(arguments.minutes * 60)
        follower.catch_up()
        alerted = alerts.of_run(region.prometheus, record, faults.faults)
        wrong = [*record.violations, *_checked(record, claimers, follower)]
    _print_operations(record.operations)
    _print_outages(record.operations, faults.faults)
    _print_alerts(alerted)
    for line in wrong:
        print(line)
    print(f'{len(wrong)} violations')
    return 1 if wrong else 0


def _checked(
    record: Record, claimers: list[clients.Claimer], follower: clients.Follower
) -> list[str]:
    """What the checker finds, given what the service says when all is over."""
    capacities = dict.fromkeys(claimers[0].hosts, clients.CAPACITY)
    capacities |= {one.own: 1 for one in claimers}
    final = {
        host: {
            consumer: amounts['resources']['VCPU']
            for consumer, amounts in follower.read(f'/resource_providers/{host}/allocations')[
                'allocations'
            ].items()
        }
        for host in capacities
    }
    holds = {consumer: held for one in claimers for consumer, held in one.holds.items()}
    history = _history(follower)
    operations = list(record.operations)
    return list(checker.check(operations, holds, history, capacities, final, follower.used))


def _history(client: clients.Client) -> list[dict[str, Any]]:
    """All rows, first change first."""
    rows, path = list[dict[str, Any]](), '/insight/history?page_limit=1000'
    while path:
        page = client.read(path)
        rows += page['history']
        path = page['links'][0]['href'] if page['links'] else ''
    return rows[::-1]


def _print_operations(operations: list[Operation]) -> None:
    counts = Counter(
        (one.kind, 'unknown' if one.is_unknown else str(one.status)) for one in operations
    )
    print('\nrequest     answer    number')
    for (kind, answer), number in sorted(counts.items()):
        print(f'{kind:10}  {answer:8}  {number:6,}')


def _print_alerts(alerted: Mapping[str, alerts.Alert]) -> None:
    print(f'{"alert":30}  state    since')
    for name, alert in alerted.items():
        print(f'{name:30}  {"fired" if alert.fired else "pending":7}  {"; ".join(alert.causes)}')
    print()


def _print_outages(operations: list[Operation], faults: list[nemesis.Fault]) -> None:
    print(f'\n{"fault":46}  times  no write for  longest wait')
    for name, (times, gap, wait) in sorted(checker.outages(operations, faults).items()):
        print(f'{name:46}  {times:5}  {gap:10.1f} s  {wait:10.1f} s')
    print()


if __name__ == '__main__':
    sys.exit(main())
