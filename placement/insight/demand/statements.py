# SPDX-License-Identifier: Apache-2.0
"""SQL statements on what was searched for in vain."""

from __future__ import annotations

import collections
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.own_tables import unmet_demand, unmet_searches

# How many request ids are kept of each demand.
MAX_REQUEST_IDS = 20

# How many rows the tables have at most, and how many are removed by one transaction.
MAX_DEMANDS = 10_000
MAX_SEARCHES = 10_000
PRUNED_AT_ONCE = 1_000


class Miss(NamedTuple):
    """One search that found nothing; `at` is UTC without time zone, in whole seconds."""

    fingerprint: str
    global_request_id: str
    request_id: str
    at: datetime.datetime
    microversion: str
    trees: str
    verdict: str
    reason: str


class Demand:
    """Alike searches in vain since the last write; `last` is the last search."""

    def __init__(self, query: str, names_tree: bool, first: Miss) -> None:
        self.query = query
        self.names_tree = names_tree
        self.first_at = first.at
        self.last = first
        self.times = 0
        self.request_ids: collections.deque[str] = collections.deque(maxlen=MAX_REQUEST_IDS)

    def add(self, miss: Miss) -> None:
        """Count one more search."""
        self.last = miss
        self.times += 1
        self._add_ids([miss.global_request_id])

    def merge(self, newer: Demand) -> None:
        """Count the searches of another one for the same, which came later."""
        self.last = newer.last
        self.times += newer.times
        self._add_ids(newer.request_ids)

    def _add_ids(self, request_ids: Iterable[str]) -> None:
        """Append the ids of requests; one request may search several times."""
        for one in request_ids:
            if one in self.request_ids:
                self.request_ids.remove(one)
            self.request_ids.append(one)


def add(
    connection: sa.Connection, demands: Mapping[str, Demand], misses: Collection[Miss]
) -> None:
    """Add what was searched for, by fingerprint, to what is stored, and the searches to the last.

    Four statements. Whoever does this at the same time waits, and all lock in the same order.
    """
    stored = (
        sa.select(unmet_demand.c.id, unmet_demand.c.fingerprint, unmet_demand.c.request_ids)
        .where(unmet_demand.c.fingerprint.in_(demands))
        .order_by(unmet_demand.c.id)
        .with_for_update()
    )
    rows = connection.execute(stored).all()
    known = {row.fingerprint for row in rows}
    if rows:
        _update(connection, {row.id: (row, demands[row.fingerprint]) for row in rows})
    new = [demands[fingerprint] for fingerprint in sorted(demands.keys() - known)]
    if new:
        connection.execute(sa.insert(unmet_demand), [_values(demand) for demand in new])
    if misses:
        connection.execute(sa.insert(unmet_searches), [miss._asdict() for miss in misses])


def _update(connection: sa.Connection, changed: Mapping[int, tuple[Row, Demand]]) -> None:
    columns = unmet_demand.c
    last_at = sa.bindparam('new_last_at', type_=columns.last_at.type)
    statement = (
        sa.update(unmet_demand)
        .where(columns.id == sa.bindparam('of_id'))
        .values(
            times=columns.times + sa.bindparam('more_times'),
            # A worker that had to wait must not make it look older than it is.
            last_at=sa.case((columns.last_at < last_at, last_at), else_=columns.last_at),
            microversion=sa.bindparam('new_microversion'),
            verdict=sa.bindparam('new_verdict'),
            reason=sa.bindparam('new_reason'),
            request_ids=sa.bindparam('new_request_ids'),
        )
    )
    values = [
        {
            'of_id': row_id,
            'more_times': demand.times,
            'new_last_at': demand.last.at,
            'new_microversion': demand.last.microversion,
            'new_verdict': demand.last.verdict,
            'new_reason': demand.last.reason,
            'new_request_ids': _joined([*row.request_ids.split(), *demand.request_ids]),
        }
        for row_id, (row, demand) in changed.items()
    ]
    connection.execute(statement, values)


