# SPDX-License-Identifier: Apache-2.0
"""Measures this service beside the released openstack-placement, on this machine.

Both run under the same server on databases of the same kind, with the same cloud in them, and
take turns at the same work. Nothing but Linux, Python and, for other databases than SQLite, a
database server is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from benchmarks import chart, clouds, databases, growth, released, report, services, starts
from benchmarks.measure import Effort, measure
from benchmarks.progress import Progress
from benchmarks.scenarios import claims, reads, search
from benchmarks.scenarios.base import Scenario
from benchmarks.services import CannotStart
from benchmarks.session import Bench

ROOT = pathlib.Path(__file__).parents[1]
SIZES = (100, 1_000, 10_000, 50_000)
QUICK_SIZES = (1_000,)
QUICK = Effort(
    seconds=1.5,
    turn_seconds=0.1,
    crowded_turn_seconds=0.75,
    limit_seconds=4,
    total_seconds=260,
)

KINDS: tuple[Callable[[Collection[int]], Iterator[Scenario]], ...] = (
    search.scenarios, reads.scenarios, claims.scenarios,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what was asked for; the exit status."""
    options = _parser().parse_args(arguments)
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    known = [scenario for kind in KINDS for scenario in kind(sizes)]
    scenarios = list(choose(known, options.only, options.quick))
    start_sizes = starts.sizes(sizes, options.only)
    if options.list:
        titles = [scenario.title for scenario in scenarios]
        print('\n'.join(titles + [f'{starts.NAME} [{size}]' for size in start_sizes]))
        return 0
    if not scenarios and not start_sizes:
        print('no scenario has such a name, see --list', file=sys.stderr)
        return 2
    bench, effort = _bench(options), _effort(options)
    progress = Progress(len(scenarios) + len(start_sizes))
    try:
        started = list(run_starts(start_sizes, bench, progress, 1 if options.quick else 3))
        results = run(scenarios, bench, effort, progress)
    except CannotStart as reason:
        print(f'\n{reason}', file=sys.stderr)
        return 1
    progress.end()
    shutil.rmtree(bench.directory)
    _report(options, results, started)
    if len(results) < len(scenarios):
        print(f'\nThe time was up before {len(scenarios) - len(results)} other scenarios.')
    return 0


def choose(
    scenarios: Iterable[Scenario], only: Sequence[str], is_quick: bool
) -> Iterator[Scenario]:
    """Those with one of these words in their titles; without words all, or the quick ones."""
    for scenario in scenarios:
        if only:
            is_chosen = any(word in scenario.title for word in only)
        else:
            is_chosen = scenario.is_quick or not is_quick
        if is_chosen:
            yield scenario


def run(
    scenarios: Sequence[Scenario], bench: Bench, effort: Effort, progress: Progress
) -> list[report.Result]:
    """What was measured, in the order of the scenarios; those in the same cloud share it.

    Nothing more is begun when the time is up.
    """
    results = {}
    for together in _by_cloud(scenarios):
        if progress.seconds > effort.total_seconds:
            break
        make, size = together[0].cloud
        with bench.services(make(size), together[0].released_settings, progress.say) as both:
            for scenario in together:
                if progress.seconds > effort.total_seconds:
                    break
                progress.say(scenario.title)
                ours, theirs = measure(scenario, both, effort)
                results[scenario.title] = report.Result(scenario, ours, theirs, bench.engine)
                progress.advance()
    return [results[scenario.title] for scenario in scenarios if scenario.title in results]


def run_starts(
    sizes: Sequence[int], bench: Bench, progress: Progress, repetitions: int
) -> Iterator[starts.StartResult]:
    """What the first moments of a worker cost in flat clouds of these sizes."""
    for size in sizes:
        with bench.services(clouds.flat(size), {}, progress.say) as both:
            progress.say(f'{starts.NAME} [{size}]')
            yield starts.measure_starts(size, both, repetitions)
            progress.advance()


def _by_cloud(scenarios: Iterable[Scenario]) -> Iterable[list[Scenario]]:
    """The scenarios that can be measured without another start."""
    groups: dict[Any, list[Scenario]] = {}
    for scenario in scenarios:
        key = scenario.cloud, tuple(scenario.released_settings.items())
        groups.setdefault(key, []).append(scenario)
    return groups.values()


