# SPDX-License-Identifier: Apache-2.0
"""The change feed: which providers have changed, in the order in which it was written down.

Every transaction that changes anything a search can see appends the providers it touched, with
`record`. Workers read on from where they last were, so that a search costs one small statement
however large the cloud is.

An entry says whether anything of its provider may have changed, or only what is allocated of it:
claims come by the hundred for each change of another sort, and change nothing but sums.
"""

from __future__ import annotations

import bisect
import datetime
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.schema import tables
from placement.db.schema.tables import allocations, resource_classes

_metadata = sa.MetaData()

# Not an upstream table: it is ours alone (specification: data_model, "Tables of this service
# alone").
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

# How many ids that were missing are asked for one by one. Where more are, entries are counted.
MAX_GAPS_NAMED = 100


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


_ENTRIES = sa.select(feed.c.id, feed.c.provider_id, feed.c.allocations_only)
_LAST: sa.BindParameter[int] = sa.bindparam('last')
_SINCE_OR_NAMED = _ENTRIES.where(
    sa.or_(feed.c.id >= _LAST, feed.c.id.in_(sa.bindparam('named', expanding=True)))
)


def _unless_as_many(first: str, end: str, read: str) -> sa.Select[int, int, bool]:
    """The entries of a range of ids, where there are not as many as were read of it; else none."""
    is_inside = sa.and_(feed.c.id >= sa.bindparam(first), feed.c.id < sa.bindparam(end))
    count = sa.select(sa.func.count(feed.c.id)).where(is_inside).scalar_subquery()
    return _ENTRIES.where(is_inside, count != sa.bindparam(read))


# What is used of each class of some providers, as rows that no entry can be mistaken for.
_USED = (
    sa.select(
        sa.type_coerce(sa.null(), feed.c.id.type),
        allocations.c.resource_provider_id,
        sa.type_coerce(sa.null(), feed.c.allocations_only.type),
        resource_classes.c.name,
        sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger),
    )
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .where(allocations.c.resource_provider_id.in_(sa.bindparam('provider_ids', expanding=True)))
    .group_by(allocations.c.resource_provider_id, resource_classes.c.name)
)


class _Question(NamedTuple):
    """A statement that asks for entries, and one that asks for them and for what is used."""

    alone: sa.CompoundSelect[*tuple[Any, ...]]
    with_used: sa.CompoundSelect[*tuple[Any, ...]]

    @classmethod
    def of(cls, *parts: sa.Select[int, int, bool]) -> _Question:
        """For the entries that any of the parts finds."""
        # What is used comes first, because it has a value where entries have none: PostgreSQL
        # takes a column for text that is empty in the first two parts.
        longer = (part.add_columns(sa.null(), sa.null()) for part in parts)
        return cls(sa.union_all(*parts), sa.union_all(_USED, *longer))


# All of these find the entry `last` itself as well.
_SINCE = _Question.of(_ENTRIES.where(feed.c.id >= _LAST))
_SINCE_AND_NAMED = _Question.of(_SINCE_OR_NAMED)
_SINCE_AND_COUNTED = _Question.of(
    _SINCE_OR_NAMED,
    _unless_as_many('first', 'middle', 'older'),
    _unless_as_many('middle', 'last', 'newer'),
)


def list_since(
    connection: sa.Connection, last: int, gaps: Sequence[int] = ()
) -> list[Entry] | None:
    """What was written down after the entry `last`, and into the `gaps` before it, by id.

    Ids are given out before transactions end, so entries can appear below others seen already.
    The gaps are, by id, all from the first of them to `last` that have not appeared; the id before
    them has.

    None when entries from there on are gone: then others may be that nobody here has read.
    """
    question, values = _since(last, gaps)
    return _entries(connection.execute(question.alone, values), last, gaps)


def list_since_with_used(
    connection: sa.Connection, last: int, gaps: Sequence[int], provider_ids: Collection[int]
) -> tuple[list[Entry] | None, Used]:
    """As `list_since`, and what is used of some providers at the very same moment.

    It is one statement for the sake of that moment: under READ COMMITTED each has one of its own.
    """
    question, values = _since(last, gaps)
    rows = connection.execute(question.with_used, {**values, 'provider_ids': list(provider_ids)})
    entries: list[tuple[int, int, bool]] = []
    used: dict[int, dict[str, int]] = {}
    for entry_id, provider_id, allocations_only, resource_class, amount in rows:
        if entry_id is None:
            used.setdefault(provider_id, {})[resource_class] = amount
        else:
            entries.append((entry_id, provider_id, allocations_only))
    return _entries(entries, last, gaps), used


def _since(last: int, gaps: Sequence[int]) -> tuple[_Question, dict[str, int | list[int]]]:
    """The question for what was written down since, and its values.

    Where there are many gaps, as on a Galera cluster whose nodes leave the ids of the others out,
    none of them is named. The server counts: whatever was committed since the last search into a
    range of which nothing is gone makes more of it than was read, and then all of it is fetched.
    What comes late mostly belongs among the newest, which are a range of their own for that.
    """
    if not gaps:
        return _SINCE, {'last': last}
    first = gaps[0]
    if len(gaps) <= MAX_GAPS_NAMED:
        return _SINCE_AND_NAMED, {'last': last, 'named': [first - 1, *gaps]}
    middle = gaps[-MAX_GAPS_NAMED]
    return _SINCE_AND_COUNTED, {
        'last': last,
        'named': [first - 1],
        'first': first,
        'middle': middle,
        'older': middle - first - (len(gaps) - MAX_GAPS_NAMED),
        'newer': last - middle - MAX_GAPS_NAMED,
    }


def _entries(
    rows: Iterable[sa.Row[int, int, bool] | tuple[int, int, bool]],
    last: int,
    gaps: Sequence[int],
) -> list[Entry] | None:
    """Those of the entries found that were asked for, by id; None when others are gone.

    What is pruned is everything up to some id. So nothing is gone that was missing before, as
    long as the entry is there that comes before the first gap.
    """
    found = sorted(map(Entry._make, rows))
    settled = gaps[0] - 1 if gaps else last
    if not {settled, last} <= {entry.id for entry in found}:
        return None
    return [entry for entry in found if entry.id > last or _is_in(entry.id, gaps)]


def _is_in(entry_id: int, gaps: Sequence[int]) -> bool:
    index = bisect.bisect_left(gaps, entry_id)
    return index < len(gaps) and gaps[index] == entry_id


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
