# SPDX-License-Identifier: Apache-2.0
"""The survey of a cloud: which conditions of a request each tree fails.

The budget may not suffice for all trees. So the most telling trees come first (`telling_trees`),
then one of each structure, then an even sample. Trees with the same failures form one `Outcome`,
and questions about sets of conditions are answered for outcomes. Sets of conditions are integers
with a bit for each condition (`condition`).
"""

import contextlib
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.work import BudgetSpent
from placement_insight.search.condition import ConditionTable
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.telling_trees import telling_trees
from placement_insight.search.tree_states import Elements, TreeState, TreeStates, minimal

Item = TypeVar('Item')

# Number of rounds over blocks or structures. Each round takes an even sample of them.
STRIDE = 16

# Number of trees whose structure is looked up in one step.
TREES_PER_STEP = 8

NOTHING_DROPPED: frozenset[int] = frozenset()


class Outcome:
    """The examined trees whose best providers fail the same conditions, for each provider request.

    The best are those with minimal failures: a provider that fails the conditions of another one,
    and more, is ignored. `root` has the conditions that the roots fail, and `parts` the minimal
    ways to serve each provider request.
    """

    def __init__(self, table: ConditionTable, root: int, parts: Sequence[Elements]) -> None:
        self.table = table
        self.root = root
        self.parts = parts
        self.states: list[TreeState] = []
        self._masks: dict[tuple[int, frozenset[int]], tuple[int, ...]] = {}

    @functools.cached_property
    def size(self) -> int:
        """The number of trees; cached, so `examine` must not be called afterwards."""
        return sum(len(state.trees) for state in self.states)

    @property
    def trees(self) -> list[Tree]:
        """The trees of all its states."""
        return [tree for state in self.states for tree in state.trees]

    def masks(self, group: int, dropped: frozenset[int] = NOTHING_DROPPED) -> tuple[int, ...]:
        """Return the failed conditions of each minimal way to serve a group.

        `dropped` are the numbers of provider requests that are left out.
        """
        requests = self.table.requests_of[group]
        if dropped and dropped.isdisjoint(requests):
            dropped = NOTHING_DROPPED
        key = (group, dropped)
        masks = self._masks.get(key)
        if masks is None:
            parts = [self.parts[number] for number in requests if number not in dropped]
            collected = self.table.groups[group].bits.collected if parts else 0
            masks = self._masks[key] = folded(parts, collected)
        return masks

    def passes(self, group: int, kept: int, dropped: frozenset[int] = NOTHING_DROPPED) -> bool:
        """True if some way to serve a group fails no condition of `kept`."""
        # Called for each outcome and set of conditions: a generator would take longer.
        for mask in self.masks(group, dropped):  # noqa: SIM110
            if not mask & kept:
                return True
        return False

    def fits(self, kept: int, dropped: frozenset[int] = NOTHING_DROPPED) -> bool:
        """True if the root, and some way to serve each group, fail no condition of `kept`."""
        return not self.root & kept and all(
            self.passes(group, kept, dropped) for group in range(len(self.table.groups))
        )

    def unserved(self, group: int, bit: int, kept: int = 0) -> Iterator[int]:
        """Yield the numbers of a group's provider requests that a condition leaves unserved.

        Some provider serves the request under the conditions `kept`, but none under `bit` as well.
        Traits that several providers may bring together are ignored.
        """
        kept &= ~self.table.groups[group].bits.collected
        for number in self.table.requests_of[group]:
            masks = [mask for mask, _ in self.parts[number] if not mask & kept]
            if masks and all(mask & bit for mask in masks):
                yield number

    @functools.cached_property
    def failed(self) -> tuple[int, ...]:
        """The conditions that the best way to serve each group fails.

        The best way has the fewest failures, and among equals those of later conditions: if the
        children of a host have a class that is used up, a root without that class is not worth
        reporting.
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
    """Return the failed conditions of each minimal way to serve several provider requests.

    A trait in `collected` fails only if none of the providers brings it. Empty if one of the
    requests has no provider at all.
    """
    ways: Elements = ((0, 0),)
    for part in parts:
        ways = minimal(
            (mask | other, gained | brought)
            for (mask, gained), (other, brought) in itertools.product(ways, part)
        )
    return tuple([mask | (collected & ~gained) for mask, gained in ways])


def _in_rounds(items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items in rounds, so that a survey that is cut has examined an even sample."""
    for start in range(STRIDE):
        yield from items[start::STRIDE]


