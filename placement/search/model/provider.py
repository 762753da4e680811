# SPDX-License-Identifier: Apache-2.0
"""One resource provider: as it is stored, and as a snapshot holds it."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from placement.search.model.capacity import Capacity
from placement.search.model.kind import InternPool, Profile, ProviderKind


class InventoryRow(NamedTuple):
    """One inventory as it is stored, with the sum of what is allocated from it."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2147483647
    step_size: int = 1
    allocation_ratio: float = 1.0
    used: int = 0


_LIMITS = operator.attrgetter(*InventoryRow._fields[:-1])


class ProviderRow(NamedTuple):
    """One provider as it is stored, with all that a search can see of it.

    `inventories` is keyed by the name of the class; its values may be any seven-tuples in the
    order of InventoryRow. A root's `parent_id` is None and its `root_id` its own id.
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
    """One provider. Never altered: a change makes a new record, so what was made of a record
    stays true for as long as it lives.
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
        """The capacity of a class that the provider has, and what is used of it."""
        position = self.kind.profile.position[resource_class]
        return self.kind.capacities[position], self.used[position]

    def may_hold(self, resource_class: str, amount: int) -> bool:
        """Tell if one consumer may hold so much of a class, whatever others hold.

        False of a class that the provider does not have, of which allocations may be left over.
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
        """This provider beneath others, whose ids and uuids it shares with them."""
        parent_id, parent_uuid = (parent.id, parent.uuid) if parent else (None, None)
        return Provider(
            self.id, self.uuid, parent_id, parent_uuid, root.id, root.uuid, self.kind, self.used
        )

    def used_after(self, amounts: Mapping[str, int]) -> dict[str, int]:
        """The usage of each class when these amounts are taken as well, or given back where they
        are below zero."""
        return {name: max(used + amounts.get(name, 0), 0) for name, _, used in self.inventories}

    def with_used(self, amounts: Mapping[str, int]) -> Provider:
        """This provider when so much is used by class, and nothing of what is not named.

        It is the same record when that is so already.
        """
        used = tuple([amounts.get(name, 0) for name in self.kind.profile.classes])
        if used == self.used:
            return self
        # As `dataclasses.replace`, which takes three times as long.
        relatives = self.parent_id, self.parent_uuid, self.root_id, self.root_uuid
        return Provider(self.id, self.uuid, *relatives, self.kind, used)

    def as_row(self) -> ProviderRow:
        """The row this record stands for, in plain comparable values."""
        inventories = {
            name: InventoryRow._make((*_LIMITS(capacity), used))
            for name, capacity, used in self.inventories
        }
        identity = self.id, self.uuid, self.parent_id, self.root_id
        return ProviderRow(*identity, inventories, self.traits, self.aggregates)

    def __repr__(self) -> str:
        return f'<Provider {self.uuid}>'


class ProviderFactory:
    """Makes providers of rows, as if each were alone, in which equal values are one object.

    A factory remembers its profiles: the rows of a cloud ask for the same names again and again.
    Amounts in use change too often to be kept in the pool: they are shared among the providers
    that one factory makes.
    """

    __slots__ = ('_pool', '_profiles', '_usages')

    def __init__(self, pool: InternPool) -> None:
        self._pool = pool
        self._profiles: dict[tuple[tuple[str, ...], ...], Profile] = {}
        self._usages: dict[tuple[int, ...], tuple[int, ...]] = {}

    def provider(self, row: ProviderRow) -> Provider:
        """The provider of a row, which is its own root until `with_relatives` says otherwise."""
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
        """The one profile of these names, in whatever order they are given."""
        key, pool = (classes, traits, aggregates), self._pool
        profile = self._profiles.get(key)
        if profile is None:
            profile = self._profiles[key] = pool.shared(
                Profile, tuple(sorted(classes)), pool.names(traits), pool.names(aggregates)
            )
        return profile

    def _capacity(self, members: tuple[int, int, int, int, int, float]) -> Capacity:
        """The one capacity with these members."""
        capacity: Capacity | None = self._pool.find(members)
        return self._pool.keep(members, Capacity(*members)) if capacity is None else capacity

    def _kind(self, profile: Profile, capacities: tuple[Capacity, ...]) -> ProviderKind:
        """The one kind of this profile with these capacities."""
        # Capacities of the pool are known by their identity, and a kind keeps its own alive: as
        # long as there is a kind for the key, no other capacity has such a number.
        pool, key = self._pool, (profile, *map(id, capacities))
        kind: ProviderKind | None = pool.find(key)
        return pool.keep(key, ProviderKind(profile, capacities)) if kind is None else kind


def root_of(row: ProviderRow) -> int:
    """The id of the root of the provider's tree; rows of very old databases may not tell.

    A root's is the very object that is its id: there is no need to hold one number twice.
    """
    return row.id if row.root_id is None or row.root_id == row.id else row.root_id
