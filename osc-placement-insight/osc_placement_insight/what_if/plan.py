# SPDX-License-Identifier: Apache-2.0
"""A plan of moves: the answer of the service, with data of nova about the servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from osc_placement_insight.audit.model import Resources, added
from osc_placement_insight.layout import counted, section, table, wrapped
from osc_placement_insight.what_if.known import Known
from osc_placement_insight.what_if.moving import Way, way_of
from osc_placement_insight.what_if.nova import Server

#: The order of the classes that every host has; others follow.
FIRST = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB')
COLUMNS = ('server', 'status', 'from', 'to', 'resources', 'how')
#: How many names a sentence has.
NAMES = 5

Answer = Mapping[str, Any]


class Move(NamedTuple):
    """A consumer that is moved, or that finds no place: `to` is None then."""

    uuid: str
    server: Server | None
    sources: Sequence[Answer]
    to: Answer | None
    resources: Resources
    way: Way
    is_alike: bool
    lacks: str

    @property
    def name(self) -> str:
        """The name of the server, or the uuid of the consumer."""
        return self.server.name if self.server else self.uuid

    @property
    def status(self) -> str:
        """The status of the server in nova."""
        return self.server.status if self.server else ''

    @property
    def source(self) -> str:
        """The names of the hosts that it leaves."""
        return ', '.join(map(shown, self.sources))


class Plan(NamedTuple):
    """The moves, those who find no place, and the answer that they are in."""

    moves: Sequence[Move]
    unplaced: Sequence[Move]
    answer: Answer


def of_answer(answer: Answer, known: Known | None) -> Plan:
    """The plan that the service answers."""
    return Plan(
        [_move(row, known) for row in answer['moves']],
        [_move(row, known) for row in answer['unplaced']],
        answer,
    )


def _move(row: Answer, known: Known | None) -> Move:
    uuid = row['consumer']
    server = None if known is None else known.servers.get(uuid)
    return Move(
        uuid,
        server,
        row['from'],
        row.get('to'),
        added(each['resources'] for each in row.get('allocations', {}).values()),
        Way() if known is None else way_of(server),
        row.get('alike') is not False,
        row.get('lacks', ''),
    )


def whole(plan: Plan, requests: Mapping[str, str], asked: Mapping[str, Sequence[str]]) -> Answer:
    """The answer with the names and requests of servers, to be verified later."""
    request_of = {uuid: name for name, uuids in asked.items() for uuid in uuids}

    def rows(moves: Iterable[Move], given: Iterable[Answer]) -> list[Answer]:
        return [
            {
                **row,
                'server': move.server and move.name,
                'status': move.status,
                'how': move.way.words,
                **({'request': request_of[move.uuid]} if row['known'] == 'request' else {}),
            }
            for move, row in zip(moves, given, strict=True)
        ]

    moves = rows(plan.moves, plan.answer['moves'])
    named = {row['request'] for row in moves if 'request' in row}
    return {
        **plan.answer,
        'moves': moves,
        'unplaced': rows(plan.unplaced, plan.answer['unplaced']),
        'requests': {name: query for name, query in requests.items() if name in named},
    }


def rows(plan: Plan) -> Iterator[list[Any]]:
    """A row for each who has to move, with `COLUMNS`; those without a place go nowhere."""
    for move in (*plan.moves, *plan.unplaced):
        to = None if move.to is None else shown(move.to)
        how = move.way.words if move.to is not None else f'no place: {move.lacks}'
        yield [move.name, move.status, move.source, to, dict(move.resources), how]


def lines(plan: Plan, basis: str) -> Iterator[str]:
    """The number of servers with a place, their moves, the others, and the usage afterwards."""
    count, total = len(plan.moves), len(plan.moves) + len(plan.unplaced)
    verb = 'finds' if total == 1 else 'find'
    words = f'{count:,} of {counted(total, "server")} {verb} a place ({basis})'
    yield from wrapped(f'{words}, {time_of(plan.answer)}.')
    yield from _table(plan.moves)
    unplaced = [line for move in plan.unplaced for line in _unplaced(move)]
    yield from section(f'No place for {len(plan.unplaced):,}:', unplaced)
    if plan.moves:
        yield ''
        yield from wrapped(' '.join(_afterwards(plan)))


def _table(moves: Sequence[Move]) -> Iterator[str]:
    classes = {name for move in moves for name in move.resources}
    ordered = [*(name for name in FIRST if name in classes), *sorted(classes - {*FIRST})]
    header = ('server', 'status', 'from', 'to', *ordered, 'how')
    if moves:
        yield ''
    yield from table(
        header,
        (
            (
                move.name,
                move.status,
                move.source,
                '' if move.to is None else shown(move.to),
                *(move.resources.get(name, 0) for name in ordered),
                move.way.words,
            )
            for move in moves
        ),
    )


def _unplaced(move: Move) -> list[str]:
    words = ' '.join(filter(None, (move.name, move.status, move.source)))
    return wrapped(f'{words}: {move.lacks}', first='  ', rest='    ')


def _afterwards(plan: Plan) -> Iterator[str]:
    yield fullest(plan.answer)
    strange = [move.name for move in plan.moves if not move.is_alike]
    if strange:
        names = ', '.join(strange[:NAMES]) + (' and others' if len(strange) > NAMES else '')
        yield (
            f'Of {len(strange):,} only amounts are known, and their new host lacks traits of the '
            f'old one, or is in another zone: {names}.'
        )
    at_once = plan.answer['at_once']
    if at_once >= len(plan.moves):
        yield 'Moves are independent: in any order, and all at once.'
    else:
        yield f'Moves are independent: in any order; pools have room for {at_once:,} at once.'


def fullest(answer: Answer) -> str:
    """The fullest hosts afterwards, as a sentence."""
    parts = (
        f'{shown(each["provider"])} {each["resource_class"]} '
        f'{100 * each["used"] // max(each["capacity"], 1)}%'
        for each in answer['fullest']
    )
    return f'Fullest afterwards: {", ".join(parts)}.'


def time_of(answer: Answer) -> str:
    """The moment at which an answer is true, in words."""
    return f'at {answer["at"][11:19]} UTC'


def shown(provider: Answer) -> str:
    """A provider by its name; the name of one that was just deleted is not known any more."""
    return str(provider['name'] or provider['uuid'])
