# SPDX-License-Identifier: Apache-2.0
"""Losses that a cloud survives or not: questions about them, and their answers as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from osc_placement_insight.layout import counted, natural, section, table, wrapped
from osc_placement_insight.service import Service

PATH = '/insight/survival'
PAGE = ('page_limit', '1000')
FAILING = ('only', 'failing')
COLUMNS = ('domain', 'consumers', 'placed', 'placed_alike', 'survives', 'exact', 'lacking')
Answer = dict[str, Any]


def ask(service: Service, body: Mapping[str, Any], only_failing: bool) -> Answer:
    """The answers of all pages as one."""
    query = [PAGE, *([FAILING] if only_failing else [])]
    whole: Answer = {}
    for page in service.pages(PATH, query, body):
        if not whole:
            whole = {name: value for name, value in page.items() if name != 'links'}
            continue
        whole['domains'] += page['domains']
        whole['examined'] += page['examined']
        whole['left'] = _worst(whole['left'], page['left'])
        service.tell(f'asking which losses are survived: {whole["examined"]}')
    whole['domains'].sort(key=_order)
    return whole


def _order(row: Answer) -> tuple[Any, ...]:
    """Sort key of a domain: failing ones, then undecided ones, then by name."""
    return [False, None, True].index(row['survives']), natural(name_of(row))


def _worst(one: Answer | None, other: Answer | None) -> Answer | None:
    """The room after the loss of the worst domain; None if some are undecided."""
    if one is None or other is None:
        return None
    return {name: min(one[name], other[name], key=_counted) for name in one}


def _counted(left: Answer) -> tuple[Any, ...]:
    return left['at_least'], left['at_most'], left['domain']


def is_survived(service: Service, body: Mapping[str, Any]) -> bool:
    """True if all servers of a scenario can be claimed, and each loss is survived after it."""
    claims = [step.get('claim') for step in body['scenario']]
    for page in service.pages(PATH, [PAGE, FAILING], body):
        rows = zip(claims, page['scenario'], strict=True)
        if page['domains'] or any(c and c['count'] > row['claimed'] for c, row in rows):
            return False
    return True


def name_of(row: Answer) -> str:
    """A domain by its name."""
    return str(row['name'] or row['domain'])


def rows(answer: Answer) -> Iterator[list[Any]]:
    """A row for each domain, with `COLUMNS`."""
    for row in answer['domains']:
        yield [name_of(row), *(row[name] for name in COLUMNS[1:])]


def lines(answer: Answer, basis: str, servers: Mapping[str, str]) -> Iterator[str]:
    """The verdict and the domains, who finds no place, and what there is room for afterwards.

    `basis` says what is known of the servers, and `servers` are their names.
    """
    yield from wrapped(f'{_verdict(answer)} ({basis}).')
    header = ('lost', 'servers', 'placed', 'alike', 'verdict', 'lacking')
    if answer['domains']:
        yield ''
        yield from table(header, map(_cells, answer['domains']))
    for row in answer['domains']:
        is_known = row['placed'] is not None
        left_out = row['consumers'] - row['placed'] - len(row['unplaced']) if is_known else 0
        more = [f'  and {left_out:,} more'] if left_out > 0 else []
        unplaced = [line for one in row['unplaced'] for line in _unplaced(one, servers)]
        yield from section(f'No place when {name_of(row)} is lost:', [*unplaced, *more])
    names = {row['domain']: name_of(row) for row in answer['domains']}
    room = (_room(name, left, names) for name, left in (answer['left'] or {}).items())
    yield from section('Room after the worst of these losses:', room)


def _verdict(answer: Answer) -> str:
    verdicts, examined = [row['survives'] for row in answer['domains']], answer['examined']
    fail, unknown = verdicts.count(False), verdicts.count(None)
    if not examined:
        return 'Nothing would be lost: there are no servers'
    words = f'{fail:,} of {counted(examined, "loss", "losses")} would not be survived'
    if not fail and not unknown:
        words = f'Each of {counted(examined, "loss", "losses")} by itself would be survived'
    return words + (f'; of {unknown:,} it is not known' if unknown else '')


def _cells(row: Answer) -> list[str | int | None]:
    verdict = {True: 'survived', False: 'not survived', None: 'not known'}[row['survives']]
    if row['survives'] is False and not row['exact']:
        verdict = 'no way found'
    lacking = ', '.join(f'{name} {amount:,}' for name, amount in row['lacking'].items())
    counts = [row[name] for name in ('consumers', 'placed', 'placed_alike')]
    return [name_of(row), *counts, verdict, lacking]


def _unplaced(unplaced: Answer, servers: Mapping[str, str]) -> list[str]:
    uuid = unplaced['consumer']
    return wrapped(unplaced['lacks'], first=f'  {servers.get(uuid, uuid)}: ', rest='    ')


def _room(name: str, left: Answer, names: Mapping[str, str]) -> str:
    least, most = left['at_least'], left['at_most']
    times = f'{least:,}' if least == most else f'{least:,} to {most:,}'
    return f'  {name}: {times} ({names.get(left["domain"], left["domain"])})'