def _values(demand: Demand) -> dict[str, object]:
    last = demand.last
    return {
        'fingerprint': last.fingerprint,
        'query': demand.query,
        'names_tree': demand.names_tree,
        'microversion': last.microversion,
        'verdict': last.verdict,
        'reason': last.reason,
        'first_at': demand.first_at,
        'last_at': last.at,
        'times': demand.times,
        'request_ids': _joined(list(demand.request_ids)),
    }


def _joined(request_ids: Sequence[str]) -> str:
    """The last of some ids, each where it stands last."""
    last = dict.fromkeys(reversed(request_ids))
    return ' '.join(reversed(list(last)[:MAX_REQUEST_IDS]))


def list_demands(
    connection: sa.Connection,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> Sequence[Row]:
    """Return what was searched for since a time, what came first last, from below an id on."""
    columns = unmet_demand.c
    statement = sa.select(unmet_demand).order_by(columns.id.desc()).limit(limit)
    if since is not None:
        statement = statement.where(columns.last_at >= since)
    if before_id is not None:
        statement = statement.where(columns.id < before_id)
    return connection.execute(statement).all()


def sum_demands(connection: sa.Connection, since: datetime.datetime | None) -> dict[str, int]:
    """Return how often each verdict was, of what was searched for since a time in any tree."""
    columns = unmet_demand.c
    times = sa.cast(sa.func.sum(columns.times), sa.BigInteger)
    statement = (
        sa.select(columns.verdict, times)
        .where(columns.names_tree.is_(sa.false()))
        .group_by(columns.verdict)
    )
    if since is not None:
        statement = statement.where(columns.last_at >= since)
    return dict(connection.execute(statement).all())


def list_searches(
    connection: sa.Connection,
    global_request_id: str,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> Sequence[Row]:
    """Return the searches of a request since a time, the last first, from below an id on.

    Each has the query of its demand besides its own columns.
    """
    columns = unmet_searches.c
    statement = (
        sa.select(unmet_searches, unmet_demand.c.query, unmet_demand.c.names_tree)
        .join(unmet_demand, unmet_demand.c.fingerprint == columns.fingerprint)
        .where(columns.global_request_id == global_request_id)
        .order_by(columns.id.desc())
        .limit(limit)
    )
    if since is not None:
        statement = statement.where(columns.at >= since)
    if before_id is not None:
        statement = statement.where(columns.id < before_id)
    return connection.execute(statement).all()


def prune_searches(connection: sa.Connection) -> int:
    """Remove the oldest searches beyond the number that is kept, by a range of ids.

    Returns how many were removed; 0 when no more have to be.
    """
    column = unmet_searches.c.id
    lowest, newest = connection.execute(sa.select(sa.func.min(column), sa.func.max(column))).one()
    if lowest is None or newest - lowest < MAX_SEARCHES + PRUNED_AT_ONCE:
        return 0
    end = min(lowest + PRUNED_AT_ONCE, newest - MAX_SEARCHES + 1)
    connection.execute(sa.delete(unmet_searches).where(column >= lowest, column < end))
    removed: int = end - lowest
    return removed


def prune_demands(connection: sa.Connection) -> int:
    """Remove what was not searched for for the longest time, beyond the number that is kept.

    Returns how many were removed; 0 when no more have to be.
    """
    columns = unmet_demand.c
    total = connection.scalar(sa.select(sa.func.count(columns.id))) or 0
    if total <= MAX_DEMANDS:
        return 0
    # By one statement, and not by how many there were above: another worker may have removed these
    # meanwhile, and the next ones are to stay.
    newest_first = sa.select(columns.id).order_by(columns.last_at.desc(), columns.id.desc())
    ids = connection.scalars(newest_first.offset(MAX_DEMANDS).limit(PRUNED_AT_ONCE)).all()
    connection.execute(sa.delete(unmet_demand).where(columns.id.in_(sorted(ids))))
    return len(ids)
