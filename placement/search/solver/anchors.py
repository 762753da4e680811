# SPDX-License-Identifier: Apache-2.0
"""The trees that a request is laid over, one after the other, as far as somebody asks.

Blocks of trees that have nothing to offer are passed over in one step.  Specification:
allocation_candidates, "Terms of the search", "Limits, order and randomisation".
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence

from placement.search.model.request import Strategy
from placement.search.model.tree import Shape, Stand, Tree
from placement.search.solver.layout import Candidate
from placement.search.solver.plan import Plan
from placement.search.solver.resolved_request import Terms
from placement.search.solver.tally import Reason

Anchor = tuple[Plan, Tree]

# How many plans are remembered at a time; a cloud has fewer shapes of trees, as a rule.
MAX_PLANS = 2048

# In the key of a plan that is good for every tree of its shape.
ANY_ROOT = -1


class Anchors:
    """The trees worth a look, with the plan for each."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.plans: dict[tuple[Shape, int], Plan] = {}
        self.visits = 0
        self.named_roots = {
            demand.tree_id for demand in terms.demands if demand.tree_id is not None
        }

    def candidates(self) -> Iterator[Candidate]:
        """Every candidate once, in the order the request wants."""
        request = self.terms.request
        in_turn = request.randomize or request.strategy is Strategy.BREADTH_FIRST
        anchors = self._in_order()
        return _distinct(_breadth_first(anchors) if in_turn else _depth_first(anchors))

    def settle(self) -> None:
        """Add to the tally what the plans refused in the trees they were made for."""
        for plan in self.plans.values():
            for (where, reason), count in plan.refusals.items():
                self.terms.tally.add(where, reason, count * plan.visits)
            plan.visits = 0

    def _in_order(self) -> Iterator[Anchor]:
        if self.terms.request.randomize:
            return self._shuffled(list(self._stands()))
        return ((plan, tree) for plan, trees in self._stands() for tree in trees)

    def _shuffled(self, stands: list[tuple[Plan, Sequence[Tree]]]) -> Iterator[Anchor]:
        # As `shuffle` does it, by numbers and only as far as somebody asks: `moved` holds what is
        # not at its own number any more.
        ends = list(itertools.accumulate(len(trees) for _, trees in stands))
        moved: dict[int, int] = {}
        for last in range(ends[-1] - 1 if ends else -1, -1, -1):
            chosen = self.terms.chance.randrange(last + 1)
            number = moved.get(chosen, chosen)
            moved[chosen] = moved.pop(last, last)
            stand = bisect.bisect_right(ends, number)
            plan, trees = stands[stand]
            yield plan, trees[number - ends[stand]]

    def _stands(self) -> Iterator[tuple[Plan, Sequence[Tree]]]:
        """Trees with a common plan, where at least one might serve the request."""
        for plan, stand in self._planned(self._within_reach()):
            is_new = not plan.visits
            plan.visits += len(stand.trees)
            self.visits += len(stand.trees)
            # A tree that is alone will be asked soon enough.
            is_alone = len(stand.trees) == 1
            if plan.is_hopeless or not (is_alone or plan.admits(stand.least_used)):
                continue
            if plan.needs_members:
                yield plan, stand.trees
            elif is_new:
                # Sharing providers alone serve the request: the next tree would say the same.
                yield plan, stand.trees[:1]

    def _within_reach(self) -> Iterator[Stand]:
        """Every stand but those that nobody could serve for want of an aggregate.

        Whoever names one of a thousand aggregates wants a thousandth of the cloud. A plan for each
        of the others would be most of the search.
        """
        for stand in self._all_stands():
            lacking = self.terms.lacks_aggregate(stand.shape)
            if lacking is None:
                yield stand
            else:
                self.visits += len(stand.trees)
                members = len(stand.trees) * len(stand.shape.kinds)
                self.terms.tally.add(lacking, Reason.AGGREGATE, members)

    def planned(self) -> Iterator[tuple[Plan, Stand]]:
        """Every stand of trees with its plan."""
        return self._planned(self._all_stands())

    def _planned(self, stands: Iterable[Stand]) -> Iterator[tuple[Plan, Stand]]:
        for stand in stands:
            if self.is_special(stand):
                for tree in stand.trees:
                    yield self._plan(tree, tree.root_id), Stand(stand.shape, (tree,), tree.uses)
            else:
                yield self._plan(stand.trees[0], ANY_ROOT), stand

    def is_special(self, stand: Stand) -> bool:
        """Whether these trees stand for themselves and not for their shape."""
        return stand.shape.has_sharing or (
            bool(self.named_roots)
            and not self.named_roots.isdisjoint([tree.root_id for tree in stand.trees])
        )

    def _plan(self, tree: Tree, root_id: int) -> Plan:
        plan = self.plans.get((tree.shape, root_id))
        if plan is None:
            if len(self.plans) >= MAX_PLANS:
                self.settle()
                self.plans.clear()
                self.terms.forget_verdicts()
            plan = self.plans[tree.shape, root_id] = Plan(self.terms, tree)
        return plan

    def _all_stands(self) -> Iterator[Stand]:
        snapshot, only_roots = self.terms.snapshot, self.terms.only_roots
        if only_roots is None:
            for block in snapshot.blocks.values():
                yield from block.stands
        else:
            for root_id in sorted(only_roots):
                tree = snapshot.tree(root_id)
                yield Stand(tree.shape, (tree,), tree.uses)


def _depth_first(anchors: Iterator[Anchor]) -> Iterator[Candidate]:
    """All candidates of one anchor before those of the next."""
    for plan, tree in anchors:
        yield from plan.candidates(tree)


def _breadth_first(anchors: Iterator[Anchor]) -> Iterator[Candidate]:
    """One candidate from each anchor in turn.

    Holds no more anchors than it has yielded candidates: the next is opened when it is asked for.
    """
    waiting = []
    for plan, tree in anchors:
        stream = plan.candidates(tree)
        if plan.is_single:
            yield from stream
            continue
        for candidate in stream:
            yield candidate
            waiting.append(stream)
            break
    while waiting:
        still_waiting = []
        for stream in waiting:
            for candidate in stream:
                yield candidate
                still_waiting.append(stream)
                break
        waiting = still_waiting


def _distinct(candidates: Iterator[Candidate]) -> Iterator[Candidate]:
    """Each candidate once.

    Only one that is made of sharing providers can be found under several anchors; any other
    names its anchor.  So no more than some of what was yielded is held.
    """
    seen: set[tuple[int, ...]] = set()
    for candidate in candidates:
        if candidate.is_all_shared:
            identity = candidate.identity
            if identity in seen:
                continue
            seen.add(identity)
        yield candidate
