# SPDX-License-Identifier: Apache-2.0
"""The change feed: which providers have changed, in the order in which it was written down.

Every transaction that changes anything a search can see appends the providers it touched, with
`record`. Workers read on from where they last were, so that a search costs one small statement
however large the cloud is.

An entry says whether anything of its provider may have changed, or only what is allocated of it:
claims come by the hundred for each change of another sort, and change nothing but sums.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db import tables
from placement.db.tables import allocations, resource_classes

_metadata = sa.MetaData()

# Not among the tables of the contract: it is ours alone (see own_migrations).
feed = sa.Table(
    'placement_provider_changes',
    _metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
    sa.Column('provider_id', sa.Integer, nullable=False),
    sa.Column('at', sa.DateTime, nullable=False),
    # Not said by workers of versions before this column: then anything may have changed.
    sa.Column('allocations_only', sa.Boolean, nullable=False, server_default=sa.false()),
    sqlite_autoincrement=True,
)

_INSERT = sa.insert(feed)

# How many entries are kept, and how often, by chance, somebody removes those beyond. A worker
# that has slept through more than are kept loads everything anew.
KEPT = 100_000
PRUNE_ONE_IN = 1_000

# How many ids are asked for one by one before a range is read that has them all.
MOST_GAPS_NAMED = 200


class Entry(NamedTuple):
    """That a provider has changed: in any way, or in nothing but what is allocated of it."""

    id: int
    provider_id: int
    allocations_only: bool = False


# What is used of each class, by provider. Where nothing is, the class or the provider is missing.
Used = Mapping[int, Mapping[str, int]]


def record(
    connection: sa.Connection, provider_ids: Collection[int], allocations_only: bool = False
) -> None:
    """Write down that providers have changed, in the transaction that changes them.

    Where only what is allocated of them has changed, readers need to read no more than that. A
    transaction that changes other things as well may say both, in any order.
    """
    if not provider_ids:
        return
    now = tables.utcnow()
    connection.execute(
        _INSERT,
        [
            {'provider_id': p, 'at': now, 'allocations_only': allocations_only}
            for p in sorted(set(provider_ids))
        ],
    )
    if random.randrange(PRUNE_ONE_IN) == 0:
        prune(connection)


def prune(connection: sa.Connection, kept: int = KEPT) -> None:
    """Remove all but the newest entries, of which at least one stays."""
    newest = connection.scalar(sa.select(sa.func.max(feed.c.id)))
    if newest is not None:
        connection.execute(sa.delete(feed).where(feed.c.id <= newest - max(kept, 1)))


_LAST: sa.BindParameter[int] = sa.bindparam('last')
_ENTRIES = sa.select(feed.c.id, feed.c.provider_id, feed.c.allocations_only)
_OLDEST = feed.c.id == sa.select(sa.func.min(feed.c.id)).scalar_subquery()

# All of these find the entry `last` itself as well, and where there are gaps the oldest of all.
_SINCE = _ENTRIES.where(feed.c.id >= _LAST)
_SINCE_AND_IN_GAPS = _ENTRIES.where(
    sa.or_(feed.c.id >= _LAST, feed.c.id.in_(sa.bindparam('gaps', expanding=True)), _OLDEST)
)
_SINCE_FIRST_GAP = _ENTRIES.where(sa.or_(feed.c.id >= _LAST, _OLDEST))

# What is used of each class of some providers, as rows that no entry can be mistaken for.
_USED = (
    sa.select(
        sa.null(),
        allocations.c.resource_provider_id,
        sa.null(),
        resource_classes.c.name,
        sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger),
    )
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .where(allocations.c.resource_provider_id.in_(sa.bindparam('provider_ids', expanding=True)))
    .group_by(allocations.c.resource_provider_id, resource_classes.c.name)
)
_WITH_USED = {
    statement: sa.union_all(statement.add_columns(sa.null(), sa.null()), _USED)
    for statement in (_SINCE, _SINCE_AND_IN_GAPS, _SINCE_FIRST_GAP)
}


def list_since(
    connection: sa.Connection, last: int, gaps: Collection[int] = ()
) -> list[Entry] | None:
    """What was written down after the entry `last`, and into the `gaps` before it, by id.

    None when entries from there on are gone: then others may be that nobody here has read. Ids
    are given out before transactions end, so entries can appear below others seen already.
    """
    statement, values = _since(last, gaps)
    return _entries(connection.execute(statement, values), last, gaps)


def list_since_with_used(
    connection: sa.Connection, last: int, gaps: Collection[int], provider_ids: Collection[int]
) -> tuple[list[Entry] | None, Used]:
    """As `list_since`, and what is used of some providers at the very same moment.

    It is one statement for the sake of that moment: under READ COMMITTED each has one of its own.
    """
    statement, values = _since(last, gaps)
    rows = connection.execute(
        _WITH_USED[statement], {**values, 'provider_ids': list(provider_ids)}
    )
    entries: list[tuple[int, int, bool]] = []
    used: dict[int, dict[str, int]] = {}
    for entry_id, provider_id, allocations_only, resource_class, amount in rows:
        if entry_id is None:
            used.setdefault(provider_id, {})[resource_class] = amount
        else:
            entries.append((entry_id, provider_id, allocations_only))
    return _entries(entries, last, gaps), used


def _since(
    last: int, gaps: Collection[int]
) -> tuple[sa.Select[int, int, bool], dict[str, int | list[int]]]:
    """The statement for what was written down since, and its values."""
    if not gaps:
        return _SINCE, {'last': last}
    if len(gaps) > MOST_GAPS_NAMED:
        return _SINCE_FIRST_GAP, {'last': min(gaps)}
    return _SINCE_AND_IN_GAPS, {'last': last, 'gaps': list(gaps)}


def _entries(
    rows: Iterable[sa.Row[int, int, bool] | tuple[int, int, bool]],
    last: int,
    gaps: Collection[int],
) -> list[Entry] | None:
    """Those of the entries found that were asked for, by id; None when others are gone."""
    found = sorted(map(Entry._make, rows))
    ids = {entry.id for entry in found}
    if last not in ids or found[0].id > min(gaps, default=last):
        return None
    return [entry for entry in found if entry.id > last or entry.id in gaps]


def list_recent(connection: sa.Connection, window: datetime.timedelta) -> Sequence[int]:
    """The ids of the newest entry older than a span of time, and of all after it, by id."""
    older = (
        sa.select(sa.func.max(feed.c.id))
        .where(feed.c.at < tables.utcnow() - window)
        .scalar_subquery()
    )
    return connection.scalars(
        sa.select(feed.c.id).where(feed.c.id >= sa.func.coalesce(older, 0)).order_by(feed.c.id)
    ).all()