def _report(
    options: argparse.Namespace,
    results: Sequence[report.Result],
    started: Sequence[starts.StartResult],
) -> None:
    facts = _facts(options)
    print(*(f'{name}: {value}' for name, value in facts.items()), '', sep='\n')
    if results:
        tables = (
            report.table(results), report.LEGEND, growth.table(results), report.requests(results)
        )  # fmt: skip
        print(*filter(None, tables), sep='\n\n')
    if started:
        print(f'\n{starts.table(started)}')
    if options.json:
        values = {
            **facts,
            'results': [result.as_dict() for result in results],
            'starts': [result.as_dict() for result in started],
        }
        options.json.write_text(json.dumps(values, indent=1) + '\n')
    if options.chart:
        options.chart.write_text(chart.svg(results))


def _bench(options: argparse.Namespace) -> Bench:
    directory = ROOT / '.bench'
    # Of this run alone; when the run fails, the logs stay behind in it.
    run_directory = directory / f'run-{os.getpid()}'
    run_directory.mkdir(parents=True)
    python = options.released or released.install(directory / 'released', ROOT / 'constraints.txt')
    return Bench(
        run_directory,
        our_python=options.ours,
        released_python=python,
        engine=options.db,
        server=options.server,
        threads=options.threads,
        below=options.below,
        most_through_api=min(100, options.api) if options.quick else options.api,
    )


def _effort(options: argparse.Namespace) -> Effort:
    if options.quick:
        return QUICK
    return Effort(seconds=options.seconds, limit_seconds=options.limit)


def _facts(options: argparse.Namespace) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        'command': ' '.join(['python -m benchmarks', *sys.argv[1:]]),
        'released': released.REQUIREMENT,
        'database': options.db,
        'below': options.below,
        'python': platform.python_version(),
        'machine': platform.platform(),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    add = parser.add_argument
    add('--db', choices=databases.ENGINES, default='sqlite', help='database engine (%(default)s)')
    add(
        '--server', metavar='URL',
        help='SQLAlchemy URL of the database server, without a database; by default '
        + ', '.join(databases.SERVERS.values()),
    )  # fmt: skip
    add(
        '--quick', action='store_true',
        help='end within five minutes: one size, short looks, whatever --seconds and --limit say',
    )  # fmt: skip
    add(
        '--only', metavar='WORDS', action='append', default=[],
        help='only scenarios with these words in their titles; may be repeated',
    )  # fmt: skip
    add('--list', action='store_true', help='show the titles, measure nothing')
    add('--sizes', type=_sizes, metavar='N,N', help='sizes of clouds, of 100,1000,10000,50000')
    add(
        '--seconds', type=float, default=Effort.seconds,
        help='how long one scenario is measured (%(default)s)',
    )  # fmt: skip
    add(
        '--limit', type=float, default=Effort.limit_seconds, metavar='SECONDS',
        help='how long to wait for one answer (%(default)s)',
    )  # fmt: skip
    add(
        '--below', choices=services.BELOW, default=services.WAITRESS,
        help='the web server that both run below (%(default)s)',
    )  # fmt: skip
    add('--threads', type=int, default=4, help='threads of either server (%(default)s)')
    add(
        '--api', type=int, default=1_000, metavar='N',
        help='load clouds of up to so many providers through the API, larger ones as rows '
        'of the database (%(default)s, at most 100 when quick)',
    )  # fmt: skip
    add(
        '--ours', metavar='PYTHON', type=os.path.abspath, default=sys.executable,
        help='Python of an environment that has this service; by default the one that runs this',
    )  # fmt: skip
    add(
        '--released', metavar='PYTHON', type=os.path.abspath,
        help='Python of an environment that has the released service; by default one is made',
    )  # fmt: skip
    add('--json', type=pathlib.Path, metavar='FILE', help='write all figures to this file')
    add('--chart', type=pathlib.Path, metavar='FILE', help='draw cost against size, as SVG')
    return parser


def _sizes(text: str) -> list[int]:
    return [int(part) for part in text.split(',')]


if __name__ == '__main__':
    services.stop_when_told()
    sys.exit(main())
