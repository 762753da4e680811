# SPDX-License-Identifier: Apache-2.0
"""Clouds as the rows that a search takes, without a database."""

from __future__ import annotations

from collections.abc import Iterator

from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.tests.large_clouds import Cloud


def rows_of(cloud: Cloud) -> Iterator[ProviderRow]:
    """The providers of a cloud with what is used of them; they are numbered in its order."""
    used = dict[tuple[str, str], int]()
    for consumer in cloud.consumers:
        for uuid, held in consumer.allocations.items():
            for name, amount in held.items():
                used[uuid, name] = used.get((uuid, name), 0) + amount
    ids, roots = dict[str | None, int](), dict[str | None, int]()
    for number, one in enumerate(cloud.providers, 1):
        ids[one.uuid] = number
        root = roots[one.uuid] = roots.get(one.parent, number)
        inventories = {
            name: InventoryRow(**of, used=used.get((one.uuid, name), 0))
            for name, of in one.inventories.items()
        }
        yield ProviderRow(
            number, one.uuid, ids.get(one.parent), root, inventories, one.traits, one.aggregates
        )


def snapshot_of(cloud: Cloud) -> Snapshot:
    """The snapshot of a cloud."""
    return Snapshot.of(rows_of(cloud))
