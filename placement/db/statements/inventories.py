# SPDX-License-Identifier: Apache-2.0
"""SQL statements about inventories."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.tables import (
    allocations,
    inventories,
    resource_classes,
    resource_providers,
)
from placement.db.statements import class_ids, names
from placement.db.statements.providers import GENERATION

# The columns that describe an inventory, in the order of the fields of `search.capacity`.
MEMBERS = (
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
)


def _constant(number: float) -> sa.ColumnElement[Any]:
    """Return a number as part of the statement text instead of a parameter."""
    return sa.literal_column(repr(number))


_ZERO, _ONE = _constant(0), _constant(1)

# The API accepts no larger allocation ratio.
_LARGEST_RATIO = _constant(3.5e38)


def _inventories(*columns: sa.ColumnElement[Any]) -> sa.Select[*tuple[Any, ...]]:
    """Select inventories with further columns, in the order of the ids of resource classes."""
    return (
        sa.select(resource_classes.c.name.label('resource_class'), *MEMBERS, *columns)
        .join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
        .order_by(inventories.c.resource_class_id)
    )


_BY_PROVIDER = _inventories(inventories.c.created_at, inventories.c.updated_at).where(
    inventories.c.resource_provider_id == sa.bindparam('provider_id')
)


def list_by_provider(connection: sa.Connection, provider_id: int) -> Sequence[Row]:
    """Return the inventories of a provider, in the order of the ids of resource classes."""
    return connection.execute(_BY_PROVIDER, {'provider_id': provider_id}).all()


def list_providers(connection: sa.Connection, class_id: int) -> Sequence[int]:
    """Return the ids of the providers that have inventory of a class."""
    having = inventories.c.resource_class_id == class_id
    return connection.scalars(sa.select(inventories.c.resource_provider_id).where(having)).all()


def used_of(
    provider_id: sa.ColumnElement[int], class_id: sa.ColumnElement[int] | int
) -> sa.ScalarSelect[int]:
    """Return the sum of the allocations of one class of one provider, as an SQL expression."""
    # Some drivers return a sum as Decimal; with the cast, all of them return an int.
    return (
        sa.select(sa.cast(sa.func.coalesce(sa.func.sum(allocations.c.used), _ZERO), sa.BigInteger))
        .where(
            allocations.c.resource_provider_id == provider_id,
            allocations.c.resource_class_id == class_id,
        )
        .scalar_subquery()
    )


_USED = used_of(inventories.c.resource_provider_id, inventories.c.resource_class_id).label('used')
_WITH_USAGE = _inventories(inventories.c.id, inventories.c.resource_provider_id, _USED).where(
    inventories.c.resource_provider_id.in_(sa.bindparam('provider_ids', expanding=True))
)
_PROVIDER = (resource_providers.c.id, resource_providers.c.uuid, GENERATION)
_OF_PROVIDERS = (
    _inventories(*_PROVIDER, inventories.c.resource_class_id, _USED)
    .join(resource_providers, resource_providers.c.id == inventories.c.resource_provider_id)
    .where(resource_providers.c.uuid.in_(sa.bindparam('uuids', expanding=True)))
)


def list_with_usage(connection: sa.Connection, provider_ids: Collection[int]) -> Sequence[Row]:
    """Return the inventories of providers by their ids, each with the amount `used` of it."""
    return connection.execute(_WITH_USAGE, {'provider_ids': list(provider_ids)}).all()


def list_with_providers(connection: sa.Connection, uuids: Collection[str]) -> Sequence[Row]:
    """Return the inventories of providers by their uuids, each with `id`, `uuid` and `generation`
    of its provider, the id of its class, and the amount `used` of it.
    """
    return connection.execute(_OF_PROVIDERS, {'uuids': list(uuids)}).all()


def fits(amount: sa.ColumnElement[int], used: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Return the condition that an inventory has room for an amount in addition to its usage.

    It is the rule of `search.capacity` in SQL.
    """
    free = inventories.c.total - inventories.c.reserved
    ratio = inventories.c.allocation_ratio
    capacity = sa.case(
        (ratio == _ONE, free),
        # PostgreSQL raises an error when a product overflows.
        (ratio.between(-_LARGEST_RATIO, _LARGEST_RATIO), free * ratio),
        else_=_ZERO,
    )
    # A step size of zero allows any amount; PostgreSQL raises an error for a division by zero.
    remainder = sa.func.coalesce(amount % sa.func.nullif(inventories.c.step_size, _ZERO), _ZERO)
    return sa.and_(
        amount >= inventories.c.min_unit,
        amount <= inventories.c.max_unit,
        remainder == _ZERO,
        used + amount <= capacity,
    )


def has_room(
    provider_id: sa.ColumnElement[int], class_id: int, amount: int
) -> sa.ColumnElement[bool]:
    """Return the condition that a provider itself has room for an amount of a class.

    Sharing providers do not count. The subquery suits lists of every provider of a cloud.
    """
    having = sa.select(inventories.c.resource_provider_id).where(
        inventories.c.resource_class_id == class_id,
        fits(sa.literal(amount), used_of(inventories.c.resource_provider_id, class_id)),
    )
    return provider_id.in_(having)


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert inventories, each a mapping of columns, and standard classes that are missing.

    Custom classes are locked already. The first inventory of one also changes its row in
    `class_ids`.
    """
    if rows:
        ids = {row['resource_class_id'] for row in rows}
        names.ensure_standard_classes(connection, ids)
        class_ids.change(connection, ids)
        connection.execute(sa.insert(inventories), list(rows))


_UPDATE = sa.update(inventories).where(inventories.c.id.in_(sa.bindparam('ids', expanding=True)))


def update(connection: sa.Connection, rows: Mapping[int, Mapping[str, Any]]) -> None:
    """Update inventories, given as mappings of columns by their ids.

    One statement writes all inventories with equal columns: PyMySQL would send one for each.
    """
    ids_by_columns: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for row_id, columns in rows.items():
        ids_by_columns.setdefault(tuple(columns.items()), []).append(row_id)
    for values, ids in ids_by_columns.items():
        connection.execute(_UPDATE, {**dict(values), 'ids': ids})


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Delete inventories by their ids."""
    if ids:
        connection.execute(sa.delete(inventories).where(inventories.c.id.in_(ids)))
