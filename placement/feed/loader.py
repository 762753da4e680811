# SPDX-License-Identifier: Apache-2.0
"""Providers read from the tables, as the rows that a `Snapshot` is made of.

A fixed number of statements reads all providers, or some.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, TypeVar

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
from placement.db.statements.inventories import MEMBERS
from placement.search.model.provider import InventoryRow, ProviderRow

# How many rows are fetched at a time when everything is read: a driver that held all of them would
# take more memory than the snapshot that is made of them.
ROWS_AT_A_TIME = 1_000

# Inventories of one provider, by name of the class.
Inventories = tuple[tuple[str, InventoryRow], ...]

Shared = TypeVar('Shared')


class ProviderStatement:
    """A statement about providers, built once for all of them and once for some."""

    def __init__(
        self, statement: sa.Select[*tuple[Any, ...]], provider_id: sa.Column[int]
    ) -> None:
        self._about_all = statement.execution_options(yield_per=ROWS_AT_A_TIME)
        self._about_some = statement.where(
            provider_id.in_(sa.bindparam('provider_ids', expanding=True))
        )

    def execute(
        self, connection: sa.Connection, ids: Collection[int] | None
    ) -> sa.CursorResult[*tuple[Any, ...]]:
        """The rows of all providers; with `ids`, of those only."""
        if ids is None:
            return connection.execute(self._about_all)
        return connection.execute(self._about_some, {'provider_ids': list(ids)})


_PROVIDERS = ProviderStatement(
    sa.select(
        resource_providers.c.id,
        resource_providers.c.uuid,
        resource_providers.c.parent_provider_id,
        resource_providers.c.root_provider_id,
    ),
    resource_providers.c.id,
)
_TRAITS = ProviderStatement(
    sa.select(resource_provider_traits.c.resource_provider_id, traits.c.name).join(
        traits, traits.c.id == resource_provider_traits.c.trait_id
    ),
    resource_provider_traits.c.resource_provider_id,
)
_AGGREGATES = ProviderStatement(
    sa.select(
        resource_provider_aggregates.c.resource_provider_id, placement_aggregates.c.uuid
    ).join(
        placement_aggregates,
        placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
    ),
    resource_provider_aggregates.c.resource_provider_id,
)
_INVENTORIES = ProviderStatement(
    sa.select(
        inventories.c.resource_provider_id,
        inventories.c.resource_class_id,
        resource_classes.c.name,
        *MEMBERS,
    ).join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id),
    inventories.c.resource_provider_id,
)
_USED = ProviderStatement(
    sa.select(
        allocations.c.resource_provider_id,
        allocations.c.resource_class_id,
        sa.cast(sa.func.sum(allocations.c.used), sa.BigInteger),
    ).group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id),
    allocations.c.resource_provider_id,
)


def load_providers(
    connection: sa.Connection, ids: Collection[int] | None = None
) -> Iterator[ProviderRow]:
    """Rows of all providers, or of those among `ids` that exist, in five statements.

    What was read for a provider is let go with its row, and what is equal is one object: drivers
    make new texts and numbers for each row, which would be most of the memory that this takes.
    """
    found = _inventories(connection, ids)
    with_traits = _names_by_provider(_TRAITS.execute(connection, ids))
    with_aggregates = _names_by_provider(_AGGREGATES.execute(connection, ids))
    for provider_id, uuid, parent_id, root_id in _PROVIDERS.execute(connection, ids):
        yield ProviderRow(
            provider_id,
            uuid,
            parent_id,
            root_id,
            dict(found.pop(provider_id, ())),
            with_traits.pop(provider_id, ()),
            with_aggregates.pop(provider_id, ()),
        )


def _names_by_provider(rows: Iterable[sa.Row[*tuple[Any, ...]]]) -> dict[int, list[str]]:
    grouped: dict[int, list[str]] = {}
    names: dict[str, str] = {}
    for provider_id, name in rows:
        grouped.setdefault(provider_id, []).append(names.setdefault(name, name))
    return grouped


def _inventories(connection: sa.Connection, ids: Collection[int] | None) -> dict[int, Inventories]:
    """Inventories by provider, with what is used of them; equal ones are one object."""
    used = {
        (provider_id, class_id): amount
        for provider_id, class_id, amount in _USED.execute(connection, ids)
    }
    found: dict[int, Inventories] = {}
    alike: dict[Any, Any] = {}

    def shared(value: Shared) -> Shared:
        one: Shared = alike.setdefault(value, value)
        return one

    for provider_id, class_id, name, *members in _INVENTORIES.execute(connection, ids):
        inventory = InventoryRow._make((*members, used.pop((provider_id, class_id), 0)))
        named = shared((shared(name), inventory))
        found[provider_id] = shared((*found.get(provider_id, ()), named))
    return found
