# SPDX-License-Identifier: Apache-2.0
"""What-if questions about a changed cloud, on SQLite and on MariaDB.

Upstream has none, so nothing is compared. The service runs in this process. A separate worker
answers requests of the API during a survival question.
"""

from __future__ import annotations

import pathlib
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.beside import Latencies, measure_beside, path_of
from benchmarks.clouds.full import Family, crowded, families
from benchmarks.databases import temporary_database
from benchmarks.measure import percentile
from benchmarks.metered import Cost, InProcess, Metered, serving
from benchmarks.report import columns
from benchmarks.services import Service
from placement.tests.functional.fixtures.databases import migrate
from placement.tests.large_clouds import load_as_rows, replace_inventories

NAME = 'what-if'
ENGINES = {'sqlite': 'SQLite', 'mariadb': 'MariaDB'}
FULL = (50, 80, 97)
HOSTS, TREES = 10_000, 1_000
CROWDED_HOSTS, CONSUMERS, DRAINED = 113, 15_769, 10
# Percentage in use in the cloud of the drains, and of requests during survival.
USUAL = 80
REPETITIONS = 2
SURVIVAL = '/insight/survival?only=failing&page_limit=1000'
EACH_HOST = {'lose': {'each': 'root'}}
STATES = {True: 'survive', False: 'fail', None: 'unknown'}

Say = Callable[[str], None]


class Figure(NamedTuple):
    """The cost of a question of one cloud, and its outcome in words."""

    engine: str
    question: str
    full: int
    cost: Cost
    outcome: str


class Beside(NamedTuple):
    """The latencies of requests on one engine, by concurrent work."""

    engine: str
    latencies: Sequence[Latencies]


def is_chosen(only: Sequence[str]) -> bool:
    """True if the words of --only ask for these questions; other runs leave them out."""
    return NAME in only


