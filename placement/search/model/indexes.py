# SPDX-License-Identifier: Apache-2.0
"""Indexes of a snapshot, derived from the previous ones when providers change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

from placement.search.model.provider import Provider

Key = TypeVar('Key', bound=Hashable)
Value = TypeVar('Value')

# A changed copy copies the list of shards and each shard that has a changed key. For one key among
# 100,000 that is hundreds of times cheaper than a copy of a single dict.
SHARDS = 1024

# The ids of the sharing providers in each aggregate, in ascending order.
SharingIndex = Mapping[str, tuple[int, ...]]


class ShardedMap(Generic[Key, Value]):
    """An immutable mapping; changed copies share all shards without a changed key."""

    __slots__ = ('_shards', '_size')

    def __init__(self, shards: list[Mapping[Key, Value]] | None = None, size: int = 0) -> None:
        # Empty without arguments; `with_changes` creates all others.
        self._shards: list[Mapping[Key, Value]] = shards or [{}] * SHARDS
        self._size = size

    def with_changes(
        self, before: Mapping[Key, Value], after: Mapping[Key, Value]
    ) -> ShardedMap[Key, Value]:
        """A copy in which the entries `after` replace `before`; itself where they are equal."""
        if before == after:
            return self
        shards, copied = list(self._shards), set[int]()

        def shard_of(key: Key) -> dict[Key, Value]:
            number = hash(key) % SHARDS
            if number not in copied:
                copied.add(number)
                shards[number] = dict(shards[number])
            return shards[number]  # type: ignore[return-value]

        for key in before.keys() - after.keys():
            del shard_of(key)[key]
        for key, value in after.items():
            shard_of(key)[key] = value
        changed = sum(len(shards[number]) - len(self._shards[number]) for number in copied)
        return ShardedMap(shards, self._size + changed)

    def get(self, key: Key) -> Value | None:
        """The value of a key, or None."""
        return self._shards[hash(key) % SHARDS].get(key)

    def __getitem__(self, key: Key) -> Value:
        return self._shards[hash(key) % SHARDS][key]

    def __contains__(self, key: Key) -> bool:
        return key in self._shards[hash(key) % SHARDS]

    def __len__(self) -> int:
        return self._size


class Indexes(NamedTuple):
    """Indexes of the providers of a snapshot; empty by default."""

    # Provider ids by uuid.
    ids: ShardedMap[str, int] = ShardedMap()
    # Ids of roots by id of the provider.
    roots: ShardedMap[int, int] = ShardedMap()
    sharing: SharingIndex = {}
    # Number of providers with each class or trait, so that unused names are found at once.
    name_counts: Counter[str] = Counter()

    def with_changes(self, before: Collection[Provider], after: Collection[Provider]) -> Indexes:
        """The indexes after these providers have changed.

        An index without changes is not copied: claims, which are most changes, affect none.
        """
        return Indexes(
            self.ids.with_changes(
                {provider.uuid: provider.id for provider in before},
                {provider.uuid: provider.id for provider in after},
            ),
            self.roots.with_changes(
                {provider.id: provider.root_id for provider in before},
                {provider.id: provider.root_id for provider in after},
            ),
            _changed_sharing(self.sharing, before, after),
            _changed_counts(self.name_counts, before, after),
        )


def _changed_sharing(
    index: SharingIndex, before: Iterable[Provider], after: Iterable[Provider]
) -> SharingIndex:
    """The index after these providers have changed; itself where nothing in it changes."""
    old, new = _by_aggregate(before), _by_aggregate(after)
    if old == new:
        return index
    changed = dict(index)
    for aggregate in old.keys() | new.keys():
        ids = set(changed.pop(aggregate, ())) - old.get(aggregate, set())
        if ids := ids | new.get(aggregate, set()):
            changed[aggregate] = tuple(sorted(ids))
    return changed


def _by_aggregate(providers: Iterable[Provider]) -> dict[str, set[int]]:
    """The ids of the sharing ones among these providers, by aggregate."""
    ids: dict[str, set[int]] = {}
    for provider in providers:
        profile = provider.kind.profile
        for aggregate in profile.aggregates if profile.is_sharing else ():
            ids.setdefault(aggregate, set()).add(provider.id)
    return ids


def _changed_counts(
    counts: Counter[str], before: Iterable[Provider], after: Iterable[Provider]
) -> Counter[str]:
    """The counts after these providers have changed; the same object where none changes."""
    # By profile, of which there are fewer than providers.
    change = Counter(provider.kind.profile for provider in after)
    change.subtract(provider.kind.profile for provider in before)
    by_name: Counter[str] = Counter()
    for profile, providers in change.items():
        for name in (*map(trait_key, profile.traits), *profile.classes) if providers else ():
            by_name[name] += providers
    if not any(by_name.values()):
        return counts
    changed = counts.copy()
    changed.update(by_name)
    # The unary plus drops the names of no provider.
    return +changed


def trait_key(name: str) -> str:
    """The key of a trait in the counts, where a class may have the same name."""
    return f'trait {name}'
