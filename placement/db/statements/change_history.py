# SPDX-License-Identifier: Apache-2.0
"""SQL statements on the history of changes."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.own_tables import change_history
from placement.db.schema.tables import resource_providers

_COLUMNS = change_history.c

# How many rows one statement inserts; a database takes 32,766 values at least.
MAX_ROWS_AT_ONCE = 1_000

# Among how many of the earliest rows since a time the one with the lowest id is looked for.
MAX_OUT_OF_ORDER = 10_000


class Kind(enum.StrEnum):
    """What a row is about."""

    PROVIDER = 'provider'
    CONSUMER = 'consumer'
    RESOURCE_CLASS = 'resource_class'
    TRAIT = 'trait'


class Origin(NamedTuple):
    """The columns that all rows of one request share; `at` is UTC without time zone."""

    at: datetime.datetime
    request_id: str
    global_request_id: str | None
    caller_user_id: str | None
    caller_user_name: str | None
    caller_project_id: str | None
    action: str


class GenerationOf(NamedTuple):
    """The generation that a provider has when the row is inserted, which looks it up."""

    provider_id: int


class Change(NamedTuple):
    """The other columns of a row, but for its id: what became of one thing. `state` is JSON."""

    kind: str
    uuid: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    generation: int | GenerationOf | None = None
    state: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Filters:
    """Conditions on rows, each of which has to be met unless it is None.

    `uuid` goes with `kind`; `since` is UTC without time zone.
    """

    kind: Kind | None = None
    uuid: str | None = None
    request_id: str | None = None
    global_request_id: str | None = None
    since: datetime.datetime | None = None


class Excess(NamedTuple):
    """A range of rows that are to be removed: ids from `start` to below `end`."""

    start: int
    end: int


def insert(connection: sa.Connection, origin: Origin, changes: Sequence[Change]) -> None:
    """Insert a row for each change, up to `MAX_ROWS_AT_ONCE` by one statement.

    The statement is text, since an `Insert` of SQLAlchemy takes half of its time to bring values
    into the order of its parameters, which a claim would feel.
    """
    placeholder = '?' if connection.dialect.name == 'sqlite' else '%s'
    # Every database takes this text, and SQLite, which has no type for times, keeps it as it is:
    # SQLAlchemy reads it.
    common = origin.at.isoformat(' ', 'microseconds'), *origin[1:]
    for start in range(0, len(changes), MAX_ROWS_AT_ONCE):
        some = changes[start : start + MAX_ROWS_AT_ONCE]
        values: list[object] = []
        for change in some:
            values += common
            values += change
            if isinstance(change.generation, GenerationOf):
                values[-2] = change.generation.provider_id
        are_looked_up = tuple([isinstance(change.generation, GenerationOf) for change in some])
        connection.exec_driver_sql(_insert(placeholder, are_looked_up), tuple(values))


# Of as many forms as requests mostly have: a long text takes 56 KB.
@functools.lru_cache(maxsize=32)
def _insert(placeholder: str, are_looked_up: Sequence[bool]) -> str:
    """The statement that inserts rows, some of which look up the generation of a provider."""
    columns = (*Origin._fields, *Change._fields)
    generation = f'(SELECT generation FROM {resource_providers.name} WHERE id = {placeholder})'
    rows = []
    for is_looked_up in are_looked_up:
        values = dict.fromkeys(columns, placeholder)
        if is_looked_up:
            values['generation'] = generation
        rows.append(f'({", ".join(values.values())})')
    return f'INSERT INTO {change_history.name} ({", ".join(columns)}) VALUES {", ".join(rows)}'


def list_rows(
    connection: sa.Connection, filters: Filters, before_id: int | None, limit: int
) -> Sequence[Row]:
    """Return the rows that meet every filter, the newest first, from below an id on."""
    conditions = [
        column == value
        for column, value in (
            (_COLUMNS.kind, filters.kind),
            (_COLUMNS.uuid, filters.uuid),
            (_COLUMNS.request_id, filters.request_id),
            (_COLUMNS.global_request_id, filters.global_request_id),
        )
        if value is not None
    ]
    if filters.since is not None:
        if not conditions:
            first = _first_id(connection, filters.since)
            if first is None:
                return []
            conditions.append(_COLUMNS.id >= first)
        conditions.append(_COLUMNS.at >= filters.since)
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
) -> Excess | None:
    """Return the oldest rows that are to be removed, `at_once` ids of them at most, or None.

    They are older than a time, or there are more than `max_rows` newer ones, counted by ids. The
    newest row always stays: MySQL would lock the end of the table with it, where others insert.
    """
    bounds = sa.select(sa.func.min(_COLUMNS.id), sa.func.max(_COLUMNS.id))
    lowest, newest = connection.execute(bounds).one()
    if lowest is None:
        return None
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
    return Excess(lowest, end) if end > lowest else None


def remove(connection: sa.Connection, excess: Excess) -> None:
    """Remove the rows of a range."""
    in_range = sa.and_(_COLUMNS.id >= excess.start, _COLUMNS.id < excess.end)
    connection.execute(sa.delete(change_history).where(in_range))
