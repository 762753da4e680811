# SPDX-License-Identifier: Apache-2.0
"""Compares the performance of this service and upstream (openstack-placement 16).

Both run on this machine under the same web server, on databases of the same kind that hold the
same cloud, and take turns at the same work. It needs Linux, Python and, for other databases than
SQLite, a database server.
"""

from __future__ import annotations

import argparse
import functools
import os
import pathlib
import platform
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks import (
    bulk,
    clouds,
    databases,
    growth,
    hard,
    insight,
    report,
    services,
    starts,
    upstream,
    what_if,
)
from benchmarks.clouds import hard as hard_searches
from benchmarks.measure import Durations, measure
from benchmarks.progress import Progress
from benchmarks.scenarios import claims, reads, search
from benchmarks.scenarios.base import Scenario
from benchmarks.services import CannotStart
from benchmarks.session import Bench, Say

ROOT = pathlib.Path(__file__).parents[1]
BENCH = ROOT / '.bench'
SIZES = (100, 1_000, 10_000, 50_000)
QUICK_SIZES = (1_000,)
QUICK = Durations(
    seconds=1.5,
    turn_seconds=0.1,
    concurrent_turn_seconds=0.75,
    limit_seconds=4,
    total_seconds=260,
)

KINDS: tuple[Callable[[Collection[int]], Iterator[Scenario]], ...] = (
    search.scenarios, reads.scenarios, claims.scenarios,
)  # fmt: skip


