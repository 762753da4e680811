# SPDX-License-Identifier: Apache-2.0
"""What the cloud of the demonstration consists of, as plain values."""

from __future__ import annotations

import dataclasses
import functools
import uuid
from collections.abc import Mapping, Sequence

from placement.search.model.capacity import Capacity

_NAMESPACE = uuid.UUID('6f0b6a2e-3d0f-5b52-9a35-5c1c9b1f4d17')

#: Amounts of resource classes by the uuid of the provider that they are taken from.
Allocations = Mapping[str, Mapping[str, int]]


@functools.cache
def uuid_of(name: str) -> str:
    """The uuid of whatever has this name, the same each time."""
    return str(uuid.uuid5(_NAMESPACE, name))


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """What a provider has of one resource class, as the API names its members."""

    total: int
    reserved: int = 0
    allocation_ratio: float = 1.0
    max_unit: int | None = None

    @property
    def capacity(self) -> int:
        """What may be allocated of it."""
        rule = Capacity(self.total, self.reserved, allocation_ratio=self.allocation_ratio)
        return rule.ceiling

    def body(self) -> dict[str, float]:
        """The members as a request has them."""
        return {
            'total': self.total,
            'reserved': self.reserved,
            'max_unit': self.total if self.max_unit is None else self.max_unit,
            'allocation_ratio': self.allocation_ratio,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider; `aggregates` are names, of which `uuid_of` makes the uuids."""

    name: str
    inventories: Mapping[str, Inventory]
    traits: frozenset[str] = frozenset()
    aggregates: tuple[str, ...] = ()
    parent: Provider | None = None

    @property
    def uuid(self) -> str:
        """The uuid of the provider, the same each time."""
        return uuid_of(self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A tree of providers; `nodes`, `nics` and `gpus` are those below its root.

    `disk` is the provider that has the disks of its servers: its root, or one that shares.
    """

    root: Provider
    disk: Provider
    nodes: tuple[Provider, ...] = ()
    nics: tuple[Provider, ...] = ()
    gpus: tuple[Provider, ...] = ()

    @property
    def providers(self) -> Sequence[Provider]:
        """All providers of the tree, parents before children."""
        return (self.root, *self.nodes, *self.nics, *self.gpus)


@dataclasses.dataclass(frozen=True, slots=True)
class Consumer:
    """A server, or a migration of one, with what it holds; `type` is None where it has none."""

    name: str
    project: str
    user: str
    type: str | None
    allocations: Allocations

    @property
    def uuid(self) -> str:
        """The uuid of the consumer, the same each time."""
        return uuid_of(self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Cloud:
    """Everything that is to be written.

    `shrunk` are the inventories that providers have in the end, after the consumers came, where
    those differ from the first ones: by the name of the provider.
    """

    providers: Sequence[Provider]
    consumers: Sequence[Consumer]
    shrunk: Mapping[str, Mapping[str, Inventory]]
