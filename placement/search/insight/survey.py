# SPDX-License-Identifier: Apache-2.0
"""One look at every tree, or at as many as the budget allows: who fails what, counted.

Where not all trees can be looked at, those that are lie evenly among all, so that they are a fair
sample.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from placement.search.insight.provider_masks import ProviderKey, ProviderMasks
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_masks import Key, Outcome
from placement.search.model.block import Block
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent

# Of how many blocks one is looked at in a round.
STRIDE = 16


class Survey(ProviderMasks):
    """What was found out about the trees of a snapshot.

    `outcomes` hold all trees that were examined; `providers` count what providers fail, where
    there are trees of more than one, or sharing ones. No more than `max_states` trees are looked
    at that differ in more than who they are, that of `first_root` before all others.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        resolved: ResolvedRequest,
        work: SlicedWork,
        max_states: int | None = None,
        first_root: int | None = None,
    ) -> None:
        super().__init__(snapshot, resolved, work)
        self.of = sum(len(block.trees) for block in snapshot.blocks.values())
        self.has_large_trees = snapshot.has_sharing
        self.providers: Counter[ProviderKey] = Counter()
        self._max_states = max_states
        self._trees: dict[Key, list[Tree]] = {}
        with contextlib.suppress(BudgetSpent):
            self._examine(spread(list(snapshot.blocks.values())), first_root)
        self.examined = sum(map(len, self._trees.values()))
        self.outcomes = [Outcome(self.table, key, trees) for key, trees in self._trees.items()]
        if self.has_large_trees:
            for outcome, key in zip(self.outcomes, self._trees, strict=True):
                if isinstance(key, int):
                    self.providers[outcome.parts] += len(outcome.trees)

    def _examine(self, blocks: Iterable[Block], first_root: int | None) -> None:
        work, most, states = self.work, self._max_states, set[object]()
        trees, requests, flat_key = self._trees, len(self.table.requests), self.flat_key
        has_sharing = self.snapshot.has_sharing
        if first_root is not None:
            tree = self.snapshot.tree(first_root)
            trees[self.key(tree)] = [tree]
        for block in blocks:
            for tree in block.trees.values():
                if most is not None:
                    states.add((tree.shape, tree.usage))
                    if len(states) > most:
                        return
                if tree.root_id == first_root:
                    continue
                # As `key`, written out for what most clouds are made of.
                if has_sharing or len(tree.members) > 1:
                    key = self.key(tree)
                else:
                    key = flat_key(tree)
                if key in trees:
                    trees[key].append(tree)
                else:
                    trees[key] = [tree]
            work.spent += len(block.trees) * requests
            work.check()

    def outcome(self, tree: Tree) -> Outcome:
        """The outcome of a tree that was examined."""
        number = list(self._trees).index(self.key(tree))
        return self.outcomes[number]

    def slots(self, tree: Tree) -> Sequence[Provider]:
        """The members of a tree, and after them the sharing providers it reaches."""
        if not self.has_large_trees:
            return tree.members
        return (*tree.members, *self.sharing_with(tree))

    def key(self, tree: Tree) -> Key:
        """What stands in the way of a tree; what its members fail is counted."""
        if self.is_flat(tree):
            return self.flat_key(tree)
        self.has_large_trees = True
        self.work.spent += (len(tree.members) - 1) * len(self.table.requests)
        key, members = self.large_key(tree)
        self.providers.update(members)
        return key


def spread(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block, in rounds that each go through the whole cloud."""
    for start in range(STRIDE):
        yield from blocks[start::STRIDE]
