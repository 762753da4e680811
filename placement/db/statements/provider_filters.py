# SPDX-License-Identifier: Apache-2.0
"""The statements that list providers by filters, for any number of filters.

A few filters of a kind are conditions of one statement. More of them would exceed the depth of
expressions in SQLite, and MariaDB takes seconds to plan thousands of subqueries. So a kind with
many filters has statements of its own, which return the ids of matching providers; their number
and length are linear in the query.
"""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement import errors
from placement.db.rows import Row
from placement.db.schema.tables import (
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.db.schema.tables import resource_providers as providers
from placement.db.statements import collation, inventories, names
from placement.db.statements.providers import GENERATION, NAME, PARENT, ROOT, TREE

# The largest value of an integer column: no provider has room for more.
MAX_AMOUNT = 2**31 - 1

# An id that no trait has; ids begin at 1.
NO_TRAIT = 0

# Maximum number of filters of one kind that are conditions of one statement.
MAX_CONDITIONS = 4

# Maximum number of conditions of a statement whose compiled form is cached. There are few of
# them, so the memory of the cache stays bounded whatever callers combine.
MAX_CACHED_CONDITIONS = 3

# Only the columns of the list, which may have every provider of a cloud, in the order in which
# `http.provider_list` reads them. The time has the type of the driver: SQLite stores texts, which
# sort in the order of time.
_LISTED = sa.select(
    providers.c.uuid,
    NAME,
    GENERATION,
    ROOT.c.uuid.label('root_provider_uuid'),
    PARENT.c.uuid.label('parent_provider_uuid'),
    sa.type_coerce(
        sa.func.coalesce(providers.c.updated_at, providers.c.created_at), sa.String
    ).label('modified_at'),
    providers.c.id,
).select_from(TREE)

_BY_IDS = _LISTED.where(providers.c.id.in_(sa.bindparam('ids', expanding=True))).order_by(
    providers.c.uuid
)

# Pairs of a trait, or of an aggregate, and a provider that has it.
Associated = sa.Select[Any, int]

_WITH_TRAIT: Associated = sa.select(
    resource_provider_traits.c.trait_id, resource_provider_traits.c.resource_provider_id
)
_IN_AGGREGATE: Associated = sa.select(
    placement_aggregates.c.uuid, resource_provider_aggregates.c.resource_provider_id
).join(
    resource_provider_aggregates,
    resource_provider_aggregates.c.aggregate_id == placement_aggregates.c.id,
)


@dataclasses.dataclass(frozen=True, slots=True)
class ProviderFilters:
    """Conditions on providers, by names and uuids; a provider has to meet all of them.

    It needs at least one name of each set in `required_traits` and `member_of`. `resources` are
    amounts by resource class that the provider itself must have room for. `is_root` selects the
    roots of trees only. Without `has_standard_names` only stored names exist.
    """

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    required_traits: Sequence[frozenset[str]] = ()
    forbidden_traits: frozenset[str] = frozenset()
    member_of: Sequence[frozenset[str]] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    is_root: bool = False
    has_standard_names: bool = True


def list_by_ids(connection: sa.Connection, ids: Collection[int]) -> Sequence[Row]:
    """Return the columns of the list for existing providers, by uuid."""
    return connection.execute(_BY_IDS, {'ids': list(ids)}).all()


def list_by_filters(
    connection: sa.Connection,
    filters: ProviderFilters,
    after: str | None = None,
    limit: int | None = None,
) -> Sequence[Row]:
    """Return the columns of the list for the providers that meet every filter.

    With a `limit`, only the first of them by uuid, `after` a uuid.
    :raises errors.TraitNotFound: a trait does not exist
    :raises errors.ResourceClassNotFound: a resource class does not exist
    """
    trait_ids = _trait_ids(connection, filters)
    standard = names.STANDARD_CLASS_IDS if filters.has_standard_names else {}
    class_ids = names.resource_class_ids(connection, filters.resources, False, standard)
    if any(amount > MAX_AMOUNT for amount in filters.resources.values()):
        return []
    conditions = _conditions(filters)
    if filters.forbidden_traits:
        forbidden = [trait_ids[name] for name in filters.forbidden_traits]
        conditions.append(~_has_any(_WITH_TRAIT, forbidden))
    required = [[trait_ids[name] for name in any_of] for any_of in filters.required_traits]
    amounts = [(class_ids[name], amount) for name, amount in filters.resources.items()]
    many: list[set[int]] = []
    _add_groups(connection, _WITH_TRAIT, required, conditions, many)
    _add_groups(connection, _IN_AGGREGATE, filters.member_of, conditions, many)
    _add_amounts(connection, amounts, conditions, many)
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
    if filters.name is not None or filters.uuid is not None:
        rows = [
            row
            for row in rows
            if filters.name in (None, row.name) and filters.uuid in (None, row.uuid)
        ]
    return rows if limit is None else rows[:limit]


def _trait_ids(connection: sa.Connection, filters: ProviderFilters) -> dict[str, int]:
    """Return the ids of all traits of the filters.

    :raises errors.TraitNotFound: a trait does not exist
    """
    mentioned = filters.forbidden_traits.union(*filters.required_traits)
    ids = names.find_ids(connection, names.TRAIT, mentioned)
    if filters.has_standard_names:
        # No provider has a standard trait that a restored database lacks.
        ids |= dict.fromkeys((mentioned - ids.keys()) & names.standard_traits(), NO_TRAIT)
    unknown = sorted(mentioned - ids.keys())
    if unknown:
        raise errors.TraitNotFound(name=', '.join(unknown))
    return ids


def _execute(
    connection: sa.Connection,
    statement: sa.Select[Any],
    conditions: Collection[sa.ColumnElement[bool]],
) -> Sequence[Row]:
    options = {} if len(conditions) <= MAX_CACHED_CONDITIONS else {'compiled_cache': None}
    return connection.execute(statement.where(*conditions), execution_options=options).all()


def _conditions(filters: ProviderFilters) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on providers and aggregates of which there is at most one each."""
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.name is not None:
        conditions.append(providers.c.name == filters.name)
    if filters.uuid is not None:
        conditions.append(providers.c.uuid == filters.uuid)
    if filters.in_tree is not None:
        member = providers.alias('member')
        root = sa.select(member.c.root_provider_id).where(member.c.uuid == filters.in_tree)
        conditions.append(providers.c.root_provider_id == root.scalar_subquery())
    if filters.is_root:
        # Rows of very old databases may have no root.
        root_id = sa.func.coalesce(providers.c.root_provider_id, providers.c.id)
        conditions.append(root_id == providers.c.id)
    if filters.forbidden_aggregates:
        conditions.append(~_has_any(_IN_AGGREGATE, filters.forbidden_aggregates))
    return conditions


def _has_any(associated: Associated, members: Collection[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a provider has any of some traits, or is in any aggregate."""
    member, provider_id = associated.selected_columns
    having = associated.with_only_columns(provider_id, maintain_column_froms=True)
    return providers.c.id.in_(having.where(member.in_(members)))


def _add_groups(
    connection: sa.Connection,
    associated: Associated,
    required: Sequence[Collection[Any]],
    conditions: list[sa.ColumnElement[bool]],
    many: list[set[int]],
) -> None:
    """Add groups to the conditions, or the ids of the providers that have one of each group."""
    groups = list(dict.fromkeys(map(frozenset, required)))
    if len(groups) <= MAX_CONDITIONS:
        conditions.extend(_has_any(associated, group) for group in groups)
        return
    wanted = frozenset(itertools.chain(*groups))
    statement = associated.where(associated.selected_columns[0].in_(wanted))
    rows = connection.execute(statement).all()
    if associated is _IN_AGGREGATE:
        stored = collation.stored_uuids(connection, wanted, {uuid for uuid, _provider in rows})
        groups = [frozenset(stored[uuid] for uuid in group) for group in groups]
    having: dict[Any, set[int]] = collections.defaultdict(set)
    for member, provider_id in rows:
        having[member].add(provider_id)
    any_of = (set[int]().union(*(having[member] for member in group)) for group in groups)
    # Intersected one by one, because all groups together could have too many ids.
    many.append(functools.reduce(set.intersection, any_of))


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
