# SPDX-License-Identifier: Apache-2.0
"""Rows that the API cannot write: dangling references, circles, missing values, capital letters.

Specification: data_model, "Providers without a tree, and columns without a value".
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.schema.tables import (
    allocations,
    consumers,
    inventories,
    placement_aggregates,
    projects,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
    users,
)

Column = sa.Column[Any]
Statement = sa.Select[Any]

# Maximum number of rows counted of one kind.
MAX_COUNTED = 1_000


class Found(NamedTuple):
    """The number of odd rows of one kind, at most `MAX_COUNTED`, and the lowest example."""

    number: int
    example: str


def _without(shown: Column, column: Column, target: Column) -> Statement:
    """Select rows in which a column has a value that a column of another table lacks."""
    other = target.table.alias()
    exists = sa.select(other.c[target.name]).where(other.c[target.name] == column).exists()
    return sa.select(shown).where(column.is_not(None), ~exists)


def _in_capitals(uuid: Column) -> Statement:
    """Select uuids that are not in lower case."""
    # No collation makes `replace` ignore letter case.
    return sa.select(uuid).where(sa.func.replace(uuid, sa.func.lower(uuid), '') != '')


def _below_themselves() -> Statement:
    """Select the providers that lie in a circle of parents."""
    child, parent = resource_providers.alias(), resource_providers.alias()
    has_child = sa.select(child.c.id).where(child.c.parent_provider_id == _provider_id).exists()
    columns = _provider_id, resource_providers.c.parent_provider_id.label('above')
    first = sa.select(*columns).where(columns[1].is_not(None), has_child)
    upwards = first.cte('upwards', recursive=True)
    next_above = sa.select(upwards.c.id, parent.c.parent_provider_id).where(
        parent.c.id == upwards.c.above, parent.c.parent_provider_id.is_not(None)
    )
    # UNION drops rows that it has, so it ends in a circle too.
    upwards = upwards.union(next_above)
    return sa.select(_provider).where(
        _provider_id == upwards.c.id, upwards.c.id == upwards.c.above
    )


def _of_another_root() -> Statement:
    """Select the providers with another root than their parent."""
    parent = resource_providers.alias()
    return sa.select(_provider).where(
        parent.c.id == resource_providers.c.parent_provider_id,
        parent.c.root_provider_id != resource_providers.c.root_provider_id,
    )


_provider = resource_providers.c.uuid
_provider_id = resource_providers.c.id

#: The rows of each kind, by message. Each looks up every row of one table by a key of another;
#: the one for circles also reads the ancestors of providers that have a parent and children.
STATEMENTS: Mapping[str, Statement] = {
    'providers whose parent does not exist': _without(
        _provider, resource_providers.c.parent_provider_id, _provider_id
    ),
    'providers whose root does not exist': _without(
        _provider, resource_providers.c.root_provider_id, _provider_id
    ),
    'providers without a root': sa.select(_provider).where(
        resource_providers.c.root_provider_id.is_(None)
    ),
    'providers with another root than their parent': _of_another_root(),
    'providers that are below themselves': _below_themselves(),
    'providers without a name': sa.select(_provider).where(resource_providers.c.name.is_(None)),
    'providers without a generation': sa.select(_provider).where(
        resource_providers.c.generation.is_(None)
    ),
    'providers whose uuid has capital letters': _in_capitals(_provider),
    'aggregates without a uuid': sa.select(placement_aggregates.c.id).where(
        placement_aggregates.c.uuid.is_(None)
    ),
    'consumers without a record': _without(
        allocations.c.consumer_id, allocations.c.consumer_id, consumers.c.uuid
    ).distinct(),
    'consumers whose project does not exist': _without(
        consumers.c.uuid, consumers.c.project_id, projects.c.id
    ),
    'consumers whose user does not exist': _without(
        consumers.c.uuid, consumers.c.user_id, users.c.id
    ),
    'consumers whose uuid has capital letters': _in_capitals(consumers.c.uuid),
    'inventories of providers that do not exist': _without(
        inventories.c.id, inventories.c.resource_provider_id, _provider_id
    ),
    'inventories of classes that do not exist': _without(
        inventories.c.id, inventories.c.resource_class_id, resource_classes.c.id
    ),
    'allocations of providers that do not exist': _without(
        allocations.c.id, allocations.c.resource_provider_id, _provider_id
    ),
    'allocations of classes that do not exist': _without(
        allocations.c.id, allocations.c.resource_class_id, resource_classes.c.id
    ),
    'traits of providers that do not exist': _without(
        resource_provider_traits.c.trait_id,
        resource_provider_traits.c.resource_provider_id,
        _provider_id,
    ),
    'associations with traits that do not exist': _without(
        resource_provider_traits.c.trait_id, resource_provider_traits.c.trait_id, traits.c.id
    ),
    'aggregates of providers that do not exist': _without(
        resource_provider_aggregates.c.aggregate_id,
        resource_provider_aggregates.c.resource_provider_id,
        _provider_id,
    ),
    'associations with aggregates that do not exist': _without(
        resource_provider_aggregates.c.aggregate_id,
        resource_provider_aggregates.c.aggregate_id,
        placement_aggregates.c.id,
    ),
}


def count(connection: sa.Connection) -> dict[str, Found]:
    """Return the odd rows by kind; kinds without any are left out."""
    found = {}
    for kind, statement in STATEMENTS.items():
        rows = statement.limit(MAX_COUNTED).subquery()
        shown = rows.c[0]
        number, example = connection.execute(sa.select(sa.func.count(), sa.func.min(shown))).one()
        if number:
            found[kind] = Found(number, str(example))
    return found
