# SPDX-License-Identifier: Apache-2.0
"""Audit checksums compare a snapshot with the tables without loading them.

Each checksum is a sum over providers, weighted by provider. So the checksums change with every row
that a search can see, and with everything that moves from one provider to another. They are
computed modulo a prime, so that sums over millions of rows fit into 64 bits.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from placement.db.schema.tables import (
    allocations,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.statements.providers import PARENT, ROOT, TREE
from placement.db.statements.text_hash import hash_of, text_hash

if TYPE_CHECKING:
    from placement.search.model.kind import ProviderKind
    from placement.search.model.snapshot import Snapshot

# By subject, such as ('trait', name). Zeros are left out.
Checksums = Mapping[tuple[Any, ...], int]
Sums = collections.Counter[tuple[Any, ...]]

# The product of two numbers below this prime fits into 63 bits. 2**31 - 1 is prime as well, but
# also the largest amount, which would then count as 0.
PRIME = 2**31 - 19


def checksums_of(snapshot: Snapshot) -> Checksums:
    """The checksums of a snapshot, to compare with `checksums_in` the database."""
    sums: Sums = collections.Counter()
    kinds: collections.Counter[ProviderKind] = collections.Counter()
    for provider in snapshot:
        # Ids below the prime have different weights, because 5 does not divide `PRIME - 1`. They
        # are unevenly spaced, so opposite moves between neighbours do not cancel out.
        weight = pow(provider.id, 5, PRIME)
        kinds[provider.kind] += weight
        sums['providers',] += weight
        sums['uuids',] += weight * hash_of(provider.uuid)
        sums['parents',] += weight * (provider.parent_id or 0)
        sums['roots',] += weight * provider.root_id
        for name, used in zip(provider.kind.profile.classes, provider.used, strict=True):
            sums['used', name] += weight * used
    for kind, weight in kinds.items():
        _add_kind(sums, kind, weight)
    return _reduced(sums)


def _add_kind(sums: Sums, kind: ProviderKind, weight: int) -> None:
    """Add the profile and the capacities of one kind; `weight` is the sum over its providers."""
    for name in kind.profile.traits:
        sums['trait', name] += weight
    for name in kind.profile.aggregates:
        sums['aggregate', name] += weight
    for name, capacity in zip(kind.profile.classes, kind.capacities, strict=True):
        units = (capacity.min_unit, capacity.max_unit, capacity.step_size)
        # As text, because NaN does not equal itself.
        sums['inventory', name, *units, str(capacity.allocation_ratio)] += weight
        sums['total', name] += weight * capacity.total
        sums['reserved', name] += weight * capacity.reserved


def checksums_in(connection: sa.Connection) -> Checksums:
    """The checksums of the tables, in five statements."""
    sums: Sums = collections.Counter()
    names = ('providers', 'uuids', 'parents', 'roots')
    for name, total in zip(names, connection.execute(_OF_PROVIDERS).one(), strict=True):
        sums[name,] += int(total)
    for *members, ratio, weight, total, reserved in connection.execute(_OF_INVENTORIES):
        sums['inventory', *members, str(ratio)] += int(weight)
        sums['total', members[0]] += int(total)
        sums['reserved', members[0]] += int(reserved)
    for kind, statement in _BY_NAME.items():
        for name, total in connection.execute(statement):
            sums[kind, name] += int(total)
    return _reduced(sums)


def _reduced(sums: Sums) -> Checksums:
    reduced = {key: total % PRIME for key, total in sums.items()}
    return {key: checksum for key, checksum in reduced.items() if checksum}


def _product(factor: sa.ColumnElement[int], other: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """The product of two numbers, modulo the prime."""
    return (sa.cast(factor, sa.BigInteger) * other) % sa.literal_column(str(PRIME), sa.BigInteger)


_id = resource_providers.c.id
_square = _product(_id, _id)
_weight = _product(_product(_square, _square), _id)


def _sum(expression: sa.ColumnElement[int] | None = None) -> sa.ColumnElement[int]:
    """The sum of the weights of providers, each multiplied by an expression of its row."""
    weighted = _weight if expression is None else _product(_weight, expression)
    return sa.func.coalesce(sa.func.sum(weighted), 0)


def _by_name(
    name: sa.Column[str], total: sa.ColumnElement[int], table: sa.FromClause
) -> sa.Select[str, int]:
    """One sum for each name, without rows of deleted providers."""
    return sa.select(name, total).select_from(table).where(name.is_not(None)).group_by(name)


_OF_PROVIDERS = sa.select(
    _sum(),
    _sum(text_hash(resource_providers.c.uuid)),
    _sum(sa.func.coalesce(PARENT.c.id, 0)),
    _sum(sa.func.coalesce(ROOT.c.id, _id)),
).select_from(TREE)

_inventories = resource_providers.join(
    inventories, inventories.c.resource_provider_id == _id
).join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)

_members = (
    resource_classes.c.name,
    inventories.c.min_unit,
    inventories.c.max_unit,
    inventories.c.step_size,
    inventories.c.allocation_ratio,
)

_OF_INVENTORIES = (
    sa.select(*_members, _sum(), _sum(inventories.c.total), _sum(inventories.c.reserved))
    .select_from(_inventories)
    .group_by(*_members)
)

_BY_NAME = {
    # Allocations of a class without inventory do not affect a search.
    'used': _by_name(
        resource_classes.c.name,
        _sum(allocations.c.used),
        _inventories.join(
            allocations,
            sa.and_(
                allocations.c.resource_provider_id == _id,
                allocations.c.resource_class_id == inventories.c.resource_class_id,
            ),
        ),
    ),
    'trait': _by_name(
        traits.c.name,
        _sum(),
        resource_providers.join(
            resource_provider_traits, resource_provider_traits.c.resource_provider_id == _id
        ).join(traits, traits.c.id == resource_provider_traits.c.trait_id),
    ),
    'aggregate': _by_name(
        placement_aggregates.c.uuid,
        _sum(),
        resource_providers.join(
            resource_provider_aggregates,
            resource_provider_aggregates.c.resource_provider_id == _id,
        ).join(
            placement_aggregates,
            placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
        ),
    ),
}
