# SPDX-License-Identifier: Apache-2.0
"""The statements that list providers by filters, for any number of filters.

A few filters of a kind are conditions of one statement. More of them would nest its expression
deeper than SQLite allows, and MariaDB takes seconds to plan some thousand subqueries. So each kind
of which there are many has statements of its own, which find the ids of the providers that meet
them; their number and text grow no faster than the query.
"""

import dataclasses
import itertools
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import (
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.db.schema.tables import resource_providers as providers
from placement.db.statements import collation, inventories

# The largest number of filters of one kind that are conditions of one statement.
MAX_CONDITIONS = 4

# Statements with at most so many conditions are cached when they are compiled. There are few of
# them, so the memory of the cache stays bounded whatever callers combine.
MAX_CACHED_CONDITIONS = 3

_root = providers.alias('root_provider')
_parent = providers.alias('parent_provider')

# Only the columns that a list shows, because it may have every provider of a cloud. The time stays
# as the driver returns it: SQLite stores texts, whose order is that of the times. The order of the
# columns is that in which `http.provider_list` reads them.
_LISTED = sa.select(
    providers.c.uuid,
    providers.c.name,
    providers.c.generation,
    _root.c.uuid.label('root_provider_uuid'),
    _parent.c.uuid.label('parent_provider_uuid'),
    sa.type_coerce(
        sa.func.coalesce(providers.c.updated_at, providers.c.created_at), sa.String
    ).label('modified_at'),
    providers.c.id,
).select_from(
    providers.outerjoin(_root, providers.c.root_provider_id == _root.c.id).outerjoin(
        _parent, providers.c.parent_provider_id == _parent.c.id
    )
)

_BY_IDS = _LISTED.where(providers.c.id.in_(sa.bindparam('ids', expanding=True))).order_by(
    providers.c.uuid
)

_WITH_TRAIT = sa.select(
    resource_provider_traits.c.trait_id, resource_provider_traits.c.resource_provider_id
)
_IN_AGGREGATE = sa.select(
    placement_aggregates.c.uuid, resource_provider_aggregates.c.resource_provider_id
).join(
    resource_provider_aggregates,
    resource_provider_aggregates.c.aggregate_id == placement_aggregates.c.id,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a list of providers; a provider has to meet every one.

    `required_traits` has collections of trait ids, `member_of` collections of aggregate uuids: a
    provider has to have at least one of each collection. `amounts` has pairs of the id of a
    resource class and the amount that the provider itself has to have room for.
    """

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    required_traits: Sequence[Collection[int]] = ()
    forbidden_traits: Collection[int] = ()
    member_of: Sequence[Collection[str]] = ()
    forbidden_aggregates: Collection[str] = ()
    amounts: Sequence[tuple[int, int]] = ()


def list_by_filters(connection: sa.Connection, filters: Filters) -> Sequence[Row]:
    """Return the columns that a list shows of the providers that meet every filter."""
    return _list(connection, filters)


def list_page(
    connection: sa.Connection, filters: Filters, after: str | None, limit: int
) -> Sequence[Row]:
    """Return the first `limit` providers that meet every filter, by uuid, after a uuid."""
    return _list(connection, filters, after, limit)[:limit]


def list_by_ids(connection: sa.Connection, ids: Collection[int]) -> Sequence[Row]:
    """Return the columns of the list of those providers that exist, by uuid."""
    return connection.execute(_BY_IDS, {'ids': list(ids)}).all()


def _list(
    connection: sa.Connection, filters: Filters, after: str | None = None, limit: int | None = None
) -> Sequence[Row]:
    conditions = _conditions(filters)
    many: list[set[int]] = []
    _add_traits(connection, filters.required_traits, conditions, many)
    _add_aggregates(connection, filters.member_of, conditions, many)
    _add_amounts(connection, filters.amounts, conditions, many)
    statement = _LISTED
    if limit is not None:
        statement = statement.order_by(providers.c.uuid)
        if after is not None:
            conditions.append(providers.c.uuid > after)
        if not many:
            statement = statement.limit(limit)
    rows = _execute(connection, statement, conditions)
    if many:
        ids = set.intersection(*many)
        rows = [row for row in rows if row.id in ids]
    if filters.name is None and filters.uuid is None:
        return rows
    return [
        row
        for row in rows
        if filters.name in (None, row.name) and filters.uuid in (None, row.uuid)
    ]


def _execute(
    connection: sa.Connection,
    statement: sa.Select[Any],
    conditions: Collection[sa.ColumnElement[bool]],
) -> Sequence[Row]:
    if not conditions:
        # SQLAlchemy keeps the key of a statement in its cache with the statement, and takes
        # 45 microseconds to find that of a new one.
        return connection.execute(statement).all()
    options = {} if len(conditions) <= MAX_CACHED_CONDITIONS else {'compiled_cache': None}
    return connection.execute(statement.where(*conditions), execution_options=options).all()


def _conditions(filters: Filters) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of which there is at most one each."""
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.name is not None:
        conditions.append(providers.c.name == filters.name)
    if filters.uuid is not None:
        conditions.append(providers.c.uuid == filters.uuid)
    if filters.in_tree is not None:
        member = providers.alias('member')
        root = sa.select(member.c.root_provider_id).where(member.c.uuid == filters.in_tree)
        conditions.append(providers.c.root_provider_id == root.scalar_subquery())
    if filters.forbidden_traits:
        conditions.append(~_has_trait(filters.forbidden_traits))
    if filters.forbidden_aggregates:
        conditions.append(~_in_aggregate(filters.forbidden_aggregates))
    return conditions


def _has_trait(trait_ids: Collection[int]) -> sa.ColumnElement[bool]:
    having = _WITH_TRAIT.with_only_columns(resource_provider_traits.c.resource_provider_id)
    return providers.c.id.in_(having.where(resource_provider_traits.c.trait_id.in_(trait_ids)))


def _in_aggregate(uuids: Collection[str]) -> sa.ColumnElement[bool]:
    members = _IN_AGGREGATE.with_only_columns(
        resource_provider_aggregates.c.resource_provider_id, maintain_column_froms=True
    )
    return providers.c.id.in_(members.where(placement_aggregates.c.uuid.in_(uuids)))


def _add_traits(
    connection: sa.Connection,
    required: Sequence[Collection[int]],
    conditions: list[sa.ColumnElement[bool]],
    many: list[set[int]],
) -> None:
    """Add required traits to the conditions, or the ids of the providers that have all."""
    groups = _distinct(required)
    if len(groups) <= MAX_CONDITIONS:
        conditions.extend(_has_trait(group) for group in groups)
        return
    wanted = frozenset(itertools.chain(*groups))
    statement = _WITH_TRAIT.where(resource_provider_traits.c.trait_id.in_(wanted))
    many.append(_in_all(groups, connection.execute(statement)))


def _add_aggregates(
    connection: sa.Connection,
    member_of: Sequence[Collection[str]],
    conditions: list[sa.ColumnElement[bool]],
    many: list[set[int]],
) -> None:
    """Add aggregates to the conditions, or the ids of the providers that are in all."""
    groups = _distinct(member_of)
    if len(groups) <= MAX_CONDITIONS:
        conditions.extend(_in_aggregate(group) for group in groups)
        return
    wanted = frozenset(itertools.chain(*groups))
    statement = _IN_AGGREGATE.where(placement_aggregates.c.uuid.in_(wanted))
    members = connection.execute(statement).all()
    stored = collation.stored_uuids(connection, wanted, {row.uuid for row in members})
    many.append(_in_all([{stored[uuid] for uuid in group} for group in groups], members))


def _add_amounts(
    connection: sa.Connection,
    amounts: Sequence[tuple[int, int]],
    conditions: list[sa.ColumnElement[bool]],
    many: list[set[int]],
) -> None:
    """Add amounts to the conditions, or the ids of the providers that have room for all."""
    rooms = [inventories.has_room(providers.c.id, *amount) for amount in amounts]
    if len(rooms) <= MAX_CONDITIONS:
        conditions.extend(rooms)
        return
    for start in range(0, len(rooms), MAX_CACHED_CONDITIONS):
        part = rooms[start : start + MAX_CACHED_CONDITIONS]
        many.append(set(connection.scalars(sa.select(providers.c.id).where(*part))))


def _distinct(groups: Iterable[Collection[Any]]) -> list[frozenset[Any]]:
    return list(dict.fromkeys(map(frozenset, groups)))


def _in_all(
    groups: Sequence[Collection[Hashable]], associations: Iterable[Sequence[Any]]
) -> set[int]:
    """Return the ids of the providers that have something of every group.

    `associations` are pairs of what groups consist of and the id of a provider that has it.
    """
    numbers: dict[Hashable, list[int]] = {}
    for number, group in enumerate(groups):
        for member in group:
            numbers.setdefault(member, []).append(number)
    met: dict[int, set[int]] = {}
    for member, provider_id in associations:
        met.setdefault(provider_id, set()).update(numbers[member])
    return {provider_id for provider_id, found in met.items() if len(found) == len(groups)}