def run(
    directory: pathlib.Path, sizes: Collection[int] | None, server: str | None, say: Say
) -> str:
    """The tables of all questions, of clouds of 10,000 hosts or of the first of the sizes."""
    figures, besides = list[Figure](), list[Beside]()
    hosts = next(iter(sizes or ()), HOSTS)
    for engine in ENGINES:
        url = server if engine == 'mariadb' else None
        for family in families(hosts, max(10, hosts * TREES // HOSTS)):
            with temporary_database(engine, 'what_if', directory, url) as database:
                say(f'{engine}: loading {family.kinds[0]}')
                migrate(database)
                load_as_rows(database, family.make(0, USUAL))
                if len(family.kinds) > 1:
                    say(f'{engine}: requests beside survival')
                    besides.append(_beside(engine, database, directory, family))
                figures += _survivals(engine, database, family, say)
        with temporary_database(engine, 'what_if', directory, url) as database:
            say(f'{engine}: drain and moves')
            figures += _drains(engine, database, max(1_000, CONSUMERS * hosts // HOSTS))
    return f'{table(figures)}\n\n{table_beside(besides)}'


def _survivals(engine: str, database: str, family: Family, say: Say) -> Iterator[Figure]:
    for kind, name in enumerate(family.kinds):
        for full in FULL:
            say(f'{engine}: survival of {name}, {full} % full')
            replace_inventories(database, family.make(kind, full))
            with serving(database) as client:
                yield _cheapest(engine, f'Survival of {name}', full, lambda: _survival(client))


def _cheapest(
    engine: str, question: str, full: int, ask: Callable[[], tuple[Cost, str]]
) -> Figure:
    """The figure of a question that is asked several times."""
    answers = [ask() for _ in range(REPETITIONS)]
    return Figure(engine, question, full, *min(answers, key=lambda one: one[0].cpu))


def _survival(client: InProcess) -> tuple[Cost, str]:
    """The cost of all pages together, and how many hosts survive."""
    metered, states = Metered(client), Counter[bool | None]()
    path = SURVIVAL
    while path:
        answer = metered.post(path, EACH_HOST).json()
        states[True] += answer['examined'] - len(answer['domains'])
        states.update(row['survives'] for row in answer['domains'])
        path = path_of(answer['links'][0]['href']) if answer['links'] else ''
    found = [f'{states[state]:,} {word}' for state, word in STATES.items() if states[state]]
    return metered.cost, ', '.join(found)


def _drains(engine: str, database: str, consumers: int) -> Iterator[Figure]:
    """Drain of some hosts, and verification of as many moves as there are consumers."""
    migrate(database)
    cloud = crowded(CROWDED_HOSTS, consumers, USUAL)
    load_as_rows(database, cloud)
    hosts = [host.uuid for host in cloud.providers]
    drain = {'providers': hosts[:DRAINED]}
    # Each to the next host, which the one before it in turn leaves.
    turns = {uuid: hosts[(number + 1) % len(hosts)] for number, uuid in enumerate(hosts)}
    moves = [
        {'consumer': consumer.uuid, 'from': [host], 'to': turns[host]}
        for consumer in cloud.consumers
        for host in consumer.allocations
    ]
    with serving(database) as client:

        def drained() -> tuple[Cost, str]:
            metered = Metered(client)
            answer = metered.post('/insight/drain', drain).json()
            words = f'{len(answer["moves"]):,} moves, {len(answer["unplaced"])} unplaced'
            return metered.cost, words

        def verified() -> tuple[Cost, str]:
            metered = Metered(client)
            answer = metered.post('/insight/moves', {'moves': moves}).json()
            return metered.cost, 'possible' if answer['possible'] else 'refused'

        question = f'Drain of {DRAINED} of {CROWDED_HOSTS} hosts'
        yield _cheapest(engine, question, USUAL, drained)
        yield _cheapest(engine, f'{len(moves):,} moves verified', USUAL, verified)


def _beside(engine: str, database: str, directory: pathlib.Path, family: Family) -> Beside:
    hosts = [provider.uuid for provider in family.make(0, USUAL).providers]
    service, other = (
        Service(f'what_if_{name}', sys.executable, database, directory)
        for name in ('api', 'insight')
    )
    try:
        service.start()
        other.start()
        return Beside(engine, measure_beside(service, other, hosts, SURVIVAL, EACH_HOST))
    finally:
        service.stop()
        other.stop()


HEADINGS = (
    'Question',
    'Full',
    'Database',
    'CPU',
    'Elapsed',
    'Reading',
    'Slice',
    'Outcome',
)
LEGEND = (
    'Seconds of all pages; *reading* is their part that reads the database, processor time /\n'
    'elapsed. *Slice*: the longest processor time between two pauses, in milliseconds.'
)


def table(figures: Sequence[Figure]) -> str:
    """A line for each question, in columns."""
    lines: list[Sequence[str]] = [HEADINGS]
    questions = list(dict.fromkeys(one.question for one in figures))
    for engine, question, full, cost, outcome in sorted(
        figures, key=lambda one: (questions.index(one.question), one.full)
    ):
        lines.append(
            (
                question, f'{full} %', ENGINES[engine],
                f'{cost.cpu:.2f}', f'{cost.wall:.2f}',
                f'{cost.reading_cpu:.2f} / {cost.reading_wall:.2f}', f'{cost.held * 1000:.0f}',
                outcome,
            )
        )  # fmt: skip
    return f'{columns(lines)}\n\n{LEGEND}'


HEADINGS_BESIDE = ('Request', 'Database', 'Median', '99 % within')


def table_beside(besides: Iterable[Beside]) -> str:
    """A line for each request of the API: milliseconds without survival / during it in the same
    worker / in another one / during a program that only computes."""
    lines: list[Sequence[str]] = [HEADINGS_BESIDE]
    for engine, latencies in besides:
        for name in latencies[0]:
            lines.append(
                (
                    name.capitalize(), ENGINES[engine],
                    *(
                        ' / '.join(
                            f'{percentile(one[name], part) * 1000:.1f}' for one in latencies
                        )
                        for part in (0.5, 0.99)
                    ),
                )
            )  # fmt: skip
    return columns(lines)
