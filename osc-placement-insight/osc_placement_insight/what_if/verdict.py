# SPDX-License-Identifier: Apache-2.0
"""The check of moves: reads them from a file, and shows the answer as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from osc_lib import exceptions

from osc_placement_insight.layout import counted, section, wrapped
from osc_placement_insight.what_if import outcome, plan

COLUMNS = ('number', 'server', 'to', 'verdict')
Answer = Mapping[str, Any]


class Wanted(NamedTuple):
    """A move as the service takes it, with the names of the server and of where it goes."""

    body: Answer
    name: str
    to: str | None


def parse(values: Any, file: str) -> list[Wanted]:
    """The moves of a plan, or of a list of moves.

    :raises osc_lib.exceptions.CommandError: these values of a file are neither
    """
    moves = values.get('moves') if isinstance(values, dict) else values
    if not isinstance(moves, list) or not all(isinstance(move, dict) for move in moves):
        raise exceptions.CommandError(
            f'{file} is no plan, as "openstack placement drain plan -f json" prints it, and no '
            'list of moves, such as [{"consumer": "<uuid>", "to": "host1"}].'
        )
    return [_wanted(move) for move in moves]


def _wanted(move: Answer) -> Wanted:
    """A move; the service reports missing members."""
    body = {name: move[name] for name in ('consumer', 'to', 'request') if name in move}
    to = body.get('to')
    if isinstance(to, dict):
        body['to'] = to.get('uuid')
        to = to.get('name') or to.get('uuid')
    if isinstance(move.get('from'), list):
        body['from'] = [
            source.get('uuid') if isinstance(source, dict) else source for source in move['from']
        ]
    return Wanted(body, str(move.get('server') or move.get('consumer')), to)


def rows(wanted: Sequence[Wanted], answer: Answer) -> Iterator[list[Any]]:
    """A row for each move, with `COLUMNS`; those behind one that is refused are not examined."""
    refused = answer['refused']
    first = len(wanted) + 1 if refused is None else refused['number']
    chosen = _chosen(answer)
    for number, move in enumerate(wanted, 1):
        verdict = 'possible' if number < first else 'not examined'
        if number == first:
            verdict = f'not possible: {refused["lacks"]}'
        yield [number, move.name, move.to or chosen.get(number), verdict]


def _chosen(answer: Answer) -> dict[int, str]:
    """The hosts that the service chose, by the number of the move."""
    return {each['number']: plan.shown(each['to']) for each in answer['places']}


def lines(wanted: Sequence[Wanted], answer: Answer, at_once: bool) -> Iterator[str]:
    """The verdict, the hosts that the service chose, and how full it gets."""
    yield from wrapped(_verdict(wanted, answer, at_once))
    chosen = (f'  {wanted[n - 1].name}: {to}' for n, to in _chosen(answer).items())
    yield from section('Hosts that were left open:', chosen)
    if answer['fullest']:
        yield ''
        yield from wrapped(plan.fullest(answer))
    yield from outcome.over_capacity(answer)


def _verdict(wanted: Sequence[Wanted], answer: Answer, at_once: bool) -> str:
    refused, moment = answer['refused'], plan.time_of(answer)
    if refused is None:
        order = 'all at once' if at_once else 'in this order'
        return f'All of {counted(len(wanted), "move")} are possible {order}, {moment}.'
    number = refused['number']
    to = f' to {plan.shown(refused["to"])}' if refused['to'] else ''
    words = f'Move {number:,} of {len(wanted):,} is not possible, {moment}'
    return f'{words}: {wanted[number - 1].name}{to}. {refused["lacks"]}'
