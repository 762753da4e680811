# SPDX-License-Identifier: Apache-2.0
"""One resource provider of a snapshot, and what alike providers share.

A cloud has many providers and few kinds of them: hosts of one hardware type differ in who they are
and in what is used.  So everything else is one shared `Kind`, which saves memory and lets a search
judge a kind once instead of every provider.
"""

import weakref
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from placement.search.model.capacity import Capacity

SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'

Value = TypeVar('Value')


class InventoryRow(NamedTuple):
    """One inventory as it is stored, with the sum of what is allocated from it."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 2147483647
    step_size: int = 1
    allocation_ratio: float = 1.0
    used: int = 0


class ProviderRow(NamedTuple):
    """One provider as it is stored, with all that a search can see of it.

    `inventories` is keyed by the name of the class; its values may be any seven-tuples in the
    order of InventoryRow.  A root's `parent_id` is None and its `root_id` its own id.
    """

    id: int
    uuid: str
    parent_id: int | None = None
    root_id: int | None = None
    inventories: Mapping[str, InventoryRow] = {}
    traits: Iterable[str] = ()
    aggregates: Iterable[str] = ()


class Kind:
    """What providers have in common: inventories without usage, traits, aggregates.

    Compared by identity: a pool makes equal kinds one object.  `position` gives, for each class,
    the place of its capacity and, in a provider, of its usage.
    """

    __slots__ = (
        '__weakref__',
        'aggregates',
        'capacities',
        'classes',
        'is_sharing',
        'position',
        'traits',
    )

    def __init__(
        self,
        classes: tuple[str, ...],
        capacities: tuple[Capacity, ...],
        traits: frozenset[str],
        aggregates: frozenset[str],
    ) -> None:
        self.classes = classes
        self.position = {name: place for place, name in enumerate(classes)}
        self.capacities = capacities
        self.traits = traits
        self.aggregates = aggregates
        self.is_sharing = SHARING_TRAIT in traits and bool(aggregates)

    @property
    def sharing_aggregates(self) -> frozenset[str]:
        """The aggregates through which a provider of this kind shares what it has."""
        return self.aggregates if self.is_sharing else frozenset()


class Provider:
    """One provider.  Never altered: a change makes a new record.

    `rendered` is a blank for whoever shows providers: a text made once from the record may be kept
    there and stays true for as long as the record lives.
    """

    __slots__ = (
        'id',
        'kind',
        'parent_id',
        'parent_uuid',
        'rendered',
        'root_id',
        'root_uuid',
        'used',
        'uuid',
    )

    def __init__(
        self,
        row: ProviderRow,
        parent_uuid: str | None,
        root_uuid: str,
        kind: Kind,
        used: tuple[int, ...],
    ) -> None:
        self.id = row.id
        self.uuid = row.uuid
        self.parent_id = row.parent_id
        self.parent_uuid = parent_uuid
        self.root_id = root_of(row)
        self.root_uuid = root_uuid
        self.kind = kind
        self.used = used
        self.rendered: str | None = None

    @property
    def inventories(self) -> Iterable[tuple[str, Capacity, int]]:
        """(class, capacity, used) of every inventory, by name of the class."""
        return zip(self.kind.classes, self.kind.capacities, self.used, strict=True)

    @property
    def traits(self) -> frozenset[str]:
        """Every trait of the provider."""
        return self.kind.traits

    @property
    def aggregates(self) -> frozenset[str]:
        """The uuids of the aggregates the provider is a direct member of."""
        return self.kind.aggregates

    def with_relatives(self, parent: 'Provider | None', root: 'Provider') -> 'Provider':
        """This provider beneath others, whose ids and uuids it shares with them."""
        parent_id, parent_uuid = (parent.id, parent.uuid) if parent else (None, None)
        row = ProviderRow(self.id, self.uuid, parent_id, root.id)
        return Provider(row, parent_uuid, root.uuid, self.kind, self.used)

    def with_used(self, amounts: Mapping[str, int]) -> 'Provider':
        """This provider when so much is used by class, and nothing of what is not named.

        It is the same record when that is so already.
        """
        used = tuple([amounts.get(name, 0) for name in self.kind.classes])
        if used == self.used:
            return self
        row = ProviderRow(self.id, self.uuid, self.parent_id, self.root_id)
        return Provider(row, self.parent_uuid, self.root_uuid, self.kind, used)

    def as_row(self) -> ProviderRow:
        """The row this record stands for, in plain comparable values."""
        inventories = {
            name: InventoryRow(
                capacity.total,
                capacity.reserved,
                capacity.min_unit,
                capacity.max_unit,
                capacity.step_size,
                capacity.allocation_ratio,
                used,
            )
            for name, capacity, used in self.inventories
        }
        return ProviderRow(
            self.id,
            self.uuid,
            self.parent_id,
            self.root_id,
            inventories,
            self.traits,
            self.aggregates,
        )

    def __repr__(self) -> str:
        return f'<Provider {self.uuid}>'


class Pool:
    """Makes equal values one object, for as long as some snapshot uses them."""

    __slots__ = ('_values',)

    def __init__(self) -> None:
        self._values: weakref.WeakValueDictionary[Hashable, object] = weakref.WeakValueDictionary()

    def shared(self, make: type[Value], *parts: Hashable) -> Value:
        """The one `make(*parts)`."""
        key = (make, parts)
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = make(*parts)
        return value  # type: ignore[return-value]

    def names(self, names: Iterable[str]) -> frozenset[str]:
        """The one set of these names."""
        # A key that held the set itself would keep it for ever.
        return self.shared(frozenset, tuple(sorted(names)))

    def provider(
        self, row: ProviderRow, alike: dict[tuple[int, ...], tuple[int, ...]]
    ) -> Provider:
        """A provider made of a row, as if it were alone, sharing its kind with its like.

        What it uses becomes one with the equal among `alike`, where it is remembered: amounts
        change too often to be kept for longer than it takes to make many providers.
        """
        inventories = sorted(row.inventories.items())
        kind = self.shared(
            Kind,
            tuple([name for name, inventory in inventories]),
            tuple([self.shared(Capacity, *inventory[:6]) for name, inventory in inventories]),
            self.names(row.traits),
            self.names(row.aggregates),
        )
        used = tuple([inventory[6] for name, inventory in inventories])
        return Provider(row, None, row.uuid, kind, alike.setdefault(used, used))


def root_of(row: ProviderRow) -> int:
    """The id of the root of the provider's tree; rows of very old databases may not tell.

    A root's is the very object that is its id: there is no need to hold one number twice.
    """
    return row.id if row.root_id is None or row.root_id == row.id else row.root_id
