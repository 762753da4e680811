# SPDX-License-Identifier: Apache-2.0
"""SQL statements on the history of changes, and on the states of providers in its rows."""

import datetime
import enum
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.changes import NameKind, Part
from placement.db.rows import Row
from placement.db.schema.own_tables import change_history
from placement.db.statements import aggregates, clock, inventories, provider_filters, traits
from placement.db.statements.owners import CONSUMER_TYPE, PROJECT, USER, OwnerIds, OwnerNames
from placement_insight.statements import RowPage

_COLUMNS = change_history.c

# Maximum number of seconds that an INSERT waits for a locked table, as by a dump without
# --single-transaction. The request holds locks on its providers meanwhile; after a timeout it is
# repeated without the history.
LOCK_SECONDS = 1

SECONDS_OF_A_DAY = 86_400

# Maximum number of rows of one INSERT: every database accepts 32,766 values.
MAX_ROWS_AT_ONCE = 1_000

# Maximum number of owners in one statement, with three parameters each.
OWNERS_AT_ONCE = 5_000

# Maximum number of subjects in one statement.
SUBJECTS_AT_ONCE = 1_000

# The columns that the ids of an owner refer to.
_NAMED = (PROJECT, USER, CONSUMER_TYPE)
_NAMES = sa.union_all(
    *(
        sa.select(sa.literal_column(str(number)), column.table.c.id, column).where(
            column.table.c.id.in_(sa.bindparam(f'ids_{number}', expanding=True))
        )
        for number, column in enumerate(_NAMED)
    )
)

# Number of earliest rows since a time among which the lowest id is looked for.
MAX_OUT_OF_ORDER = 10_000


class SubjectKind(enum.StrEnum):
    """The subject of a row."""

    PROVIDER = 'provider'
    CONSUMER = 'consumer'
    RESOURCE_CLASS = str(NameKind.RESOURCE_CLASS)
    TRAIT = str(NameKind.TRAIT)
    PROMISE = str(NameKind.PROMISE)


class ChangeOrigin(NamedTuple):
    """The columns that all rows of one request share, except the time."""

    request_id: str
    global_request_id: str | None
    caller_user_id: str | None
    caller_user_name: str | None
    caller_project_id: str | None
    action: str


class ChangeRow(NamedTuple):
    """The other columns of a row, except its id: one subject, and its new state as JSON."""

    kind: str
    uuid: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    generation: int | None = None
    state: str | None = None


def insert(connection: sa.Connection, origin: ChangeOrigin, changes: Sequence[ChangeRow]) -> None:
    """Insert a row for each change, `MAX_ROWS_AT_ONCE` in each statement."""
    columns = (*ChangeOrigin._fields, *ChangeRow._fields)
    for start in range(0, len(changes), MAX_ROWS_AT_ONCE):
        some = changes[start : start + MAX_ROWS_AT_ONCE]
        text = clock.dated_insert(connection, change_history, columns, len(some))
        values = [value for change in some for value in (*origin, *change)]
        _insert_briefly(connection, text, tuple(values))


def _insert_briefly(connection: sa.Connection, text: str, values: tuple[Any, ...]) -> None:
    """Execute an INSERT that waits no longer than `LOCK_SECONDS` for a locked table.

    On PostgreSQL the timeout holds until the transaction ends. MySQL gets it as a hint, which
    covers locks on the table, but not on rows.
    """
    lock = LOCK_SECONDS
    if connection.dialect.name == 'postgresql':
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{lock}s'")
    elif getattr(connection.dialect, 'is_mariadb', False):
        bounds = f'lock_wait_timeout = {lock}, innodb_lock_wait_timeout = {lock}'
        text = f'SET STATEMENT {bounds} FOR {text}'
    elif connection.dialect.name == 'mysql':
        text = text.replace('INSERT', f'INSERT /*+ SET_VAR(lock_wait_timeout = {lock}) */', 1)
    connection.exec_driver_sql(text, values)


def names_of_owners(
    connection: sa.Connection, owners: Collection[OwnerIds]
) -> dict[OwnerIds, OwnerNames]:
    """Return the names of owners by their ids."""
    found: dict[tuple[int, int | None], str] = {}
    listed = list(owners)
    for start in range(0, len(listed), OWNERS_AT_ONCE):
        some = listed[start : start + OWNERS_AT_ONCE]
        ids = {
            f'ids_{number}': {o[number] for o in some} - {None} for number in range(len(_NAMED))
        }
        rows = connection.execute(_NAMES, {name: list(values) for name, values in ids.items()})
        found |= {(number, name_id): name for number, name_id, name in rows}
    return {
        owner: OwnerNames(*(found.get((number, name_id)) for number, name_id in enumerate(owner)))
        for owner in owners
    }


