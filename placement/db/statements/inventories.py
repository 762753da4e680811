# SPDX-License-Identifier: Apache-2.0
"""Statements about what providers have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import allocations, inventories, resource_classes
from placement.db.statements import collation

# What an inventory says, in the order in which a search takes it.
MEMBERS = (
    inventories.c.total,
    inventories.c.reserved,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
)


def _constant(number: float) -> sa.ColumnElement[Any]:
    """A number that is part of its statement, where a value would be sent with it each time."""
    return sa.literal_column(repr(number))


_ZERO, _ONE = _constant(0), _constant(1)

# No larger one can be written through the API.
_LARGEST_RATIO = _constant(3.5e38)


def _inventories(*columns: sa.ColumnElement[Any]) -> sa.Select[*tuple[Any, ...]]:
    """Inventories with their members and further columns, in the order of the ids of classes."""
    return (
        sa.select(
            inventories.c.id,
            inventories.c.resource_class_id,
            resource_classes.c.name.label('resource_class'),
            *MEMBERS,
            *columns,
        )
        .join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
        .order_by(inventories.c.resource_class_id)
    )


_BY_PROVIDER = _inventories(inventories.c.created_at, inventories.c.updated_at).where(
    inventories.c.resource_provider_id == sa.bindparam('provider_id')
)
_BY_CLASS = _BY_PROVIDER.where(resource_classes.c.name == sa.bindparam('resource_class'))


def list_by_provider(connection: sa.Connection, provider_id: int) -> Sequence[Row]:
    """What a provider has, in the order of the ids of its classes."""
    return connection.execute(_BY_PROVIDER, {'provider_id': provider_id}).all()


def find(connection: sa.Connection, provider_id: int, resource_class: str) -> Row | None:
    """What a provider has of one class."""
    row = connection.execute(
        _BY_CLASS, {'provider_id': provider_id, 'resource_class': resource_class}
    ).one_or_none()
    return collation.exactly(row, 'resource_class', resource_class)


def used_of(
    provider_id: sa.ColumnElement[int],
    class_id: sa.ColumnElement[int] | int,
    *conditions: sa.ColumnElement[bool],
) -> sa.ScalarSelect[int]:
    """The sum of what is taken of one class of one provider, as an integer."""
    # Sums are Decimal on some engines; the cast makes them plain integers on all.
    return (
        sa.select(sa.cast(sa.func.coalesce(sa.func.sum(allocations.c.used), _ZERO), sa.BigInteger))
        .where(
            allocations.c.resource_provider_id == provider_id,
            allocations.c.resource_class_id == class_id,
            *conditions,
        )
        .scalar_subquery()
    )


def _with_usage(*columns: sa.ColumnElement[int]) -> sa.Select[*tuple[Any, ...]]:
    used = used_of(inventories.c.resource_provider_id, inventories.c.resource_class_id)
    return _inventories(inventories.c.resource_provider_id, used.label('used'), *columns).where(
        inventories.c.resource_provider_id.in_(sa.bindparam('provider_ids', expanding=True))
    )


_WITH_USAGE = _with_usage()
_WITH_USAGE_AND_HELD = _with_usage(
    used_of(
        inventories.c.resource_provider_id,
        inventories.c.resource_class_id,
        allocations.c.consumer_id.in_(sa.bindparam('leaving', expanding=True)),
    ).label('held')
)


def list_with_usage(
    connection: sa.Connection,
    provider_ids: Collection[int],
    leaving: Collection[str] = (),
) -> Sequence[Row]:
    """What providers have, with what is `used` of it.

    Where there are consumers `leaving`, also with what is `held` by them of that.
    """
    parameters: dict[str, list[Any]] = {'provider_ids': list(provider_ids)}
    if not leaving:
        return connection.execute(_WITH_USAGE, parameters).all()
    return connection.execute(_WITH_USAGE_AND_HELD, parameters | {'leaving': list(leaving)}).all()


def fits(
    amount: sa.ColumnElement[int], used: sa.ColumnElement[int], doubt: float = 0
) -> sa.ColumnElement[bool]:
    """A condition: an inventory can take an amount beside what is used of it.

    The rule of `search.capacity`, said in SQL. With a `doubt` it holds only where that part of the
    capacity is left over, or where there is nothing to doubt because the ratio is one.
    """
    free = inventories.c.total - inventories.c.reserved
    ratio = inventories.c.allocation_ratio
    capacity = sa.case(
        (ratio == _ONE, free),
        # Beyond, products may be, which PostgreSQL says is an error.
        (ratio.between(-_LARGEST_RATIO, _LARGEST_RATIO), free * ratio * _constant(1 - doubt)),
        else_=_ZERO,
    )
    # A step of zero is none; dividing by it is an error for PostgreSQL.
    odd = sa.func.coalesce(amount % sa.func.nullif(inventories.c.step_size, _ZERO), _ZERO)
    return sa.and_(
        amount >= inventories.c.min_unit,
        amount <= inventories.c.max_unit,
        odd == _ZERO,
        used + amount <= capacity,
    )


def has_room(
    provider_id: sa.ColumnElement[int], class_id: int, amount: int
) -> sa.ColumnElement[bool]:
    """A condition: the provider by itself can take an amount of a class.

    It is for lists of providers as long as the cloud.
    """
    having = sa.select(inventories.c.resource_provider_id).where(
        inventories.c.resource_class_id == class_id,
        fits(sa.literal(amount), used_of(inventories.c.resource_provider_id, class_id)),
    )
    return provider_id.in_(having)


def insert(connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert inventories, given as columns."""
    if rows:
        connection.execute(sa.insert(inventories), list(rows))


_UPDATE = sa.update(inventories).where(inventories.c.id.in_(sa.bindparam('ids', expanding=True)))


def update(connection: sa.Connection, rows: Mapping[int, Mapping[str, Any]]) -> None:
    """Replace the members of inventories that are there, given as columns by their ids.

    Those that are to be alike are written by one statement: PyMySQL would send one for each.
    """
    alike: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for row_id, columns in rows.items():
        alike.setdefault(tuple(columns.items()), []).append(row_id)
    for values, ids in alike.items():
        connection.execute(_UPDATE, {**dict(values), 'ids': ids})


def delete(connection: sa.Connection, ids: Collection[int]) -> None:
    """Delete inventories by their ids."""
    if ids:
        connection.execute(sa.delete(inventories).where(inventories.c.id.in_(ids)))


def delete_all(connection: sa.Connection, provider_id: int) -> None:
    """Delete everything a provider has."""
    connection.execute(
        sa.delete(inventories).where(inventories.c.resource_provider_id == provider_id)
    )
