# SPDX-License-Identifier: Apache-2.0
"""SQL statements on unmet demands and unsuccessful searches."""

from __future__ import annotations

import collections
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.own_tables import unmet_demand, unmet_searches
from placement.db.statements import clock, names
from placement_insight.demand.unknown_names import UnknownName, named_in
from placement_insight.statements import RowPage, with_since

# Maximum number of request ids of a demand.
MAX_REQUEST_IDS = 20

# Maximum number of refused demands whose names are looked up.
MAX_REFUSED = 500

# Maximum number of unknown names that are listed.
MAX_NAMES = 100

# Maximum number of rows of the tables, and of rows removed by one transaction.
MAX_DEMANDS = 10_000
MAX_SEARCHES = 10_000
PRUNED_AT_ONCE = 1_000


class Miss(NamedTuple):
    """One unsuccessful search, `at` seconds on the worker's monotonic clock."""

    fingerprint: str
    global_request_id: str
    request_id: str
    at: float
    microversion: str
    trees: str
    verdict: str
    reason: str


class Demand:
    """The unsuccessful searches with one fingerprint since the last write."""

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
        """Add the later searches of another demand with the same fingerprint."""
        self.last = newer.last
        self.times += newer.times
        self._add_ids(newer.request_ids)

    def _add_ids(self, request_ids: Iterable[str]) -> None:
        """Append the ids of requests; one that is listed already moves to the end."""
        for request_id in request_ids:
            if request_id in self.request_ids:
                self.request_ids.remove(request_id)
            self.request_ids.append(request_id)


class Dates:
    """Converts times of a worker's monotonic clock to those of the database, in UTC.

    `now` is the time of the database at the time `at` of the monotonic clock.
    """

    def __init__(self, now: datetime.datetime, at: float) -> None:
        self._now = now
        self._at = at

    def of(self, at: float) -> datetime.datetime:
        """Return the time of the database, to the second, at a time of the monotonic clock."""
        return self._now - datetime.timedelta(seconds=round(self._at - at))


def add(
    connection: sa.Connection, demands: Mapping[str, Demand], misses: Collection[Miss], at: float
) -> None:
    """Add demands, by fingerprint, to the stored ones, and append their searches.

    `at` is the present time of the monotonic clock. Executes five statements. Concurrent calls
    wait for each other, and lock rows in the same order.
    """
    dates = Dates(clock.read(connection), at)
    stored = (
        sa.select(unmet_demand.c.id, unmet_demand.c.fingerprint, unmet_demand.c.request_ids)
        .where(unmet_demand.c.fingerprint.in_(demands))
        .order_by(unmet_demand.c.id)
        .with_for_update()
    )
    rows = connection.execute(stored).all()
    known = {row.fingerprint for row in rows}
    if rows:
        _update(connection, [(row, demands[row.fingerprint]) for row in rows], dates)
    new = [demands[fingerprint] for fingerprint in sorted(demands.keys() - known)]
    if new:
        connection.execute(sa.insert(unmet_demand), [_values(demand, dates) for demand in new])
    if misses:
        searches = [miss._asdict() | {'at': dates.of(miss.at)} for miss in misses]
        connection.execute(sa.insert(unmet_searches), searches)


# Columns that the last search replaces.
_REPLACED = ('microversion', 'verdict', 'reason', 'request_ids')


def _update(
    connection: sa.Connection, changed: Iterable[tuple[Row, Demand]], dates: Dates
) -> None:
    columns = unmet_demand.c
    last_at = sa.bindparam('new_last_at', type_=columns.last_at.type)
    statement = (
        sa.update(unmet_demand)
        .where(columns.id == sa.bindparam('new_id'))
        .values({name: sa.bindparam(f'new_{name}') for name in _REPLACED})
        .values(
            times=columns.times + sa.bindparam('new_times'),
            # A worker that had to wait must not move the time back.
            last_at=sa.case((columns.last_at < last_at, last_at), else_=columns.last_at),
        )
    )
    values = []
    for row, demand in changed:
        request_ids = _joined([*row.request_ids.split(), *demand.request_ids])
        new = _values(demand, dates) | {'id': row.id, 'request_ids': request_ids}
        values.append(
            {f'new_{name}': new[name] for name in (*_REPLACED, 'id', 'times', 'last_at')}
        )
    connection.execute(statement, values)