class Family(NamedTuple):
    """Measurements with a table of their own."""

    title: str
    run: Callable[[Bench, Say], str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen scenarios; the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.processes > 1 and options.wsgi_server == services.WAITRESS:
        parser.error('--processes needs --wsgi-server uwsgi')
    sizes = options.sizes or (QUICK_SIZES if options.quick else SIZES)
    known = [scenario for kind in KINDS for scenario in kind(sizes)]
    scenarios = list(choose(known, options.only, options.quick))
    start_plans = starts.plans(sizes, options.only)
    families = list(chosen_families(options))
    if options.list:
        titles = [scenario.title for scenario in scenarios]
        titles += [f'{starts.NAME} [{plan.size}]' for plan in start_plans]
        titles += [family.title for family in families]
        beside_upstream = [one.NAME for one in (insight, what_if) if one.is_chosen(options.only)]
        print('\n'.join(titles + beside_upstream))
        return 0
    if run_alone(options) and not scenarios and not start_plans and not families:
        return 0
    if not scenarios and not start_plans and not families:
        print('no title of a scenario contains these words, see --list', file=sys.stderr)
        return 2
    bench, durations = _bench(options), _durations(options)
    progress = Progress(len(scenarios) + len(start_plans) + len(families))
    try:
        started = list(run_starts(start_plans, bench, progress, 1 if options.quick else 3))
        tables = list(run_families(families, bench, progress))
        results = run(scenarios, bench, durations, progress)
    except CannotStart as reason:
        print(f'\n{reason}', file=sys.stderr)
        return 1
    progress.end()
    shutil.rmtree(bench.directory)
    _report(options, results, started, tables)
    if len(results) < len(scenarios):
        print(f'\nTime limit reached: {len(scenarios) - len(results)} scenarios were not run.')
    return 0


def run_alone(options: argparse.Namespace) -> bool:
    """Measure what is not compared with upstream; False where --only asks for none of it."""
    if insight.is_chosen(options.only):
        # In process: it needs neither services nor a database.
        print(insight.table(insight.measure_insight(insight.cases())))
    if what_if.is_chosen(options.only):
        sizes = options.sizes or (QUICK_SIZES if options.quick else None)
        directory = _run_directory()
        print(what_if.run(directory, sizes, options.database_url, Progress(1).say))
        shutil.rmtree(directory)
    return insight.is_chosen(options.only) or what_if.is_chosen(options.only)


def choose(
    scenarios: Iterable[Scenario], only: Sequence[str], is_quick: bool
) -> Iterator[Scenario]:
    """The scenarios with one of these words in the title; without words all or the quick ones."""
    for scenario in scenarios:
        if only:
            is_chosen = any(word in scenario.title for word in only)
        else:
            is_chosen = scenario.is_quick or not is_quick
        if is_chosen:
            yield scenario


def run(
    scenarios: Sequence[Scenario], bench: Bench, durations: Durations, progress: Progress
) -> list[report.Result]:
    """Run scenarios; return the results in their order. Scenarios of one cloud share a start.

    No scenario starts after `durations.total_seconds`.
    """
    results = {}
    for together in _by_cloud(scenarios):
        if progress.seconds > durations.total_seconds:
            break
        make, size = together[0].cloud
        with bench.services(make(size), together[0].upstream_settings, progress.say) as both:
            for scenario in together:
                if progress.seconds > durations.total_seconds:
                    break
                progress.say(scenario.title)
                ours, theirs = measure(scenario, both, durations)
                results[scenario.title] = report.Result(scenario, ours, theirs, bench.engine)
                progress.advance()
    return [results[scenario.title] for scenario in scenarios if scenario.title in results]


def run_starts(
    plans: Sequence[clouds.Plan], bench: Bench, progress: Progress, repetitions: int
) -> Iterator[starts.StartResult]:
    """The cost of starting a worker and of its first search, in these clouds."""
    for make, size in plans:
        with bench.services(make(size), {}, progress.say) as both:
            progress.say(f'{starts.NAME} [{size}]')
            yield starts.measure_starts(size, both, repetitions)
            progress.advance()


def run_families(families: Sequence[Family], bench: Bench, progress: Progress) -> Iterator[str]:
    """The table of each family."""
    for family in families:
        progress.say(family.title)
        yield family.run(bench, progress.say)
        progress.advance()


def chosen_families(options: argparse.Namespace) -> Iterator[Family]:
    """The families that the words of --only ask for; they are not part of other runs."""
    if hard.is_chosen(options.only):
        yield Family(hard.NAME, functools.partial(run_hard, limit=options.limit))
    for size in bulk.sizes(options.sizes, options.only):
        yield Family(f'{bulk.NAME} [{size}]', functools.partial(run_bulk, size=size))


def run_hard(bench: Bench, say: Say, limit: float) -> str:
    """The outcomes of hard searches, with a time limit for each answer."""
    queries = hard_searches.queries()
    with bench.services(hard_searches.cloud(queries), {}, say) as both:
        return hard.table(hard.measure_hard(queries, both, limit, say))


def run_bulk(bench: Bench, say: Say, size: int) -> str:
    """Measure the cost of reading a whole cloud of this size."""
    with bench.services(bulk.cloud(size), {}, say) as both:
        return bulk.table(list(bulk.measure_bulk(size, both, say)))


def _by_cloud(scenarios: Iterable[Scenario]) -> Iterable[list[Scenario]]:
    """The scenarios in groups that can be measured without another start."""
    groups: dict[Any, list[Scenario]] = {}
    for scenario in scenarios:
        key = scenario.cloud, tuple(scenario.upstream_settings.items())
        groups.setdefault(key, []).append(scenario)
    return groups.values()


def _report(
    options: argparse.Namespace,
    results: Sequence[report.Result],
    started: Sequence[starts.StartResult],
    tables: Sequence[str],
) -> None:
    facts = _facts(options)
    print(*(f'{name}: {value}' for name, value in facts.items()), '', sep='\n')
    if results:
        print(report.table(results), report.LEGEND, growth.table(results), sep='\n\n')
        print(f'\n{report.requests(results)}')
    if started:
        print(f'\n{starts.table(started)}')
    for table in tables:
        print(f'\n{table}')


def _run_directory() -> pathlib.Path:
    """A new directory for this run alone; when the run fails, the logs remain in it."""
    directory = BENCH / f'run-{os.getpid()}'
    directory.mkdir(parents=True)
    return directory


def _bench(options: argparse.Namespace) -> Bench:
    constraints = ROOT / 'constraints.txt'
    python = options.upstream or upstream.install(BENCH / 'upstream', constraints)
    return Bench(
        _run_directory(),
        our_python=options.ours,
        upstream_python=python,
        engine=options.db,
        database_url=options.database_url,
        threads=options.threads,
        wsgi_server=options.wsgi_server,
        processes=options.processes,
        most_through_api=min(100, options.api) if options.quick else options.api,
    )


def _durations(options: argparse.Namespace) -> Durations:
    if options.quick:
        return QUICK
    return Durations(seconds=options.seconds, limit_seconds=options.limit)


def _facts(options: argparse.Namespace) -> dict[str, Any]:
    """The circumstances that the figures depend on."""
    return {
        'command': ' '.join(['python -m benchmarks', *sys.argv[1:]]),
        'upstream': upstream.REQUIREMENT,
        'database': options.db,
        'wsgi server': options.wsgi_server,
        'processes': options.processes,
        'threads of each': options.threads,
        'python': platform.python_version(),
        'machine': platform.platform(),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    add = parser.add_argument
    add('--db', choices=databases.ENGINES, default='sqlite', help='database engine (%(default)s)')
    add(
        '--database-url', metavar='URL',
        help='SQLAlchemy URL of the database server, without a database; by default '
        + ', '.join(databases.SERVERS.values()),
    )  # fmt: skip
    add(
        '--quick', action='store_true',
        help='end within five minutes: one size, short turns, ignoring --seconds and --limit',
    )  # fmt: skip
    add(
        '--only', metavar='WORDS', action='append', default=[],
        help='only scenarios with these words in their titles; may be repeated',
    )  # fmt: skip
    add('--list', action='store_true', help='show the titles, measure nothing')
    add(
        '--sizes',
        type=_sizes,
        metavar='N,N',
        help='sizes of clouds, of 100,1000,10000,50000,100000,130000, and 125000 trees of eight',
    )
    add(
        '--seconds', type=float, default=Durations.seconds,
        help='how long one scenario is measured (%(default)s)',
    )  # fmt: skip
    add(
        '--limit', type=float, default=Durations.limit_seconds, metavar='SECONDS',
        help='how long to wait for one answer (%(default)s)',
    )  # fmt: skip
    add(
        '--wsgi-server', choices=services.WSGI_SERVERS, default=services.WAITRESS,
        help='the web server that both services run under (%(default)s)',
    )  # fmt: skip
    add('--threads', type=int, default=4, help='threads of each process (%(default)s)')
    add(
        '--processes', type=int, default=1, metavar='N',
        help='processes of uWSGI; several leave statements uncounted (%(default)s)',
    )  # fmt: skip
    add(
        '--api', type=int, default=1_000, metavar='N',
        help='load clouds of up to N providers through the API, larger ones as rows of the '
        'database (%(default)s, at most 100 with --quick)',
    )  # fmt: skip
    add(
        '--ours', metavar='PYTHON', type=os.path.abspath, default=sys.executable,
        help='Python of an environment that has this service (by default the running one)',
    )  # fmt: skip
    add(
        '--upstream', metavar='PYTHON', type=os.path.abspath,
        help='Python of an environment that has upstream (by default one is created)',
    )  # fmt: skip
    return parser


def _sizes(text: str) -> list[int]:
    return [int(part) for part in text.split(',')]


if __name__ == '__main__':
    services.stop_on_sigterm()
    sys.exit(main())
