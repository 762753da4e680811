# SPDX-License-Identifier: Apache-2.0
"""A plan as commands of a shell.

Names of servers are the text of users: they stand in comments alone, without control characters.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from osc_placement_insight.cells import escaped
from osc_placement_insight.what_if.known import Known
from osc_placement_insight.what_if.plan import Move, Plan, shown

DISABLE = 'openstack compute service set --disable --disable-reason drained {} nova-compute'
LIVE = (
    'openstack --os-compute-api-version 2.30 server migrate --live-migration --host {} --wait {}'
)
COLD = 'openstack --os-compute-api-version 2.56 server migrate --host {} --wait {}'
CONFIRM = 'openstack server migration confirm {}'


def lines(plan: Plan, known: Known, roots: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The commands: hosts of root providers are disabled first, then each server is moved."""
    total = len(plan.moves) + len(plan.unplaced)
    yield f'# {len(plan.moves)} of {total} servers find a place, at {plan.answer["at"]}.'
    yield '# Verify the plan again before you run this: openstack placement moves verify.'
    hosts = [host for host in map(known.host_of, roots) if host is not None]
    for host in dict.fromkeys(hosts):
        yield DISABLE.format(shlex.quote(host))
    for move in plan.moves:
        yield from _of_move(move, known)
    for move in plan.unplaced:
        yield _comment('no place', move, move.lacks)


def _of_move(move: Move, known: Known) -> Iterator[str]:
    host = None if move.to is None else known.host_of(move.to)
    if host is None:
        to = '' if move.to is None else shown(move.to)
        yield _comment('not moved', move, f'nova has no compute host for {to}')
    elif move.way.is_live:
        yield LIVE.format(shlex.quote(host), shlex.quote(move.uuid)) + _named(move)
    elif move.way.is_cold:
        yield COLD.format(shlex.quote(host), shlex.quote(move.uuid)) + _named(move)
        yield CONFIRM.format(shlex.quote(move.uuid))
    else:
        yield _comment('not moved', move, move.way.hindrance)


def _named(move: Move) -> str:
    return f'  # {escaped(move.name)}'


def _comment(kind: str, move: Move, why: str) -> str:
    return f'# {kind}: {move.uuid}{_named(move)}: {escaped(why)}'
