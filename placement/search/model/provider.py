# SPDX-License-Identifier: Apache-2.0
"""One resource provider: its database row, and its record in a snapshot."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from placement.search.model.capacity import Capacity
from placement.search.model.kind import InternPool, Profile, ProviderKind


class InventoryRow(NamedTuple):
    """One inventory row, with the sum of the allocations from it."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2147483647
    step_size: int = 1
    allocation_ratio: float = 1.0
    used: int = 0


_LIMITS = operator.attrgetter(*InventoryRow._fields[:-1])


class ProviderRow(NamedTuple):
    """One provider row, with everything that a search reads of it.

    `inventories` is keyed by the name of the class; its values may be any seven-tuples in the
    order of InventoryRow. A root has no `parent_id`, and its own id as `root_id`.
    """

    id: int
    uuid: str
    parent_id: int | None = None
    root_id: int | None = None
    inventories: Mapping[str, InventoryRow] = {}
    traits: Iterable[str] = ()
    aggregates: Iterable[str] = ()


@dataclasses.dataclass(slots=True, weakref_slot=True, eq=False, repr=False)
class Provider:
    """One provider of a snapshot.

    A change creates a new record, so values derived from a record never become stale.
    """

    id: int
    uuid: str
    parent_id: int | None
    parent_uuid: str | None
    root_id: int
    root_uuid: str
    kind: ProviderKind
    used: tuple[int, ...]

    @property
    def inventories(self) -> Iterable[tuple[str, Capacity, int]]:
        """(class, capacity, used) of every inventory, by name of the class."""
        return zip(self.kind.profile.classes, self.kind.capacities, self.used, strict=True)

    def inventory(self, resource_class: str) -> tuple[Capacity, int]:
        """The capacity and the usage of one class of the provider.

        :raises KeyError: the provider has no inventory of the class
        """
        position = self.kind.profile.position[resource_class]
        return self.kind.capacities[position], self.used[position]

    def may_hold(self, resource_class: str, amount: int) -> bool:
        """True if one consumer may hold the amount of a class, whatever others hold.

        False if the provider has no inventory of the class, even if allocations of it are left.
        """
        position = self.kind.profile.position.get(resource_class)
        return position is not None and not self.kind.capacities[position].unit_refusal(amount)

    @property
    def traits(self) -> frozenset[str]:
        """Every trait of the provider."""
        return self.kind.profile.traits

    @property
    def aggregates(self) -> frozenset[str]:
        """The uuids of the aggregates the provider is a direct member of."""
        return self.kind.profile.aggregates

    def with_relatives(self, parent: Provider | None, root: Provider) -> Provider:
        """This provider with its parent and its root."""
        parent_id, parent_uuid = (parent.id, parent.uuid) if parent else (None, None)
        return Provider(
            self.id, self.uuid, parent_id, parent_uuid, root.id, root.uuid, self.kind, self.used
        )

    def used_after(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """The usage of each class after these amounts are added; negative ones are released."""
        return {name: max(used + amounts.get(name, 0), 0) for name, _, used in self.inventories}

    def with_used(self, amounts: Mapping[str, int]) -> Provider:
        """This provider with other usage by class, 0 where a class is missing.

        The same record if nothing changes.
        """
        used = tuple([amounts.get(name, 0) for name in self.kind.profile.classes])
        if used == self.used:
            return self
        # Not `dataclasses.replace`, which takes three times as long.
        relatives = self.parent_id, self.parent_uuid, self.root_id, self.root_uuid
        return Provider(self.id, self.uuid, *relatives, self.kind, used)

    def as_row(self) -> ProviderRow:
        """The row of this provider, in plain comparable values."""
        inventories = {
            name: InventoryRow._make((*_LIMITS(capacity), used))
            for name, capacity, used in self.inventories
        }
        identity = self.id, self.uuid, self.parent_id, self.root_id
        return ProviderRow(*identity, inventories, self.traits, self.aggregates)

    def __repr__(self) -> str:
        return f'<Provider {self.uuid}>'


class ProviderFactory:
    """Creates providers from rows, without relatives; equal values become one object.

    A factory caches its profiles, because most rows of a cloud have the same names. Usage changes
    too often for the pool, so it is shared only among the providers of one factory.
    """

    __slots__ = ('_pool', '_profiles', '_usages')

    def __init__(self, pool: InternPool) -> None:
        self._pool = pool
        self._profiles: dict[tuple[tuple[str, ...], ...], Profile] = {}
        self._usages: dict[tuple[int, ...], tuple[int, ...]] = {}

    def provider(self, row: ProviderRow) -> Provider:
        """The provider of a row, its own root until `with_relatives`."""
        inventories = row.inventories
        profile = self._profile(tuple(inventories), tuple(row.traits), tuple(row.aggregates))
        in_order = [inventories[name] for name in profile.classes]
        kind = self._kind(profile, tuple([self._capacity(row[:6]) for row in in_order]))
        used = tuple([row[6] for row in in_order])
        used = self._usages.setdefault(used, used)
        return Provider(row.id, row.uuid, row.parent_id, None, root_of(row), row.uuid, kind, used)

    def _profile(
        self, classes: tuple[str, ...], traits: tuple[str, ...], aggregates: tuple[str, ...]
    ) -> Profile:
        """The single profile of these names, in any order."""
        key, pool = (classes, traits, aggregates), self._pool
        profile = self._profiles.get(key)
        if profile is None:
            profile = self._profiles[key] = pool.shared(
                Profile, tuple(sorted(classes)), pool.names(traits), pool.names(aggregates)
            )
        return profile

    def _capacity(self, members: tuple[int, int, int, int, int, float]) -> Capacity:
        """The single capacity with these members."""
        capacity: Capacity | None = self._pool.find(members)
        return self._pool.keep(members, Capacity(*members)) if capacity is None else capacity

    def _kind(self, profile: Profile, capacities: tuple[Capacity, ...]) -> ProviderKind:
        """The single kind of this profile with these capacities."""
        # Capacities of the pool are keyed by id(). A kind keeps its capacities alive, so no other
        # object can get one of these ids while the kind exists.
        pool, key = self._pool, (profile, *map(id, capacities))
        kind: ProviderKind | None = pool.find(key)
        return pool.keep(key, ProviderKind(profile, capacities)) if kind is None else kind


def root_of(row: ProviderRow) -> int:
    """The id of the root of the provider's tree; its own id if the row has none.

    Rows of very old databases may have none. A root shares the int object of its id, which saves
    memory.
    """
    return row.id if row.root_id is None or row.root_id == row.id else row.root_id