class Survey(TreeStates):
    """The examined trees of a snapshot, grouped by the conditions that they fail (`outcomes`).

    The trees in `first`, and the most telling ones, are examined whatever the budget. `examined`
    is the number of examined trees, `tree_count` the number of all trees.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        resolved: ResolvedRequest,
        work: SlicedWork,
        first: Iterable[Tree] = (),
    ) -> None:
        super().__init__(snapshot, resolved, work)
        self.request = resolved.request
        self.totals = resolved.totals
        self.groups_decide = resolved.groups_decide
        self.tree_count = sum(len(block.trees) for block in snapshot.blocks.values())
        self.examined = 0
        self._examined_roots = set[int]()
        self._by_parts: dict[object, Outcome] = {}
        self.examine([*first, *telling_trees(snapshot, resolved)])
        with contextlib.suppress(BudgetSpent):
            self._examine_structures()
            self._examine_evenly()

    @property
    def outcomes(self) -> Collection[Outcome]:
        """The outcomes of all examined trees."""
        return self._by_parts.values()

    @property
    def is_whole(self) -> bool:
        """True if all trees were examined."""
        return self.examined == self.tree_count

    def examine(self, trees: Iterable[Tree]) -> None:
        """Examine these trees, whatever the budget, except those examined before.

        Must not be called after outcomes were used, which cache their results.
        """
        steps, examined = 0, self._examined_roots
        for tree in trees:
            if tree.root_id not in examined:
                examined.add(tree.root_id)
                state = self.state(tree)
                if not state.trees:
                    self._outcome_of(state).states.append(state)
                state.trees.append(tree)
                steps += len(self.table.requests) + len(tree.members) - 1
        self.examined = len(examined)
        self.work.count(steps)

    def _examine_structures(self) -> None:
        """Examine one tree of each structure; its other trees differ in amounts only."""
        structures: dict[Structure, Tree] = {}
        # Finding the structures costs little: separate work, so that it uses none of the budget.
        telling_apart = self.work.part(0)
        for block in self.snapshot.blocks.values():
            telling_apart.count(len(block.trees) // TREES_PER_STEP)
            for tree in block.trees.values():
                structures.setdefault(tree.shape.structure, tree)
        for tree in _in_rounds([*structures.values()]):
            self.examine((tree,))
            self.work.check()

    def _examine_evenly(self) -> None:
        """Examine the trees of all blocks, in rounds."""
        for block in _in_rounds([*self.snapshot.blocks.values()]):
            self.examine(block.trees.values())
            self.work.check()

    def _outcome_of(self, state: TreeState) -> Outcome:
        root = state.arrangement.root
        key = (root, state.parts)
        if key not in self._by_parts:
            self._by_parts[key] = Outcome(self.table, root, state.parts)
        return self._by_parts[key]

    def outcome(self, tree: Tree) -> Outcome:
        """Return the outcome of an examined tree."""
        return self._outcome_of(self.state(tree))

    @functools.cached_property
    def has_large_trees(self) -> bool:
        """True if trees have several providers, or may use sharing providers."""
        return self.snapshot.has_sharing or any(
            len(state.elements) > 1 for outcome in self.outcomes for state in outcome.states
        )

    def trees_passing(self, group: int, kept: int) -> int:
        """Count the trees that can serve a group under the conditions `kept`."""
        return sum(outcome.size for outcome in self.counted() if outcome.passes(group, kept))

    def fitting(self, kept: int, dropped: frozenset[int] = NOTHING_DROPPED) -> list[Outcome]:
        """Return the outcomes that fit under the conditions `kept`."""
        # A step for each group; `counted` counts the step for the first.
        self.work.spent += len(self.outcomes) * (len(self.table.groups) - 1)
        return [outcome for outcome in self.counted() if outcome.fits(kept, dropped)]

    def counted(self) -> Iterator[Outcome]:
        """Yield every outcome, one step each, with pauses, even beyond the budget."""
        return self.work.counted([*self.outcomes])
