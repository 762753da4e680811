# SPDX-License-Identifier: Apache-2.0
"""Run clients against a region while faults happen, and check their answers.

Prints the faults, the operations, the longest outages, the alerts, and the errors; exits with
status 1 if there are any.
"""

from __future__ import annotations

import argparse
import datetime
import logging
import pathlib
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

from placement.tests.region import alerts, checker, history, nemesis, services, workload
from placement.tests.region.databases import CLUSTERS
from placement.tests.region.history import Fault, History
from placement.tests.region.record import Operation, Record


def main() -> int:
    """Run a region for some minutes."""
    parser = argparse.ArgumentParser(prog='python -m placement.tests.region', description=__doc__)
    parser.add_argument('--database', choices=sorted(CLUSTERS), default='galera')
    parser.add_argument(
        '--minutes', type=float, default=5, help='how long faults happen, at least'
    )
    parser.add_argument('--seed', type=int, default=1, help='of the faults and the clients')
    parser.add_argument(
        '--only', default='', help='do no other faults; a regular expression for their names'
    )
    parser.add_argument(
        '--writers',
        type=int,
        choices=range(1, services.CONTROLLERS + 1),
        default=1,
        help='how many nodes of Galera are written to at the same time',
    )
    parser.add_argument(
        '--flush',
        type=int,
        choices=range(3),
        default=1,
        help='innodb_flush_log_at_trx_commit of the nodes of Galera',
    )
    parser.add_argument(
        '--pooler',
        action='store_true',
        help='with PostgreSQL: a pgbouncer before each node, pool_mode = transaction',
    )
    parser.add_argument(
        '--patience',
        type=float,
        default=1,
        help='how many times as long as on a quiet machine something may take without a fault',
    )
    parser.add_argument(
        '--keep',
        type=pathlib.Path,
        metavar='FILE',
        help='write all that was seen to a file, as .json.gz',
    )
    parser.add_argument(
        '--judge',
        type=pathlib.Path,
        metavar='FILE',
        help='run nothing, and judge what --keep has written',
    )
    arguments = parser.parse_args()
    if arguments.judge:
        return _print_judged(history.read(arguments.judge), arguments.patience)
    if arguments.writers > 1 and arguments.database != 'galera':
        parser.error('of PostgreSQL only the primary can be written to')
    if arguments.pooler and arguments.database != 'postgresql':
        parser.error('pgbouncer is a pooler of PostgreSQL')
    # A node that joins again refuses what the pool of connections sends it at first.
    logging.getLogger('sqlalchemy.pool').setLevel(logging.CRITICAL)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    choices = services.Choices(
        arguments.database, arguments.writers, arguments.flush, arguments.pooler
    )
    with services.region(choices) as region:
        record = Record()
        about = _about(region)
        print(about['versions'], flush=True)
        faults = nemesis.Nemesis(region, record, arguments.seed, arguments.only)
        load = workload.Workload(region, record, arguments.seed)
        with load.running():
            faults.work(arguments.minutes * 60)
        seen = load.ended(faults.faults, about)
        alerted = alerts.of_run(region.prometheus, record, faults.faults)
    if arguments.keep:
        history.write(seen, arguments.keep)
    _print_alerts(alerted)
    return _print_judged(seen, arguments.patience)


def _about(region: services.Region) -> Mapping[str, str]:
    """The versions, the time, and the command of a run."""
    commit = subprocess.run(
        ['git', 'describe', '--always', '--dirty'], capture_output=True, text=True, check=False
    )
    return {
        'versions': ', '.join(nemesis.versions(region)),
        'begun': datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds'),
        'commit': commit.stdout.strip(),
        'arguments': shlex.join(sys.argv[1:]),
    }


def _print_judged(seen: History, patience: float) -> int:
    """Print what happened and what is wrong; return the exit status."""
    print('; '.join(seen.about.values()))
    _print_operations(seen.operations)
    _print_outages(seen.operations, seen.faults)
    wrong = checker.judge(seen, patience)
    for line in wrong:
        print(line)
    number, share = checker.bound(seen.operations)
    print(f'{len(wrong)} violations in {number:,} acknowledged writes', end='')
    print('' if wrong else f': with 95 % confidence, less than {share:.1e} of them are wrong')
    return 1 if wrong else 0


def _end(number: int, _frame: object) -> None:
    """Stop all that runs, which a second signal does not break off."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _print_operations(operations: Sequence[Operation]) -> None:
    counts = Counter(
        (one.kind, 'unknown' if one.is_unknown else str(one.status)) for one in operations
    )
    print('\nrequest            answer    number')
    for (kind, answer), number in sorted(counts.items()):
        print(f'{kind:17}  {answer:8}  {number:6,}')


def _print_alerts(alerted: Mapping[str, alerts.Alert]) -> None:
    print(f'{"alert":30}  state    since')
    for name, alert in alerted.items():
        print(f'{name:30}  {"fired" if alert.fired else "pending":7}  {"; ".join(alert.causes)}')
    print()


def _print_outages(operations: Sequence[Operation], faults: Sequence[Fault]) -> None:
    found = checker.outages(operations, faults)
    width = max(map(len, found), default=0)
    print(f'\n{"":{width + 7}}  {"any instance":^26}  {"balancer":^26}')
    columns = '  '.join(['no write for  longest wait'] * 2)
    print(f'{"fault":{width}}  times  {columns}')
    for name, (times, *both) in sorted(found.items()):
        figures = '  '.join(f'{one.gap:10.1f} s  {one.wait:10.1f} s' for one in both)
        print(f'{name:{width}}  {times:5}  {figures}')
    print()


if __name__ == '__main__':
    sys.exit(main())
