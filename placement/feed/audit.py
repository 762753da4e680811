# SPDX-License-Identifier: Apache-2.0
"""Sums that tell whether a snapshot says what the tables say, without reading the tables again.

They notice every change of one row that a search can see, except that a provider is replaced by
another one with the same id and the same of everything else.
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

if TYPE_CHECKING:
    from placement.search.model.kind import ProviderKind
    from placement.search.model.snapshot import Snapshot

# Sums by what they are about, such as ('trait', name). Those that are zero are left out.
Figures = Mapping[tuple[Any, ...], int]
Sums = collections.Counter[tuple[Any, ...]]

# Sums are weighed by provider, so that what merely moves from one to the other is noticed. The
# modulus keeps sums over millions of rows within 64 bits.
WEIGHTS = 997

_id = resource_providers.c.id
_weight = sa.cast(_id % WEIGHTS + 1, sa.BigInteger)


def figures_of(snapshot: Snapshot) -> Figures:
    """The sums of a snapshot, to be compared with those of the database."""
    sums: Sums = collections.Counter()
    kinds: collections.Counter[ProviderKind] = collections.Counter()
    for provider in snapshot:
        weight = provider.id % WEIGHTS + 1
        kinds[provider.kind] += weight
        sums['providers',] += weight
        sums['parents',] += weight * ((provider.parent_id or 0) % WEIGHTS)
        sums['roots',] += weight * (provider.root_id % WEIGHTS)
        for name, used in zip(provider.kind.classes, provider.used, strict=True):
            sums['used', name] += weight * used
    for kind, weight in kinds.items():
        _add_kind(sums, kind, weight)
    return _without_zeros(sums)


def _add_kind(sums: Sums, kind: ProviderKind, weight: int) -> None:
    """Add what providers of one kind have in common, who weigh so much together."""
    for name in kind.traits:
        sums['trait', name] += weight
    for name in kind.aggregates:
        sums['aggregate', name] += weight
    for name, capacity in zip(kind.classes, kind.capacities, strict=True):
        units = (capacity.min_unit, capacity.max_unit, capacity.step_size)
        # As text, because what is not a number does not even equal itself.
        sums['inventory', name, *units, str(capacity.allocation_ratio)] += weight
        sums['total', name] += weight * capacity.total
        sums['reserved', name] += weight * capacity.reserved


def figures_in(connection: sa.Connection) -> Figures:
    """The sums of the tables, in five statements."""
    sums: Sums = collections.Counter()
    providers, parents, roots = connection.execute(_OF_PROVIDERS).one()
    sums.update({('providers',): int(providers), ('parents',): int(parents)})
    sums['roots',] = int(roots)
    for *members, ratio, weight, total, reserved in connection.execute(_OF_INVENTORIES):
        sums['inventory', *members, str(ratio)] += int(weight)
        sums['total', members[0]] += int(total)
        sums['reserved', members[0]] += int(reserved)
    for kind, statement in _BY_NAME.items():
        for name, figure in connection.execute(statement):
            sums[kind, name] += int(figure)
    return _without_zeros(sums)


def _without_zeros(sums: Sums) -> Figures:
    return {key: figure for key, figure in sums.items() if figure}


def _sum(expression: sa.ColumnElement[int] | None = None) -> sa.ColumnElement[int]:
    weighed = _weight if expression is None else _weight * expression
    return sa.func.coalesce(sa.func.sum(weighed), 0)


def _by_name(
    name: sa.Column[str], figure: sa.ColumnElement[int], table: sa.FromClause
) -> sa.Select[str, int]:
    """One sum for each name; rows of providers that are gone do not count."""
    return sa.select(name, figure).select_from(table).group_by(name)


_OF_PROVIDERS = sa.select(
    _sum(),
    _sum(sa.func.coalesce(resource_providers.c.parent_provider_id, 0) % WEIGHTS),
    _sum(sa.func.coalesce(resource_providers.c.root_provider_id, _id) % WEIGHTS),
)

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
    # What is allocated of a class that a provider has no inventory of cannot be searched for.
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
