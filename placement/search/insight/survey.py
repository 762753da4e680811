# SPDX-License-Identifier: Apache-2.0
"""One look at every tree, or at as many as the budget allows: who fails which conditions.

Where not all trees can be looked at, those that are lie evenly among all, so that they are a fair
sample. Trees of which the same is true are one `Outcome`, however many they are, and every
question about sets of conditions is asked of outcomes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from placement.search.insight.condition import ConditionTable
from placement.search.insight.sliced_work import SlicedWork
from placement.search.insight.tree_states import Elements, TreeState, TreeStates, least
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent

# Of how many blocks one is looked at in a round.
STRIDE = 16

NOTHING_DROPPED: frozenset[int] = frozenset()


class Outcome:
    """All trees of which each provider request fails the same: at least one.

    A provider that fails all that another one fails, and more, makes no difference.
    """

    def __init__(self, table: ConditionTable, root: int, parts: Sequence[Elements]) -> None:
        self.table = table
        self.root = root
        self.parts = parts
        self.states: list[TreeState] = []
        self._masks: dict[tuple[int, frozenset[int]], tuple[int, ...]] = {}

    @functools.cached_property
    def size(self) -> int:
        """The number of trees."""
        return sum(len(state.trees) for state in self.states)

    @property
    def trees(self) -> list[Tree]:
        """The trees themselves."""
        return [tree for state in self.states for tree in state.trees]

    def masks(self, group: int, dropped: frozenset[int] = NOTHING_DROPPED) -> tuple[int, ...]:
        """The least that ways to serve a group fail, when the dropped provider requests, by
        number, are not asked for."""
        requests = self.table.requests_of[group]
        if dropped and dropped.isdisjoint(requests):
            dropped = NOTHING_DROPPED
        key = (group, dropped)
        masks = self._masks.get(key)
        if masks is None:
            parts = [self.parts[number] for number in requests if number not in dropped]
            collected = self.table.groups[group].collected if parts else 0
            masks = self._masks[key] = folded(parts, collected)
        return masks

    def passes(self, group: int, kept: int, dropped: frozenset[int] = NOTHING_DROPPED) -> bool:
        """Tell if some way to serve a group fails none of these conditions."""
        # Asked for each outcome and each set of conditions: a generator would take longer.
        for mask in self.masks(group, dropped):  # noqa: SIM110
            if not mask & kept:
                return True
        return False

    def fits(self, kept: int, dropped: frozenset[int] = NOTHING_DROPPED) -> bool:
        """Tell if every group, and the root, fails none of these conditions."""
        return not self.root & kept and all(
            self.passes(group, kept, dropped) for group in range(len(self.table.groups))
        )

    def unserved(self, group: int, bit: int, kept: int = 0) -> Iterator[int]:
        """The provider requests of a group, by number, that somebody serves under the conditions
        `kept`, and nobody under one more. Traits that several may bring together do not count."""
        kept &= ~self.table.groups[group].collected
        for number in self.table.requests_of[group]:
            masks = [mask for mask, _ in self.parts[number] if not mask & kept]
            if masks and all(mask & bit for mask in masks):
                yield number

    @functools.cached_property
    def failed(self) -> tuple[int, ...]:
        """By group the conditions that the way fails that fails fewest.

        Of several it is the one that fails later conditions: of a host whose children have a
        class, all of it used, nobody wants to be told that the root has none of it.
        """
        failed = []
        for group in range(len(self.table.groups)):
            masks = [mask & self.table.visible for mask in self.masks(group)]
            failed.append(min(masks, key=lambda mask: (mask.bit_count(), -mask), default=0))
        return tuple(failed)

    @property
    def failures(self) -> int:
        """The number of conditions that the trees fail, on the root and in groups."""
        return sum(mask.bit_count() for mask in (self.root, *self.failed))


def folded(parts: Sequence[Elements], collected: int) -> tuple[int, ...]:
    """The least that a way to serve all of these provider requests fails; none where one of them
    has no provider at all."""
    ways: Elements = ((0, 0),)
    for part in parts:
        ways = least(
            (mask | other, gained | brought)
            for (mask, gained), (other, brought) in itertools.product(ways, part)
        )
    return tuple([mask | (collected & ~gained) for mask, gained in ways])


class Survey(TreeStates):
    """The trees of a snapshot by what they fail: `outcomes` hold all that were examined.

    The tree of `first_root` is looked at before all others.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        resolved: ResolvedRequest,
        work: SlicedWork,
        first_root: int | None = None,
    ) -> None:
        super().__init__(snapshot, resolved, work)
        self.request = resolved.request
        self.totals = resolved.totals
        self.groups_decide = resolved.groups_decide
        self.of = sum(len(block.trees) for block in snapshot.blocks.values())
        with contextlib.suppress(BudgetSpent):
            self._examine(first_root)
        self._by_parts: dict[object, Outcome] = {}
        for arrangement in self._arrangements.values():
            for state in arrangement.states.values():
                if state.trees:
                    self._outcome_of(state).states.append(state)
        self.outcomes = list(self._by_parts.values())
        self.examined = sum(outcome.size for outcome in self.outcomes)

    def _examine(self, first_root: int | None) -> None:
        """Look at every block, in rounds that each go through the whole cloud."""
        work, requests = self.work, len(self.table.requests)
        blocks = list(self.snapshot.blocks.values())
        if first_root is not None:
            first = self.snapshot.tree(first_root)
            self.state(first).trees.append(first)
        for block in [block for start in range(STRIDE) for block in blocks[start::STRIDE]]:
            for tree in block.trees.values():
                if tree.root_id == first_root:
                    continue
                self.state(tree).trees.append(tree)
                if len(tree.members) > 1:
                    work.spend(len(tree.members) - 1)
            work.spend(len(block.trees) * requests)

    def _outcome_of(self, state: TreeState) -> Outcome:
        root = state.arrangement.root
        key = (root, state.parts)
        if key not in self._by_parts:
            self._by_parts[key] = Outcome(self.table, root, state.parts)
        return self._by_parts[key]

    def outcome(self, tree: Tree) -> Outcome:
        """The outcome of a tree that was examined."""
        return self._outcome_of(self.state(tree))

    @functools.cached_property
    def has_large_trees(self) -> bool:
        """True where trees are more than one provider, or may use others than their own."""
        return self.snapshot.has_sharing or any(
            len(state.elements) > 1 for outcome in self.outcomes for state in outcome.states
        )

    @functools.cached_property
    def providers(self) -> Counter[Sequence[Elements]]:
        """The number of providers by what they fail as members of their own trees."""
        count: Counter[Sequence[Elements]] = Counter()
        for outcome in self.outcomes:
            for state in outcome.states:
                for elements in state.elements[: len(state.arrangement.needs)]:
                    count[elements] += len(state.trees)
        return count

    def trees_passing(self, group: int, kept: int) -> int:
        """Count the trees that meet these conditions of a group."""
        return sum(outcome.size for outcome in self.outcomes if outcome.passes(group, kept))
