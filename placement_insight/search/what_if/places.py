# SPDX-License-Identifier: Apache-2.0
"""Places for consumers in a snapshot: the trees that can serve a need, and how many times."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set

from placement.search.candidate import Candidate
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.feasibility import Feasibility
from placement.search.solver.search import BlockFilter
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.scenario import Held
from placement_insight.search.what_if.trait_index import TraitIndex

NOWHERE: frozenset[int] = frozenset()
# Number of fitting trees beyond which a need is not scarce, and they are not counted.
MANY = 1_000
# Maximum number of claims of a need that are counted in one tree.
MAX_SLOTS = 1_000
# Steps of a claim in addition to those of its search.
STEPS_OF_CLAIM = 10

# Maximum weight of the memory for all needs: one for each tree, and `WEIGHT_OF_NEED` for each
# need. It is checked after this number of new needs.
MAX_WEIGHT = 200_000
WEIGHT_OF_NEED = 20
NEEDS_BETWEEN_LOOKS = 100


class FittingTrees:
    """The trees that can serve a need now, in the order of the snapshot, found lazily.

    Trees over capacity serve no need.
    """

    def __init__(self, places: Places, need: Need) -> None:
        self._places = places
        self._need = need
        # The first candidate of each tree found so far, by root id.
        self.candidates: dict[int, Candidate] = {}
        self._known = list[Tree]()
        self._others = self._trees()
        self._are_all_known = False
        # The roots of the last call of `has_others`, and the number of first trees among them.
        self._lost: Set[int] = NOWHERE
        self._first_lost = 0

    @functools.cached_property
    def feasibility(self) -> Feasibility:
        """The search for the need, prepared for the first tree."""
        return Feasibility(self._places.snapshot, self._need.request, self._places.work)

    @property
    def weight(self) -> int:
        """The memory for the need, in trees."""
        return WEIGHT_OF_NEED + len(self._known)

    @property
    def every(self) -> list[Tree] | None:
        """All fitting trees, None if not all were looked for."""
        return self._known if self._are_all_known else None

    def at(self, number: int) -> Tree | None:
        """Return the fitting tree with this number, None if there are fewer.

        :raises BudgetSpent: the budget is spent, also in later calls
        """
        while number >= len(self._known):
            self._places.work.check()
            tree = next(self._others, None)
            if tree is None:
                self._are_all_known = True
                return None
            self._known.append(tree)
        return self._known[number]

    @property
    def scarcity(self) -> int:
        """The number of fitting trees, at most `MANY`.

        :raises BudgetSpent: the budget is spent
        """
        while len(self._known) < MANY and self.at(len(self._known)) is not None:
            pass
        return min(len(self._known), MANY)

    def has_others(self, roots: Set[int]) -> bool:
        """True if there are fitting trees other than those with these roots.

        :raises BudgetSpent: the budget is spent
        """
        # Called for thousands of consumers that lose the same thousands of trees.
        if self._lost is not roots:
            self._lost, self._first_lost = roots, 0
        while (tree := self.at(self._first_lost)) is not None:
            if tree.root_id not in roots:
                return True
            self._places.work.spend(1)
            self._first_lost += 1
        return False

    def _trees(self) -> Iterator[Tree]:
        need = self._need
        for tree in self._that_may_serve():
            if is_pool(tree) or not need.admits(tree):
                continue
            candidate = self.feasibility.candidate(tree, afresh=True)
            # Checked last, for few trees.
            if candidate is not None and not is_over_capacity(tree):
                self.candidates[tree.root_id] = candidate
                yield tree

    def _that_may_serve(self) -> Iterable[Tree]:
        places, need = self._places, self._need
        few = places.few_with_traits(need)
        if few is not None:
            return few
        if self.feasibility.search.resolved.names_missing_tree:
            return ()
        if need.weaker is not None:
            return self._fitting_weaker(need.weaker)
        return places.trees_that_may_serve(self.feasibility, places.snapshot)

    def _fitting_weaker(self, weaker: Need) -> Iterator[Tree]:
        """Yield the trees that fit a weaker need."""
        fitting, number = self._places.fitting(weaker), 0
        while (tree := fitting.at(number)) is not None:
            yield tree
            number += 1


class Slots:
    """How many times, at most `MAX_SLOTS`, a need can be claimed in each tree, with all claims in
    place.

    Only those claims count that leave a place for any smaller need: without sharing providers, on
    providers that accept any amount, and with one provider for the unsuffixed group.
    """

    def __init__(self, places: Places, need: Need) -> None:
        self._places = places
        self._fitting = places.fitting(need)
        self._known = list[tuple[int, int]]()

    def suffice(self, consumers: int, skipped: Set[int]) -> bool:
        """True if this number of consumers find a place outside of skipped trees.

        :raises BudgetSpent: the budget is spent
        """
        number, slots = 0, 0
        while slots < consumers:
            if number == len(self._known):
                tree = self._fitting.at(number)
                if tree is None:
                    return False
                self._known.append((tree.root_id, self._count(tree)))
            root_id, often = self._known[number]
            if root_id not in skipped:
                slots += often
            number += 1
        return True

    def _count(self, tree: Tree) -> int:
        often, candidate = 0, self._fitting.candidates.get(tree.root_id)
        while candidate is not None and _serves_smaller(candidate) and often < MAX_SLOTS:
            often += 1
            self._places.work.spent += STEPS_OF_CLAIM
            tree = with_taken(tree, amounts_of(candidate))
            candidate = self._fitting.feasibility.candidate(tree, afresh=True)
        return often


def _serves_smaller(candidate: Candidate) -> bool:
    unsuffixed = candidate.mappings.get('', ())
    return len(unsuffixed) <= 1 and not any(
        provider.kind.profile.is_sharing
        or any(
            capacity.min_unit > 1 or capacity.step_size > 1
            for capacity in provider.kind.capacities
        )
        for provider in candidate.providers
    )


class Places:
    """The places of a snapshot, for any need."""

    def __init__(self, snapshot: Snapshot, work: SlicedWork) -> None:
        self.snapshot = snapshot
        self.work = work
        self._fitting: dict[Need, FittingTrees] = {}
        self._slots: dict[Need, Slots] = {}
        self._max_needs = NEEDS_BETWEEN_LOOKS

    def fitting(self, need: Need) -> FittingTrees:
        """Return the trees that can serve a need."""
        if need not in self._fitting:
            if len(self._fitting) >= self._max_needs:
                self._forget()
            self._fitting[need] = FittingTrees(self, need)
        return self._fitting[need]

    def _forget(self) -> None:
        """Drop the oldest needs if the memory is too large."""
        weight = sum(fitting.weight for fitting in self._fitting.values())
        for need in list(self._fitting) if weight > MAX_WEIGHT else ():
            weight -= self._fitting.pop(need).weight
            self._slots.pop(need, None)
            if weight <= MAX_WEIGHT // 2:
                break
        self._max_needs = len(self._fitting) + NEEDS_BETWEEN_LOOKS

    @functools.cached_property
    def _by_traits(self) -> TraitIndex:
        return TraitIndex(self.snapshot, self.work)

    def few_with_traits(self, need: Need) -> list[Tree] | None:
        """Return the trees with the required traits of a need, None if they are not few."""
        requires = need.request.root_required or any(g.required for g in need.request.groups)
        return self._by_traits.few_for(need.request) if requires else None

    def slots(self, need: Need) -> Slots:
        """Return the slots of a need."""
        if need not in self._slots:
            self._slots[need] = Slots(self, need)
        return self._slots[need]

    def trees_that_may_serve(self, feasibility: Feasibility, snapshot: Snapshot) -> Iterator[Tree]:
        """Yield the trees of the blocks that the search does not exclude as a whole."""
        block_filter = BlockFilter(feasibility.search)
        for block in filter(block_filter.admits, snapshot.blocks.values()):
            yield from block.trees.values()
            self.work.spend(len(block.trees))

    def after_release(self, held: Collection[Held]) -> Places:
        """Return the places after some consumers have given back these allocations.

        The excess of their pools is given back too.

        :raises BudgetSpent: the budget is spent
        """
        if not held:
            return self
        self.work.spend(STEPS_OF_CLAIM * len(held))
        released = sum_of(*held)
        released = sum_of(released, excess_of(released, self.snapshot.provider))
        used = {
            i: self.snapshot.provider(i).used_after({n: -amount for n, amount in amounts.items()})
            for i, amounts in released.items()
        }
        return Places(self.snapshot.with_used(used), self.work)

    def without(self, roots: Set[int]) -> Places:
        """Return the places of the cloud without the trees with these root ids.

        :raises BudgetSpent: the budget is spent
        """
        gone = [member.id for root_id in roots for member in self.snapshot.tree(root_id).members]
        self.work.spend(STEPS_OF_CLAIM * len(gone))
        return Places(self.snapshot.with_changes((), gone), self.work)


def amounts_of(candidate: Candidate) -> dict[int, Mapping[str, int]]:
    """Return the allocations of a candidate by provider id."""
    return {provider.id: amounts for provider, amounts in candidate.allocations.items()}


def sum_of(*held: Held) -> dict[int, dict[str, int]]:
    """Return the sums of allocations."""
    total: dict[int, dict[str, int]] = {}
    for of_one in held:
        for provider_id, amounts in of_one.items():
            of_provider = total.setdefault(provider_id, {})
            for name, amount in amounts.items():
                of_provider[name] = of_provider.get(name, 0) + amount
    return total


def excess_of(held: Held, provider_of: Callable[[int], Provider]) -> Held:
    """Return the usage beyond capacity of the pools in `held`, without that of `held` itself."""
    pools = [(i, provider_of(i)) for i in held if provider_of(i).kind.profile.is_sharing]
    return {
        i: {
            name: max(min(used - max(capacity.ceiling, 0), used - held[i][name]), 0)
            for name, capacity, used in pool.inventories
            if name in held[i]
        }
        for i, pool in pools
    }


def with_taken(tree: Tree, taken: Mapping[int, Mapping[str, int]]) -> Tree:
    """Return a tree with these amounts added to the usage of its members; they may be negative."""
    changed = {
        member.id: member.with_used(member.used_after(taken[member.id]))
        for member in tree.members
        if member.id in taken
    }
    return tree.with_used(changed)


def is_pool(tree: Tree) -> bool:
    """True if a tree is a pool by itself, which is no place for consumers."""
    return len(tree.members) == 1 and tree.shape.structure.has_sharing


def is_over_capacity(tree: Tree) -> bool:
    """True if a provider of a tree is over capacity."""
    return any(
        used > capacity.ceiling
        for member in tree.members
        for capacity, used in zip(member.kind.capacities, member.used, strict=True)
    )
