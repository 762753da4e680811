# SPDX-License-Identifier: Apache-2.0
"""SQL statements on what was searched for in vain."""

from __future__ import annotations

import collections
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

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
        for request_id in request_ids:
            if request_id in self.request_ids:
                self.request_ids.remove(request_id)
            self.request_ids.append(request_id)


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
        _update(connection, [(row, demands[row.fingerprint]) for row in rows])
    new = [demands[fingerprint] for fingerprint in sorted(demands.keys() - known)]
    if new:
        connection.execute(sa.insert(unmet_demand), [_values(demand) for demand in new])
    if misses:
        connection.execute(sa.insert(unmet_searches), [miss._asdict() for miss in misses])


# What the last search says, in the place of what the row has.
_REPLACED = ('microversion', 'verdict', 'reason', 'request_ids')


def _update(connection: sa.Connection, changed: Iterable[tuple[Row, Demand]]) -> None:
    columns = unmet_demand.c
    last_at = sa.bindparam('new_last_at', type_=columns.last_at.type)
    statement = (
        sa.update(unmet_demand)
        .where(columns.id == sa.bindparam('new_id'))
        .values({name: sa.bindparam(f'new_{name}') for name in _REPLACED})
        .values(
            times=columns.times + sa.bindparam('new_times'),
            # A worker that had to wait must not make it look older than it is.
            last_at=sa.case((columns.last_at < last_at, last_at), else_=columns.last_at),
        )
    )
    values = []
    for row, demand in changed:
        request_ids = _joined([*row.request_ids.split(), *demand.request_ids])
        new = _values(demand) | {'id': row.id, 'request_ids': request_ids}
        values.append(
            {f'new_{name}': new[name] for name in (*_REPLACED, 'id', 'times', 'last_at')}
        )
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


class RowPage(NamedTuple):
    """A page of rows, the last one first: those since a time, from below an id on."""

    since: datetime.datetime | None
    before_id: int | None
    limit: int

    def of(
        self, statement: sa.Select[Any], row_id: sa.Column[int], at: sa.Column[datetime.datetime]
    ) -> sa.Select[Any]:
        """The statement for this page, given the columns with the id and the time of a row."""
        if self.before_id is not None:
            statement = statement.where(row_id < self.before_id)
        return _since(statement, at, self.since).order_by(row_id.desc()).limit(self.limit)


def _since(
    statement: sa.Select[Any], at: sa.Column[datetime.datetime], since: datetime.datetime | None
) -> sa.Select[Any]:
    return statement if since is None else statement.where(at >= since)


def list_demands(connection: sa.Connection, page: RowPage) -> Sequence[Row]:
    """Return what was searched for, what came first last."""
    columns = unmet_demand.c
    return connection.execute(page.of(sa.select(unmet_demand), columns.id, columns.last_at)).all()


def sum_demands(connection: sa.Connection, since: datetime.datetime | None) -> dict[str, int]:
    """Return how often each verdict was, of what was searched for since a time in any tree."""
    columns = unmet_demand.c
    statement = (
        sa.select(columns.verdict, sa.cast(sa.func.sum(columns.times), sa.BigInteger))
        .where(columns.names_tree.is_(sa.false()))
        .group_by(columns.verdict)
    )
    return dict(connection.execute(_since(statement, columns.last_at, since)).all())


def list_searches(
    connection: sa.Connection, global_request_id: str, page: RowPage
) -> Sequence[Row]:
    """Return the searches of a request, each as a demand of one search, with `trees` beside."""
    columns = unmet_searches.c
    statement = (
        sa.select(
            unmet_searches,
            unmet_demand.c.query,
            unmet_demand.c.names_tree,
            columns.at.label('first_at'),
            columns.at.label('last_at'),
            sa.literal(1).label('times'),
            columns.global_request_id.label('request_ids'),
        )
        .join(unmet_demand, unmet_demand.c.fingerprint == columns.fingerprint)
        .where(columns.global_request_id == global_request_id)
    )
    return connection.execute(page.of(statement, columns.id, columns.at)).all()


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
