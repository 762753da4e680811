# SPDX-License-Identifier: Apache-2.0
"""What of a provider a transaction has changed, as it stands at the end of the transaction."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from placement.db.statements import aggregates, inventories, provider_filters, traits

if TYPE_CHECKING:
    import sqlalchemy as sa


class Part(enum.Flag):
    """What of a provider may change, besides its generation. PLACE is its name and its tree."""

    NOTHING = 0
    PLACE = enum.auto()
    INVENTORIES = enum.auto()
    TRAITS = enum.auto()
    AGGREGATES = enum.auto()


class ProviderState(NamedTuple):
    """A provider, with those parts of it that were asked for, in the words of the API."""

    uuid: str
    generation: int
    state: dict[str, Any]


def read(connection: sa.Connection, parts: Mapping[int, Part]) -> dict[int, ProviderState]:
    """The providers with some ids, each with the parts that are named beside its id.

    One statement for all providers, one for all inventories, and two for each provider whose
    traits or aggregates are wanted: a request changes those of one.
    """
    found = {}
    for row in provider_filters.list_by_ids(connection, parts.keys()):
        state = _place(row) if Part.PLACE in parts[row.id] else {}
        found[row.id] = ProviderState(row.uuid, row.generation, state)
    _add_inventories(connection, parts, found)
    for provider_id, wanted in parts.items():
        if Part.TRAITS in wanted:
            names = [row.name for row in traits.list_by_provider(connection, provider_id)]
            found[provider_id].state['traits'] = sorted(names)
        if Part.AGGREGATES in wanted:
            uuids = sorted(aggregates.list_by_provider(connection, provider_id))
            found[provider_id].state['aggregates'] = uuids
    return found


def _place(row: Any) -> dict[str, Any]:
    return {
        'name': row.name,
        'parent_provider_uuid': row.parent_provider_uuid,
        'root_provider_uuid': row.root_provider_uuid,
    }


def _add_inventories(
    connection: sa.Connection, parts: Mapping[int, Part], found: Mapping[int, ProviderState]
) -> None:
    wanted = [one for one, of_it in parts.items() if Part.INVENTORIES in of_it]
    if not wanted:
        return
    for provider_id in wanted:
        found[provider_id].state['inventories'] = {}
    for row in inventories.list_with_usage(connection, wanted):
        found[row.resource_provider_id].state['inventories'][row.resource_class] = {
            column.name: getattr(row, column.name) for column in inventories.MEMBERS
        }
