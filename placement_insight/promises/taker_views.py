# SPDX-License-Identifier: Apache-2.0
"""Answers on the changes that took room from a promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placement.search.model.snapshot import Snapshot
from placement_insight import paging
from placement_insight.explain.views import provider
from placement_insight.history.handlers import origin_of
from placement_insight.promises.takers import Taker, Takers

Names = Mapping[str, str]

# Maximum number of trees that a sentence names.
MAX_NAMED = 3


def roots_of(taker: Taker, snapshot: Snapshot) -> list[str]:
    """List the uuids of the changed trees; of a provider that is gone, its own."""
    found = ((former.uuid, snapshot.find_by_uuid(former.uuid)) for former in taker.change.formers)
    return sorted({uuid if known is None else known.root_uuid for uuid, known in found})


def takers(found: Takers, snapshot: Snapshot, names: Names) -> dict[str, Any]:
    """Return the room, the sentence on the change that broke the promise, and all changes."""
    last = found.followed_to
    return {
        'room': paging.members(found.room, 'at_least', 'at_most'),
        'summary': _summary(found, snapshot, names),
        'takers': [_taker(one, snapshot, names) for one in found.listed],
        'followed_to': None if last is None else paging.time_text(last.at),
    }


def _taker(taker: Taker, snapshot: Snapshot, names: Names) -> dict[str, Any]:
    row, is_known = taker.change.row, None not in (taker.before, taker.after)
    return origin_of(row) | {
        'project_id': _owner(taker),
        'roots': [provider(uuid, names) for uuid in roots_of(taker, snapshot)],
        'taken': taker.taken,
        'room': paging.members(taker, 'before', 'after') if is_known else None,
    }


def _owner(taker: Taker) -> str | None:
    """Return the project of all consumers whose allocations were changed, if it is one."""
    owners = taker.change.owners
    return next(iter(owners)) if len(owners) == 1 else None


def _summary(found: Takers, snapshot: Snapshot, names: Names) -> str | None:
    """Return "Broken since <time>: room for 41 became room for 38 by <request> of blue on host7."

    None of a promise that is kept, or whose breaking the history does not tell.
    """
    taker = found.breaking
    if taker is None:
        return None
    row = taker.change.row
    uuids = roots_of(taker, snapshot)
    named = [names.get(uuid, uuid) for uuid in uuids[:MAX_NAMED]]
    more = len(uuids) - len(named)
    hosts = ', '.join(named) + (f' and {more} more' if more > 0 else '')
    caller = row.caller_user_name or row.caller_user_id
    by = '' if caller is None else f' by {caller}'
    owner = _owner(taker)
    project = '' if owner is None else f' for project {owner}'
    return (
        f'Broken since {paging.time_text(row.at)}: room for {taker.before} became room for '
        f'{taker.after} with {row.action}{by}{project} on {hosts} ({row.request_id}).'
    )
