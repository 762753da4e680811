# SPDX-License-Identifier: Apache-2.0
"""The cloud as one search sees it: an immutable value with cheap changed copies.

Trees are grouped in blocks by root id. A new snapshot shares all unchanged blocks, trees and
providers with the previous one, so it costs only the changes and a shallow copy of the mapping of
blocks. A snapshot that a reader holds never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from placement.search.model.block import BLOCK_BITS, Block
from placement.search.model.indexes import Indexes, trait_key
from placement.search.model.kind import InternPool
from placement.search.model.provider import Provider, ProviderFactory, ProviderRow
from placement.search.model.tree import Tree


class Snapshot:
    """Providers, trees, capacities, usage, traits, aggregates and sharing, at one moment."""

    __slots__ = ('_pool', 'blocks', 'indexes')

    def __init__(self, blocks: dict[int, Block], indexes: Indexes, pool: InternPool) -> None:
        # Use `of`, `with_changes` and `with_used`, which keep the members consistent.
        self.blocks = blocks
        self.indexes = indexes
        self._pool = pool

    @classmethod
    def of(cls, rows: Iterable[ProviderRow]) -> Snapshot:
        """A snapshot of exactly these providers."""
        return cls({}, Indexes(), InternPool()).with_changes(rows)

    def with_changes(
        self, changed: Iterable[ProviderRow], removed_ids: Iterable[int] = ()
    ) -> Snapshot:
        """A new snapshot with these rows added or replaced, and these ids removed.

        If a provider moves to another tree, its descendants must be among the rows as well.
        Unknown ids in `removed_ids` are ignored.
        """
        after = self._made(changed)
        ids, known = dict.fromkeys((*after, *removed_ids)), self.indexes.roots
        before = [self.provider(provider_id) for provider_id in ids if provider_id in known]
        gone, come = _by_block(before), _by_block(after.values())
        trees = {
            number: self._changed_trees(gone.get(number, []), come.get(number, []))
            for number in gone.keys() | come.keys()
        }
        indexes = self.indexes.with_changes(before, after.values())
        return Snapshot(self._blocks_with(trees), indexes, self._pool)

    def with_used(self, used: Mapping[int, Mapping[str, int]]) -> Snapshot:
        """A new snapshot with other usage of these providers, by id and class.

        This snapshot if nothing changes. Everything else is shared, down to the shapes of the
        trees: structure, inventories and sharing do not depend on usage.

        :raises KeyError: a provider is unknown
        """
        members: dict[int, dict[int, Provider]] = {}
        for provider_id, amounts in used.items():
            before = self.provider(provider_id)
            after = before.with_used(amounts)
            if after is not before:
                members.setdefault(after.root_id, {})[provider_id] = after
        if not members:
            return self
        trees: dict[int, dict[int, Tree | None]] = {}
        for root_id, changed in members.items():
            tree = self.tree(root_id).with_used(changed)
            trees.setdefault(root_id >> BLOCK_BITS, {})[root_id] = tree
        return Snapshot(self._blocks_with(trees), self.indexes, self._pool)

    def with_own_pool(self) -> Snapshot:
        """The same snapshot with a new pool of shared values, for changed copies in this thread.

        Another thread may be adding to the pool of this snapshot at the same time.
        """
        return Snapshot(self.blocks, self.indexes, InternPool())

    def _made(self, rows: Iterable[ProviderRow]) -> dict[int, Provider]:
        """Records of the rows, by id. Parents and roots are other rows, or in this snapshot.

        Each row is released before the next is read: the rows of a cloud are several times as
        large as the records.
        """
        factory = ProviderFactory(self._pool)
        alone = {row.id: factory.provider(row) for row in rows}

        def relative(provider_id: int) -> Provider:
            return alone.get(provider_id) or self.provider(provider_id)

        return {
            provider.id: provider
            if provider.id == provider.root_id and provider.parent_id is None
            else provider.with_relatives(
                None if provider.parent_id is None else relative(provider.parent_id),
                relative(provider.root_id),
            )
            for provider in alone.values()
        }

    def _blocks_with(self, trees: Mapping[int, dict[int, Tree | None]]) -> dict[int, Block]:
        """The blocks with these trees, by number of the block; None removes a tree."""
        blocks = dict(self.blocks)
        for number, changed in trees.items():
            blocks[number] = self.blocks.get(number, Block({})).with_trees(changed)
            if not blocks[number].trees:
                del blocks[number]
        # Replaced blocks keep their place; only a new number may break the order.
        return blocks if trees.keys() <= self.blocks.keys() else dict(sorted(blocks.items()))

    def _changed_trees(
        self, before: list[Provider], after: list[Provider]
    ) -> dict[int, Tree | None]:
        """The trees that some providers leave or join, by root id; None for an emptied tree."""
        root_ids = {provider.root_id for provider in (*before, *after)}
        members = {root_id: self._members(root_id) for root_id in root_ids}
        for provider in before:
            members[provider.root_id].pop(provider.id)
        for provider in after:
            members[provider.root_id][provider.id] = provider
        return {
            root_id: Tree.of(root_id, providers.values(), self._pool) if providers else None
            for root_id, providers in members.items()
        }

    def _members(self, root_id: int) -> dict[int, Provider]:
        block = self.blocks.get(root_id >> BLOCK_BITS)
        if block is None or root_id not in block.trees:
            return {}
        return {member.id: member for member in block.trees[root_id].members}

    def __len__(self) -> int:
        return len(self.indexes.roots)

    def __iter__(self) -> Iterator[Provider]:
        """Every provider, tree by tree."""
        for tree in self.trees():
            yield from tree.members

    def trees(self) -> Iterator[Tree]:
        """Every tree."""
        for block in self.blocks.values():
            yield from block.trees.values()

    def provider(self, provider_id: int) -> Provider:
        """The provider with this id.

        :raises KeyError: no such provider
        """
        return self.tree(self.indexes.roots[provider_id]).member(provider_id)

    def has_provider(self, provider_id: int) -> bool:
        """True if there is a provider with this id."""
        return provider_id in self.indexes.roots

    def find_by_uuid(self, uuid: str) -> Provider | None:
        """The provider with this uuid, exactly as spelled."""
        provider_id = self.indexes.ids.get(uuid)
        return None if provider_id is None else self.provider(provider_id)

    def find_root(self, uuid: str) -> int | None:
        """The id of the root above the provider with this uuid, exactly as spelled."""
        provider_id = self.indexes.ids.get(uuid)
        return None if provider_id is None else self.indexes.roots[provider_id]

    def has_trait(self, name: str) -> bool:
        """True if any provider has this trait."""
        return self.indexes.name_counts[trait_key(name)] > 0

    def has_class(self, name: str) -> bool:
        """True if any provider has inventory of this class."""
        return self.indexes.name_counts[name] > 0

    @property
    def has_sharing(self) -> bool:
        """True if there is any sharing provider."""
        return bool(self.indexes.sharing)

    @property
    def sharing_providers(self) -> list[Provider]:
        """Every sharing provider, by id."""
        return self.sharing_in(self.indexes.sharing)

    def tree(self, root_id: int) -> Tree:
        """The tree with this root.

        :raises KeyError: no such root
        """
        return self.blocks[root_id >> BLOCK_BITS].trees[root_id]

    def sharing_with(self, tree: Tree) -> list[Provider]:
        """The sharing providers of other trees that can be used with this tree, by id."""
        if not self.indexes.sharing:
            return []
        sharing = self.sharing_in(tree.shape.structure.aggregates)
        return [provider for provider in sharing if provider.root_id != tree.root_id]

    def sharing_in(self, aggregates: Iterable[str]) -> list[Provider]:
        """The sharing providers that are in at least one of these aggregates, by id."""
        sharing = self.indexes.sharing
        ids = set[int]().union(*[sharing.get(aggregate, ()) for aggregate in aggregates])
        return [self.provider(provider_id) for provider_id in sorted(ids)]


def _by_block(providers: Iterable[Provider]) -> dict[int, list[Provider]]:
    """Providers by the number of the block their tree lies in."""
    blocks: dict[int, list[Provider]] = {}
    for provider in providers:
        blocks.setdefault(provider.root_id >> BLOCK_BITS, []).append(provider)
    return blocks