def _values(demand: Demand, dates: Dates) -> dict[str, object]:
    last = demand.last
    return {
        'fingerprint': last.fingerprint,
        'query': demand.query,
        'names_tree': demand.names_tree,
        'microversion': last.microversion,
        'verdict': last.verdict,
        'reason': last.reason,
        'first_at': dates.of(demand.first_at),
        'last_at': dates.of(last.at),
        'times': demand.times,
        'request_ids': _joined(list(demand.request_ids)),
    }


def _joined(request_ids: Sequence[str]) -> str:
    """Join the last ids, each at its last position."""
    last = dict.fromkeys(reversed(request_ids))
    return ' '.join(reversed(list(last)[:MAX_REQUEST_IDS]))


def list_demands(connection: sa.Connection, page: RowPage) -> Sequence[Row]:
    """Return a page of demands, the newest first."""
    columns = unmet_demand.c
    return connection.execute(page.of(sa.select(unmet_demand), columns.id, columns.last_at)).all()


def sum_demands(connection: sa.Connection, since: datetime.datetime | None) -> dict[str, int]:
    """Return the number of searches in any tree since a time, by verdict."""
    columns = unmet_demand.c
    statement = (
        sa.select(columns.verdict, sa.cast(sa.func.sum(columns.times), sa.BigInteger))
        .where(columns.names_tree.is_(sa.false()))
        .group_by(columns.verdict)
    )
    return dict(connection.execute(with_since(statement, columns.last_at, since)).all())


def list_refused(connection: sa.Connection, since: datetime.datetime | None) -> Sequence[Row]:
    """Return demands that were refused for unknown names, the last refused first."""
    columns = unmet_demand.c
    refused = sa.select(columns.query, columns.times, columns.last_at).where(
        columns.verdict == 'refused'
    )
    newest = with_since(refused, columns.last_at, since).order_by(columns.last_at.desc())
    return connection.execute(newest.limit(MAX_REFUSED)).all()


def list_unknown(
    connection: sa.Connection, since: datetime.datetime | None
) -> Sequence[UnknownName]:
    """Return at most `MAX_NAMES` names in refused demands that do not exist now."""
    named = named_in(list_refused(connection, since))
    existing = {
        (kind, name)
        for kind, column in (('trait', names.TRAIT), ('resource_class', names.RESOURCE_CLASS))
        for name in names.find_ids(
            connection, column, {one.name for one in named if one.kind == kind}
        )
    }
    return [one for one in named if (one.kind, one.name) not in existing][:MAX_NAMES]


def list_searches(
    connection: sa.Connection, global_request_id: str, page: RowPage
) -> Sequence[Row]:
    """Return the searches of a request in the form of demands, with the additional `trees`."""
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
    """Remove some of the oldest searches beyond `MAX_SEARCHES`, by a range of ids.

    Return the number of removed rows; 0 if no more are excess.
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
    """Remove some of the least recent demands beyond `MAX_DEMANDS`.

    Return the number of removed rows; 0 if no more are excess.
    """
    columns = unmet_demand.c
    total = connection.scalar(sa.select(sa.func.count(columns.id))) or 0
    if total <= MAX_DEMANDS:
        return 0
    # Selected again, not by the count above: another worker may have removed the same rows
    # meanwhile, and the next ones are to stay.
    newest_first = sa.select(columns.id).order_by(columns.last_at.desc(), columns.id.desc())
    ids = connection.scalars(newest_first.offset(MAX_DEMANDS).limit(PRUNED_AT_ONCE)).all()
    connection.execute(sa.delete(unmet_demand).where(columns.id.in_(sorted(ids))))
    return len(ids)
