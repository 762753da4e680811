# SPDX-License-Identifier: Apache-2.0
"""The change feed: which providers have changed, in the order in which it was written down.

Every transaction that changes anything a search can see appends the providers it touched, with
`record`. Workers read on from where they last were, so that a search costs one small statement
however large the cloud is.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Collection, Sequence

import sqlalchemy as sa

from placement.db import tables

_metadata = sa.MetaData()

# Not among the tables of the contract: it is ours alone (see own_migrations).
feed = sa.Table(
    'placement_provider_changes',
    _metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
    sa.Column('provider_id', sa.Integer, nullable=False),
    sa.Column('at', sa.DateTime, nullable=False),
    sqlite_autoincrement=True,
)

_INSERT = sa.insert(feed)

# How many entries are kept, and how often, by chance, somebody removes those beyond. A worker
# that has slept through more than are kept loads everything anew.
KEPT = 100_000
PRUNE_ONE_IN = 1_000

# How many ids are asked for one by one before a range is read that has them all.
MOST_GAPS_NAMED = 200

Entry = tuple[int, int]


def record(connection: sa.Connection, provider_ids: Collection[int]) -> None:
    """Write down that providers have changed, in the transaction that changes them."""
    if not provider_ids:
        return
    now = tables.utcnow()
    connection.execute(
        _INSERT, [{'provider_id': p, 'at': now} for p in sorted(set(provider_ids))]
    )
    if random.randrange(PRUNE_ONE_IN) == 0:
        prune(connection)


def prune(connection: sa.Connection, kept: int = KEPT) -> None:
    """Remove all but the newest entries, of which at least one stays."""
    newest = connection.scalar(sa.select(sa.func.max(feed.c.id)))
    if newest is not None:
        connection.execute(sa.delete(feed).where(feed.c.id <= newest - max(kept, 1)))


def list_since(
    connection: sa.Connection, last: int, gaps: Collection[int] = ()
) -> list[Entry] | None:
    """What was written down after the entry `last`, and into the `gaps` before it, by id.

    None when entries from there on are gone: then others may be that nobody here has read. Ids
    are given out before transactions end, so entries can appear below others seen already.
    """
    rows = connection.execute(_since(last, gaps)).all()
    ids = {entry_id for entry_id, _provider_id in rows}
    if last not in ids or min(ids) > min(gaps, default=last):
        return None
    return [
        (entry_id, provider_id)
        for entry_id, provider_id in rows
        if entry_id > last or entry_id in gaps
    ]


def _since(last: int, gaps: Collection[int]) -> sa.Select[int, int]:
    """Finds the entry `last` itself as well, and where there are gaps the oldest of all."""
    statement = sa.select(feed.c.id, feed.c.provider_id).order_by(feed.c.id)
    if not gaps:
        return statement.where(feed.c.id >= last)
    oldest = feed.c.id == sa.select(sa.func.min(feed.c.id)).scalar_subquery()
    if len(gaps) > MOST_GAPS_NAMED:
        return statement.where(sa.or_(feed.c.id >= min(gaps), oldest))
    return statement.where(sa.or_(feed.c.id >= last, feed.c.id.in_(gaps), oldest))


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
