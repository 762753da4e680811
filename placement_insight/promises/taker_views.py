# SPDX-License-Identifier: Apache-2.0
"""Answers on the changes that took room from a promise."""

from collections.abc import Mapping
from typing import Any

from placement_insight import paging
from placement_insight.explain.views import provider
from placement_insight.history.handlers import origin_of
from placement_insight.promises.takers import Taker, Takers

Names = Mapping[str, str]

# Maximum number of trees that a sentence names.
MAX_NAMED = 3

# What happened, by the first part of the action.
_HAPPENED = {
    'allocations': 'resources were claimed',
    'inventories': 'inventory was changed',
    'provider_traits': 'traits were changed',
    'aggregates': 'aggregates were changed',
    'reshaper': 'allocations were moved',
}


def takers(found: Takers, names: Names) -> dict[str, Any]:
    """Return the room, the sentence on the change that broke the promise, and all changes."""
    last = found.followed_to
    return {
        'room': paging.members(found.room, 'at_least', 'at_most'),
        'summary': _summary(found, names),
        'takers': [_taker(one, names) for one in found.listed],
        'followed_to': None if last is None else paging.time_text(last.at),
    }


def _taker(taker: Taker, names: Names) -> dict[str, Any]:
    undone, is_known = taker.undone, None not in (taker.undone.before, taker.undone.after)
    return origin_of(taker.change.row) | {
        'project_id': _owner(taker),
        'roots': [provider(uuid, names) for uuid in undone.roots],
        'taken': undone.taken,
        'room': paging.members(undone, 'before', 'after') if is_known else None,
    }


def _owner(taker: Taker) -> str | None:
    """Return the project of all consumers whose allocations were changed, if it is one."""
    owners = taker.change.owners
    return next(iter(owners)) if len(owners) == 1 else None


def _summary(found: Takers, names: Names) -> str | None:
    """Return the sentence on the change that broke a promise.

    None of a promise that is kept, or whose breaking the history does not tell.
    """
    taker = found.breaking
    if taker is None:
        return None
    row = taker.change.row
    uuids = taker.undone.roots
    named = [names.get(uuid, uuid) for uuid in uuids[:MAX_NAMED]]
    more = len(uuids) - len(named)
    hosts = ', '.join(named) + (f' and {more} more' if more > 0 else '')
    caller = row.caller_user_name or row.caller_user_id
    by = '' if caller is None else f' by {caller}'
    owner = _owner(taker)
    project = '' if owner is None else f' for project {owner}'
    happened = _HAPPENED.get(row.action.partition('.')[0], 'providers were changed')
    return (
        f'Broken since {paging.time_text(row.at)}: room for {taker.undone.before} became room for '
        f'{taker.undone.after} when {happened}{by}{project} on {hosts} ({row.request_id}).'
    )