def list_rows(
    connection: sa.Connection, columns: Mapping[str, str], page: RowPage
) -> Sequence[Row]:
    """Return the first rows of a page with these values, the newest first."""
    conditions = [_COLUMNS[name] == value for name, value in columns.items()]
    if page.since is not None and not conditions:
        first = _first_id(connection, page.since)
        if first is None:
            return []
        conditions.append(_COLUMNS.id >= first)
    statement = sa.select(change_history).where(*conditions)
    return connection.execute(page.of(statement, _COLUMNS.id, _COLUMNS.at)).all()


def list_of_subjects(
    connection: sa.Connection, kind: SubjectKind, uuids: Collection[str], limit: int
) -> Sequence[Row]:
    """Return the rows of some subjects, the newest first of each, at most `limit`.

    Of providers, without the rows that have nothing but allocations.
    """
    conditions = [_COLUMNS.kind == str(kind)]
    if kind is SubjectKind.PROVIDER:
        conditions.append(_COLUMNS.action.not_like('allocations.%'))
    listed, rows = sorted(uuids), list[Row]()
    for start in range(0, len(listed), SUBJECTS_AT_ONCE):
        is_asked = _COLUMNS.uuid.in_(listed[start : start + SUBJECTS_AT_ONCE])
        statement = sa.select(change_history).where(is_asked, *conditions)
        newest = statement.order_by(_COLUMNS.id.desc()).limit(limit - len(rows))
        rows += connection.execute(newest).all()
    return rows


def _first_id(connection: sa.Connection, since: datetime.datetime) -> int | None:
    """Return the lowest id of the rows since a time; None if there are none.

    With this bound SQLite does not read the whole table, in the order of ids, for a few rows. Ids
    and times differ slightly in order, since the clocks of nodes do.
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
    connection: sa.Connection, retention_days: int | None, max_rows: int, at_once: int
) -> range:
    """Return the ids of the oldest excess rows, at most `at_once`.

    A row is excess if it is older than `retention_days` by the clock of the database, or if more
    than `max_rows` newer ones exist, counted by ids; with `retention_days` None age does not
    matter. The newest row always stays: deleting it, MySQL would lock the end of the table, where
    others insert.
    """
    bounds = sa.select(sa.func.min(_COLUMNS.id), sa.func.max(_COLUMNS.id))
    lowest, newest = connection.execute(bounds).one()
    if lowest is None:
        return range(0)
    end = lowest
    if retention_days is not None:
        end = _first_young(connection, lowest, retention_days, at_once)
    too_many = min(newest - max_rows + 1, lowest + at_once)
    return range(lowest, min(max(end, too_many), newest))


def _first_young(connection: sa.Connection, lowest: int, retention_days: int, at_once: int) -> int:
    """Return the id of the first row within retention, at most `lowest + at_once`."""
    before = clock.earlier(connection, retention_days * SECONDS_OF_A_DAY)
    young = (
        sa.select(_COLUMNS.id)
        .where(_COLUMNS.id >= lowest, _COLUMNS.id < lowest + at_once, _COLUMNS.at >= before)
        .order_by(_COLUMNS.id)
        .limit(1)
    )
    first = connection.scalar(young)
    return lowest + at_once if first is None else first


def remove(connection: sa.Connection, ids: range) -> None:
    """Remove the rows with the ids of a range."""
    in_range = _COLUMNS.id >= ids.start, _COLUMNS.id < ids.stop
    connection.execute(sa.delete(change_history).where(*in_range))


_PLACE = ('name', 'parent_provider_uuid', 'root_provider_uuid')


class ProviderState(NamedTuple):
    """The state of a provider, of which `state` has the requested parts as the API shows them."""

    uuid: str
    generation: int
    state: dict[str, Any]


def read_states(connection: sa.Connection, parts: Mapping[int, Part]) -> dict[int, ProviderState]:
    """Return the states of providers by id, each with the parts that `parts` names.

    Executes one statement for all providers, one for all inventories, and up to two for each
    provider with traits or aggregates: a request changes those of one provider.
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
