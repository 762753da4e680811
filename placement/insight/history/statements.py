# SPDX-License-Identifier: Apache-2.0
"""SQL statements on the history of changes, and the state of a provider that a row has."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from placement.db.engine import timeouts
from placement.db.engine.transactions import Row
from placement.db.schema.own_tables import change_history
from placement.db.statements import aggregates, inventories, provider_filters, traits

if TYPE_CHECKING:
    import sqlalchemy as sa


_COLUMNS = change_history.c

# How long a request waits for a table that is locked, as by a dump without --single-transaction.
# It has locked the providers that it changes, and does without the history after that.
LOCK_SECONDS = 1

# How many rows one statement inserts; a database takes 32,766 values at least.
MAX_ROWS_AT_ONCE = 1_000

# Among how many of the earliest rows since a time the one with the lowest id is looked for.
MAX_OUT_OF_ORDER = 10_000


class SubjectKind(enum.StrEnum):
    """The subject of a row."""

    PROVIDER = 'provider'
    CONSUMER = 'consumer'
    RESOURCE_CLASS = 'resource_class'
    TRAIT = 'trait'


class ChangeOrigin(NamedTuple):
    """The columns that all rows of one request share; `at` is UTC without time zone."""

    at: datetime.datetime
    request_id: str
    global_request_id: str | None
    caller_user_id: str | None
    caller_user_name: str | None
    caller_project_id: str | None
    action: str


class ChangeRow(NamedTuple):
    """The other columns of a row, but for its id: what became of one thing. `state` is JSON."""

    kind: str
    uuid: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    generation: int | None = None
    state: str | None = None


def insert(connection: sa.Connection, origin: ChangeOrigin, changes: Sequence[ChangeRow]) -> None:
    """Insert a row for each change, up to `MAX_ROWS_AT_ONCE` by one statement.

    The statement is text, since an `Insert` of SQLAlchemy takes half of its time to bring values
    into the order of its parameters, which a claim would feel.
    """
    placeholder = '?' if connection.dialect.name == 'sqlite' else '%s'
    columns = (*ChangeOrigin._fields, *ChangeRow._fields)
    row = f'({", ".join(placeholder for _ in columns)})'
    # Every database takes this text, and SQLite, which has no type for times, keeps it as it is:
    # SQLAlchemy reads it.
    common = origin.at.isoformat(' ', 'microseconds'), *origin[1:]
    for start in range(0, len(changes), MAX_ROWS_AT_ONCE):
        some = changes[start : start + MAX_ROWS_AT_ONCE]
        rows = ', '.join([row] * len(some))
        text = f'INSERT INTO {change_history.name} ({", ".join(columns)}) VALUES {rows}'
        values = [value for change in some for value in (*common, *change)]
        timeouts.insert_briefly(connection, text, tuple(values), LOCK_SECONDS)


def list_rows(
    connection: sa.Connection,
    columns: Mapping[str, str],
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> Sequence[Row]:
    """Return the rows with these values since a time, the newest first, from below an id on.

    The time is UTC without time zone.
    """
    conditions = [_COLUMNS[name] == value for name, value in columns.items()]
    if since is not None:
        if not conditions:
            first = _first_id(connection, since)
            if first is None:
                return []
            conditions.append(_COLUMNS.id >= first)
        conditions.append(_COLUMNS.at >= since)
    if before_id is not None:
        conditions.append(_COLUMNS.id < before_id)
    statement = sa.select(change_history).where(*conditions)
    return connection.execute(statement.order_by(_COLUMNS.id.desc()).limit(limit)).all()


def _first_id(connection: sa.Connection, since: datetime.datetime) -> int | None:
    """Return the lowest id of the rows since a time; None if there are none.

    Without it SQLite would read the whole table, in the order of its ids, to find that there are
    few of them. Ids are not quite in the order of times, since the clocks of workers differ.
    """
    earliest = (
        sa.select(_COLUMNS.id)
        .where(_COLUMNS.at >= since)
        .order_by(_COLUMNS.at)
        .limit(MAX_OUT_OF_ORDER)
        .subquery()
    )
    return connection.scalar(sa.select(sa.func.min(earliest.c.id)))


def find_excess(
    connection: sa.Connection, before: datetime.datetime, max_rows: int, at_once: int
) -> range:
    """Return the ids of the oldest rows that are to be removed, `at_once` of them at most.

    They are older than a time, or there are more than `max_rows` newer ones, counted by ids. The
    newest row always stays: MySQL would lock the end of the table with it, where others insert.
    """
    bounds = sa.select(sa.func.min(_COLUMNS.id), sa.func.max(_COLUMNS.id))
    lowest, newest = connection.execute(bounds).one()
    if lowest is None:
        return range(0)
    # The first row that is young enough, among those that this may remove.
    young = (
        sa.select(_COLUMNS.id)
        .where(_COLUMNS.id >= lowest, _COLUMNS.id < lowest + at_once, _COLUMNS.at >= before)
        .order_by(_COLUMNS.id)
        .limit(1)
    )
    first_young = connection.scalar(young)
    of_age = lowest + at_once if first_young is None else first_young
    too_many = min(newest - max_rows + 1, lowest + at_once)
    end = min(max(of_age, too_many), newest)
    return range(lowest, end)


def remove(connection: sa.Connection, ids: range) -> None:
    """Remove the rows with the ids of a range."""
    in_range = _COLUMNS.id >= ids.start, _COLUMNS.id < ids.stop
    connection.execute(sa.delete(change_history).where(*in_range))


class Part(enum.Flag):
    """The parts of a provider beside its generation. PLACE is its name and its tree."""

    NOTHING = 0
    PLACE = enum.auto()
    INVENTORIES = enum.auto()
    TRAITS = enum.auto()
    AGGREGATES = enum.auto()


_PLACE = ('name', 'parent_provider_uuid', 'root_provider_uuid')


class ProviderState(NamedTuple):
    """A provider, with those parts of it that were asked for, in the words of the API."""

    uuid: str
    generation: int
    state: dict[str, Any]


def read_states(connection: sa.Connection, parts: Mapping[int, Part]) -> dict[int, ProviderState]:
    """The providers with some ids, each with the parts that are named beside its id.

    One statement for all providers, one for all inventories, and two for each provider whose
    traits or aggregates are wanted: a request changes those of one.
    """
    states = {}
    for row in provider_filters.list_by_ids(connection, parts.keys()):
        names = _PLACE if Part.PLACE in parts[row.id] else ()
        state = {name: getattr(row, name) for name in names}
        states[row.id] = ProviderState(row.uuid, row.generation, state)
    _add_inventories(connection, parts, states)
    for provider_id, wanted in parts.items():
        if Part.TRAITS in wanted:
            rows = traits.list_by_provider(connection, provider_id)
            states[provider_id].state['traits'] = sorted(row.name for row in rows)
        if Part.AGGREGATES in wanted:
            uuids = sorted(aggregates.list_by_provider(connection, provider_id))
            states[provider_id].state['aggregates'] = uuids
    return states


def _add_inventories(
    connection: sa.Connection, parts: Mapping[int, Part], states: Mapping[int, ProviderState]
) -> None:
    wanted = [provider_id for provider_id, part in parts.items() if Part.INVENTORIES in part]
    if not wanted:
        return
    for provider_id in wanted:
        states[provider_id].state['inventories'] = {}
    for row in inventories.list_with_usage(connection, wanted):
        states[row.resource_provider_id].state['inventories'][row.resource_class] = {
            column.name: getattr(row, column.name) for column in inventories.MEMBERS
        }
