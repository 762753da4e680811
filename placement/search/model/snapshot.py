# SPDX-License-Identifier: Apache-2.0
"""The cloud as one search sees it: an immutable value from which a changed one is made cheaply.

Trees lie in blocks of neighbouring ids.  A new snapshot shares all blocks, trees and providers
that did not change with the one before; it costs what changed, plus a shallow copy of the list of
blocks.  Readers hold a snapshot and never see it change, whatever is made of it meanwhile.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from placement.search.model.block import BLOCK_BITS, Block
from placement.search.model.interning import InternPool
from placement.search.model.name_counts import changed_counts, classes_of, traits_of
from placement.search.model.provider import Provider, ProviderFactory, ProviderRow
from placement.search.model.sharded_map import ShardedMap
from placement.search.model.sharing_index import SharingIndex, changed_sharing
from placement.search.model.tree import Tree


class Snapshot:
    """Providers, trees, capacities, usage, traits, aggregates and sharing, at one moment."""

    __slots__ = ('_class_counts', '_ids', '_pool', '_roots', '_sharing', '_trait_counts', 'blocks')

    def __init__(
        self,
        blocks: dict[int, Block],
        ids: ShardedMap[str, int],
        roots: ShardedMap[int, int],
        sharing: SharingIndex,
        trait_counts: Counter[str],
        class_counts: Counter[str],
        pool: InternPool,
    ) -> None:
        # Use `of`, `with_changes` and `with_used`: they keep all of these in step.
        self.blocks = blocks
        self._ids = ids
        self._roots = roots
        self._sharing = sharing
        self._trait_counts = trait_counts
        self._class_counts = class_counts
        self._pool = pool

    @classmethod
    def of(cls, rows: Iterable[ProviderRow]) -> 'Snapshot':
        """A snapshot of exactly these providers."""
        empty = cls({}, ShardedMap(), ShardedMap(), {}, Counter(), Counter(), InternPool())
        return empty.with_changes(rows)

    def with_changes(
        self, changed: Iterable[ProviderRow], removed_ids: Iterable[int] = ()
    ) -> 'Snapshot':
        """A new snapshot in which these rows are new or replace older ones, and those ids are
        gone.

        Where a provider moves to another tree its descendants move too, so their rows have to be
        among the changed ones.  Ids that are not there can be removed.
        """
        after = self._made(changed)
        removed = {one for one in removed_ids if one in self._roots} - after.keys()
        before = {
            provider_id: self.provider(provider_id)
            for provider_id in (*after, *removed)
            if provider_id in self._roots
        }
        return Snapshot(
            self._changed_blocks(before, after),
            self._changed_ids(before, after),
            self._changed_roots(before, after),
            changed_sharing(self._sharing, before, after),
            changed_counts(self._trait_counts, before, after, traits_of),
            changed_counts(self._class_counts, before, after, classes_of),
            self._pool,
        )

    def with_used(self, used: Mapping[int, Mapping[str, int]]) -> 'Snapshot':
        """A new snapshot in which these providers, by id, use so much by class; this one where
        they do already.

        All else is shared, down to the shapes of the trees: who is whose parent, what is offered
        and who shares it do not depend on what is used.  Raises KeyError for an unknown provider.
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
        blocks = dict(self.blocks)
        for number, in_block in trees.items():
            blocks[number] = blocks[number].with_trees(in_block)
        return Snapshot(
            blocks,
            self._ids,
            self._roots,
            self._sharing,
            self._trait_counts,
            self._class_counts,
            self._pool,
        )

    def _made(self, rows: Iterable[ProviderRow]) -> dict[int, Provider]:
        """Records of the rows, which may lie in trees with each other and with providers known.

        Each row is let go before the next is taken: the rows of a cloud are several times as
        large as what is made of them.
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

    def _changed_blocks(
        self, before: dict[int, Provider], after: dict[int, Provider]
    ) -> dict[int, Block]:
        gone = _by_block(before.values())
        come = _by_block(after.values())
        blocks = dict(self.blocks)
        numbers = gone.keys() | come.keys()
        for number in numbers:
            trees = self._changed_trees(gone.get(number, []), come.get(number, []))
            blocks[number] = self.blocks.get(number, Block({})).with_trees(trees)
            if not blocks[number].trees:
                del blocks[number]
        # Replacing keeps the order; only a new number may come out of turn.
        return blocks if numbers <= self.blocks.keys() else dict(sorted(blocks.items()))

    def _changed_trees(
        self, before: list[Provider], after: list[Provider]
    ) -> dict[int, Tree | None]:
        """Every tree that some providers left or joined; None for those that nobody is in."""
        members: dict[int, dict[int, Provider]] = {}
        for provider in before:
            if provider.root_id not in members:
                members[provider.root_id] = self._members(provider.root_id)
            members[provider.root_id].pop(provider.id)
        for provider in after:
            root_id = provider.root_id
            of_tree = members.get(root_id)
            if of_tree is None:
                of_tree = members[root_id] = self._members(root_id)
            of_tree[provider.id] = provider
        return {
            root_id: Tree.of(root_id, providers.values(), self._pool) if providers else None
            for root_id, providers in members.items()
        }

    def _members(self, root_id: int) -> dict[int, Provider]:
        block = self.blocks.get(root_id >> BLOCK_BITS)
        if block is None or root_id not in block.trees:
            return {}
        return {member.id: member for member in block.trees[root_id].members}

    def _changed_ids(
        self, before: dict[int, Provider], after: dict[int, Provider]
    ) -> ShardedMap[str, int]:
        # Claims change neither uuids nor trees, so most changes need no copy here and below.
        old = {provider.uuid: provider.id for provider in before.values()}
        new = {provider.uuid: provider.id for provider in after.values()}
        return self._ids if old == new else self._ids.with_changes(old.keys() - new.keys(), new)

    def _changed_roots(
        self, before: dict[int, Provider], after: dict[int, Provider]
    ) -> ShardedMap[int, int]:
        old = {provider.id: provider.root_id for provider in before.values()}
        new = {provider.id: provider.root_id for provider in after.values()}
        return (
            self._roots if old == new else self._roots.with_changes(old.keys() - new.keys(), new)
        )

    def __len__(self) -> int:
        return len(self._roots)

    def __iter__(self) -> Iterator[Provider]:
        """Every provider, tree by tree."""
        for block in self.blocks.values():
            for tree in block.trees.values():
                yield from tree.members

    def __eq__(self, other: object) -> bool:
        """Whether both say the same of every provider.  Compares everything: not for haste."""
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self.rows() == other.rows() and self._sharing == other._sharing

    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> dict[int, ProviderRow]:
        """Plain values of every provider, by id."""
        return {provider.id: provider.as_row() for provider in self}

    def provider(self, provider_id: int) -> Provider:
        """The provider with this id.  Raises KeyError when there is none."""
        return self.tree(self._roots[provider_id]).member(provider_id)

    def has_provider(self, provider_id: int) -> bool:
        """Whether there is a provider with this id."""
        return provider_id in self._roots

    def find_by_uuid(self, uuid: str) -> Provider | None:
        """The provider with this uuid, exactly as spelled."""
        provider_id = self._ids.get(uuid)
        return None if provider_id is None else self.provider(provider_id)

    def has_trait(self, name: str) -> bool:
        """Whether any provider has this trait."""
        return self._trait_counts[name] > 0

    def has_class(self, name: str) -> bool:
        """Whether any provider has inventory of this class."""
        return self._class_counts[name] > 0

    @property
    def has_sharing(self) -> bool:
        """Whether there is any sharing provider."""
        return bool(self._sharing)

    @property
    def sharing_providers(self) -> Iterator[Provider]:
        """Every sharing provider, by id."""
        ids = {one for sharing in self._sharing.values() for one in sharing}
        return (self.provider(provider_id) for provider_id in sorted(ids))

    def tree(self, root_id: int) -> Tree:
        """The tree with this root.  Raises KeyError when there is none."""
        return self.blocks[root_id >> BLOCK_BITS].trees[root_id]

    def has_sharing_in(self, aggregates: Iterable[str]) -> bool:
        """Whether a sharing provider is in any of these aggregates."""
        return any(aggregate in self._sharing for aggregate in aggregates)

    def sharing_with(self, aggregates: Iterable[str]) -> list[Provider]:
        """The sharing providers that are in at least one of these aggregates, by id."""
        ids = {one for aggregate in aggregates for one in self._sharing.get(aggregate, ())}
        return [self.provider(provider_id) for provider_id in sorted(ids)]


def _by_block(providers: Iterable[Provider]) -> dict[int, list[Provider]]:
    """Providers by the number of the block their tree lies in."""
    blocks: dict[int, list[Provider]] = {}
    for provider in providers:
        blocks.setdefault(provider.root_id >> BLOCK_BITS, []).append(provider)
    return blocks
