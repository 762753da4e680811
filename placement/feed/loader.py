# SPDX-License-Identifier: Apache-2.0
"""Providers read from the tables, as the rows that a `Snapshot` is made of.

A fixed number of statements reads all providers, or some.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

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
Inventories = dict[str, InventoryRow]
NO_INVENTORIES: Inventories = {}


class ProviderStatement:
    """A statement about providers, built once for all of them and once for some."""

    def __init__(
        self, statement: sa.Select[*tuple[Any, ...]], provider_id: sa.Column[int]
    ) -> None:
        self._about_all = statement.execution_options(yield_per=ROWS_AT_A_TIME)
        self._about_some = statement.where(
            provider_id.in_(sa.bindparam('provider_ids', expanding=True))
        )

    def rows(
        self, connection: sa.Connection, ids: Collection[int] | None
    ) -> Iterator[sa.Row[*tuple[Any, ...]]]:
        """The rows of all providers; with `ids`, of those only."""
        if ids is None:
            result = connection.execute(self._about_all)
        else:
            result = connection.execute(self._about_some, {'provider_ids': list(ids)})
        # To ask a result for row after row takes as long as to read the rows.
        return itertools.chain.from_iterable(result.partitions(ROWS_AT_A_TIME))


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

    What was read for a provider is let go with its row, and names and inventories that are equal
    are one object: drivers make new texts and numbers for each row, which would be most of the
    memory that this takes.
    """
    found = _inventories(connection, ids)
    with_traits = _names_by_provider(_TRAITS.rows(connection, ids))
    with_aggregates = _names_by_provider(_AGGREGATES.rows(connection, ids))
    for provider_id, uuid, parent_id, root_id in _PROVIDERS.rows(connection, ids):
        yield ProviderRow(
            provider_id,
            uuid,
            parent_id,
            root_id,
            found.pop(provider_id, NO_INVENTORIES),
            with_traits.pop(provider_id, ()),
            with_aggregates.pop(provider_id, ()),
        )


def _names_by_provider(rows: Iterable[Sequence[Any]]) -> dict[int, list[str]]:
    grouped: dict[int, list[str]] = {}
    names: dict[str, str] = {}
    for provider_id, name in rows:
        name = names.setdefault(name, name)
        of_provider = grouped.get(provider_id)
        if of_provider is None:
            grouped[provider_id] = [name]
        else:
            of_provider.append(name)
    return grouped


def _inventories(connection: sa.Connection, ids: Collection[int] | None) -> dict[int, Inventories]:
    """Inventories by provider, with what is used of them; equal ones are one object."""
    # By class and then by provider: a key of both would be a tuple for each of very many rows.
    used: collections.defaultdict[int, dict[int, int]] = collections.defaultdict(dict)
    for provider_id, class_id, amount in _USED.rows(connection, ids):
        used[class_id][provider_id] = amount
    class_names: dict[int, str] = {}
    found: dict[int, Inventories] = {}
    alike: dict[InventoryRow, InventoryRow] = {}
    for row in _INVENTORIES.rows(connection, ids):
        # As InventoryRow(...), which takes three times as long, for very many rows.
        provider_id, class_id, name, total, reserved, least, most, step, ratio = row
        members = (total, reserved, least, most, step, ratio, used[class_id].pop(provider_id, 0))
        inventory = tuple.__new__(InventoryRow, members)
        inventory = alike.setdefault(inventory, inventory)
        name = class_names.setdefault(class_id, name)
        of_provider = found.get(provider_id)
        if of_provider is None:
            found[provider_id] = {name: inventory}
        else:
            of_provider[name] = inventory
    return found
