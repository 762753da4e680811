# SPDX-License-Identifier: Apache-2.0
"""The assignments of a problem: a slot for each variable, everything taken together.

A depth-first search that drops a partial assignment as soon as it cannot be completed.
Assignments are generated, one for every way of giving slots to variables; nothing is collected.
Specification:
allocation_candidates, "Combining groups".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.search.solver import bounds
from placement.search.solver.nogoods import Nogoods, NogoodStore
from placement.search.solver.problem import (
    Assignment,
    Order,
    Problem,
    Variable,
    decision_order,
)
from placement.search.solver.work import Work

# After so many steps without an assignment the first pass defers a tree; as often, the budget is
# checked.
SLICE = 4_000

NONE_TAKEN: frozenset[int] = frozenset()


class TreeDeferred(Exception):
    """Nothing was found in a tree in a slice of work: others come first."""


def assignments(
    problem: Problem, store: NogoodStore, work: Work, is_first_pass: bool = False
) -> Iterator[Assignment]:
    """Every assignment of a problem.

    Raises `BudgetSpent`, and `TreeDeferred` where it is the first pass and the first assignment is
    hard to find.
    """
    if problem.is_independent:
        yield from itertools.product(*[variable.domain for variable in problem.variables])
        return
    order = decision_order(problem)
    partial = PartialAssignment(problem, order, work)
    nogoods = Nogoods(problem, partial, store)
    if not partial.may_complete(0) or 0 in nogoods:
        return
    depth_of = {item: depth for depth, item in enumerate(order)}
    depths = [depth_of[number] for number in range(len(problem.variables))]
    for chosen in _completed(partial, nogoods, is_first_pass):
        yield tuple([chosen[depth] for depth in depths])


def _completed(
    partial: PartialAssignment, nogoods: Nogoods, is_first_pass: bool
) -> Iterator[Sequence[int]]:
    """The slots chosen at each depth, every time that all decisions are made.

    A loop, not a recursion, because a query may have more groups than Python has frames. Bounds
    and nogoods are asked from the first dead end on: a search that meets none does not need them.
    """
    decisions, work = partial.decisions, partial.work
    deepest = len(decisions) - 1
    pending = [iter(decisions[0].variable.domain)]
    is_fruitful = [False] * len(decisions)
    # Whether bounds were asked about what was decided before this depth.
    is_bounded = [True] + [False] * deepest
    met_dead_end = False
    check_at = work.spent + SLICE
    while pending:
        if work.spent >= check_at:
            work.check()
            if is_first_pass:
                raise TreeDeferred
            check_at = work.spent + SLICE
        depth = len(pending) - 1
        partial.release(depth)
        if met_dead_end and not is_bounded[depth]:
            is_bounded[depth] = True
            if depth in nogoods or not partial.may_complete(depth):
                pending[depth] = iter(())
        if not partial.take_next(depth, pending[depth]):
            pending.pop()
            if is_fruitful[depth]:
                is_fruitful[depth - 1] = True
            else:
                met_dead_end = True
                nogoods.add(depth)
        elif depth == deepest:
            is_fruitful[depth] = True
            is_first_pass = False
            yield partial.chosen
            check_at = work.spent + SLICE
        elif not met_dead_end or (depth + 1 not in nogoods and partial.may_complete(depth + 1)):
            is_fruitful[depth + 1] = False
            is_bounded[depth + 1] = met_dead_end
            pending.append(iter(decisions[depth + 1].variable.domain))


class Decision(NamedTuple):
    """The slot of a variable, or the root of a subtree (number ~c for constraint c), decided at
    one depth.

    For a variable, `roots` are the depths at which roots of its subtrees are decided before it,
    each with the bit that is covered by being that root. For the root of a subtree, `members` are
    the depths of the variables decided before it that have to lie beneath, and `bit` is covered
    when one of them is it.
    """

    number: int
    variable: Variable
    roots: tuple[tuple[int, int], ...] = ()
    members: tuple[int, ...] = ()
    bit: int = 0

    @property
    def bits(self) -> int:
        """All bits that this decision might cover."""
        bits = self.bit
        for covered in self.variable.covers.values():
            bits |= covered
        for _, root_bit in self.roots:
            bits |= root_bit
        return bits


class PartialAssignment:
    """The decisions made so far. Depth n is the decision after n others.

    Every subtree has a bit of the goal too: somebody has to be its root.
    """

    def __init__(self, problem: Problem, order: Order, work: Work) -> None:
        self.work = work
        self.decisions = _decisions(problem, order)
        self.goal = problem.goal | sum(
            _root_bit(problem, c) for c in range(len(problem.constraints))
        )
        self.ancestry = problem.ancestry
        self.room = dict(problem.room)
        self.chosen = [-1] * len(self.decisions)
        self.taken: set[int] = set()
        self.used_trees: dict[int, list[int]] = {}
        self.covered = [0] * (len(self.decisions) + 1)
        # For each depth, the bits that decisions from there on can cover.
        self.coverable = [0] * (len(self.decisions) + 1)
        for depth in range(len(self.decisions) - 1, -1, -1):
            self.coverable[depth] = self.coverable[depth + 1] | self.decisions[depth].bits

    def take_next(self, depth: int, slots: Iterator[int]) -> bool:
        """Take the next of these slots that can be taken at this depth, if any can."""
        for slot in slots:
            self.work.spent += 1
            if self.take(depth, slot):
                return True
        return False

    def take(self, depth: int, slot: int) -> bool:
        """Take the slot for the decision of this depth, if constraints and room allow."""
        decision = self.decisions[depth]
        variable = decision.variable
        if not self._is_free(variable, slot):
            return False
        covered = self.covered[depth] | variable.covers.get(slot, 0)
        if decision.roots or decision.members:
            if not self._is_in_subtree(decision, slot):
                return False
            covered |= self._bits_of_roots(decision, slot)
        if (covered | self.coverable[depth + 1]) & self.goal != self.goal:
            return False
        self.covered[depth + 1] = covered
        self.chosen[depth] = slot
        for name, amount in variable.amounts:
            self.room[slot, name] -= amount
        if variable.is_exclusive:
            self.taken.add(slot)
        if variable.trees is not None:
            self.used_trees.setdefault(variable.trees[slot], []).append(slot)
        return True

    def release(self, depth: int) -> None:
        """Take back what the decision of this depth took, if it did."""
        slot, variable = self.chosen[depth], self.decisions[depth].variable
        if slot < 0:
            return
        self.chosen[depth] = -1
        for name, amount in variable.amounts:
            self.room[slot, name] += amount
        if variable.is_exclusive:
            self.taken.discard(slot)
        if variable.trees is not None:
            self.used_trees[variable.trees[slot]].pop()

    def _is_free(self, variable: Variable, slot: int) -> bool:
        if variable.is_exclusive and slot in self.taken:
            return False
        for name, amount in variable.amounts:
            if self.room[slot, name] < amount:
                return False
        if variable.trees is not None:
            here = self.used_trees.get(variable.trees[slot])
            if here and here[-1] != slot:
                return False
        return True

    def _is_in_subtree(self, decision: Decision, slot: int) -> bool:
        """Return whether a variable lies beneath the roots decided for it, or a root above its
        variables."""
        is_within, chosen = self.ancestry.is_within, self.chosen
        return all(is_within(slot, chosen[root]) for root, _ in decision.roots) and all(
            is_within(chosen[member], slot) for member in decision.members
        )

    def _bits_of_roots(self, decision: Decision, slot: int) -> int:
        is_root = any(self.chosen[member] == slot for member in decision.members)
        bits = decision.bit if is_root else 0
        for root, bit in decision.roots:
            if self.chosen[root] == slot:
                bits |= bit
        return bits

    def may_complete(self, depth: int) -> bool:
        """False when the decisions from this depth on certainly cannot all be made."""
        if (self.covered[depth] | self.coverable[depth]) & self.goal != self.goal:
            return False
        rest = self._open_domains(depth)
        exclusive = [domain for variable, domain in rest if variable.is_exclusive]
        if exclusive and not bounds.have_slots_of_their_own(exclusive, self.work):
            return False
        loads: dict[str, list[bounds.Load]] = {}
        for variable, domain in rest:
            for name, amount in variable.amounts:
                loads.setdefault(name, []).append((amount, domain))
        return all(self._sums_fit(name, of_class) for name, of_class in loads.items())

    def _sums_fit(self, name: str, loads: Sequence[bounds.Load]) -> bool:
        slots = dict.fromkeys(slot for _, domain in loads for slot in domain)
        return bounds.sums_fit(loads, {slot: self.room[slot, name] for slot in slots}, self.work)

    def _open_domains(self, depth: int) -> list[tuple[Variable, tuple[int, ...]]]:
        """Later variables that may run short of slots or room, with the slots that what was
        decided before this depth leaves open to them."""
        rest = []
        # Variables that ask for the same, in subtrees of the same roots, have the same open slots.
        known: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
        for decision in self.decisions[depth:]:
            variable = decision.variable
            if variable.amounts or variable.is_exclusive:
                roots = tuple([self.chosen[root] for root, _ in decision.roots if root < depth])
                key = (variable.alike, roots)
                domain = known.get(key)
                if domain is None:
                    domain = known[key] = self._open_domain(variable, roots)
                rest.append((variable, domain))
        return rest

    def _open_domain(self, variable: Variable, roots: tuple[int, ...]) -> tuple[int, ...]:
        self.work.spent += len(variable.domain)
        taken = self.taken if variable.is_exclusive else NONE_TAKEN
        return tuple(
            slot
            for slot in variable.domain
            if slot not in taken
            and all(self.room[slot, name] >= amount for name, amount in variable.amounts)
            and all(self.ancestry.is_within(slot, root) for root in roots)
        )


def _decisions(problem: Problem, order: Order) -> list[Decision]:
    """The decisions in this order."""
    depths = {item: depth for depth, item in enumerate(order)}
    decisions = []
    for depth, item in enumerate(order):
        if item < 0:
            members = sorted(problem.constraints[~item])
            slots = dict.fromkeys(slot for n in members for slot in problem.variables[n].domain)
            decided = tuple(sorted(depths[n] for n in members if depths[n] < depth))
            bit = _root_bit(problem, ~item)
            decisions.append(Decision(item, Variable(list(slots)), members=decided, bit=bit))
        else:
            roots = [
                (depths[~number], _root_bit(problem, number))
                for number, variables in enumerate(problem.constraints)
                if item in variables and depths[~number] < depth
            ]
            decisions.append(Decision(item, problem.variables[item], tuple(roots)))
    return decisions


def _root_bit(problem: Problem, constraint: int) -> int:
    """The bit of the goal that is covered by the root of a subtree."""
    return 1 << (problem.goal.bit_length() + constraint)
