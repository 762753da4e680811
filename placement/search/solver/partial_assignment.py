# SPDX-License-Identifier: Apache-2.0
"""The slots chosen so far for the variables of a problem, in the order of decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placement.search.solver import bounds
from placement.search.solver.problem import Problem, Variable
from placement.search.solver.subtree import OpenSubtree
from placement.search.solver.tree_order import ValueOrder
from placement.search.solver.work import Work

NONE_TAKEN: frozenset[int] = frozenset()


class PartialAssignment:
    """The decisions made so far. Depth n is the decision after n others.

    `order` holds the number of the variable decided at each depth. `values` sorts the slots of
    each variable; None keeps the order of its domain.
    """

    def __init__(
        self, problem: Problem, order: Sequence[int], work: Work, values: ValueOrder | None = None
    ) -> None:
        self.work = work
        self._values = values
        self.order = order
        self.variables = [problem.variables[number] for number in order]
        self.goal = problem.goal
        self.room = dict(problem.room)
        self.chosen = [-1] * len(order)
        self.taken: set[int] = set()
        self.used_trees: dict[int, list[int]] = {}
        self.covered = [0] * (len(order) + 1)
        # For each depth, the bits that decisions from there on can cover.
        self.coverable = [0] * (len(order) + 1)
        for depth in range(len(order) - 1, -1, -1):
            self.coverable[depth] = self.coverable[depth + 1] | self.variables[depth].bits
        self.subtrees = [
            OpenSubtree(
                [problem.variables[number].domain for number in order if number in members],
                problem.ancestry,
            )
            for members in problem.subtrees
        ]
        self.subtrees_of = [
            tuple(
                opened
                for opened, members in zip(self.subtrees, problem.subtrees, strict=True)
                if number in members
            )
            for number in order
        ]

    def slots(self, depth: int) -> Iterator[int]:
        """The slots to try at a depth, given the earlier decisions."""
        domain, values = self.variables[depth].domain, self._values
        if values is None:
            return iter(domain)
        if depth > 0:
            values.decide(depth, self.order[depth - 1], self.chosen[depth - 1])
        self.work.spent += 1 + len(domain) // 4
        return iter(values.ordered(self.order[depth], domain))

    def take_next(self, depth: int, slots: Iterator[int]) -> bool:
        """Take the next slot that constraints and room allow at this depth; False if there is
        none."""
        for slot in slots:
            self.work.spent += 1
            if self.take(depth, slot):
                return True
        return False

    def take(self, depth: int, slot: int) -> bool:
        """Take the slot for the decision of this depth; False if constraints or room forbid it."""
        variable, subtrees = self.variables[depth], self.subtrees_of[depth]
        if not self._is_free(variable, slot):
            return False
        if subtrees and not all(subtree.admits(slot) for subtree in subtrees):
            return False
        covered = self.covered[depth] | variable.covers.get(slot, 0)
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
        for subtree in subtrees:
            subtree.add(slot)
        return True

    def release(self, depth: int) -> None:
        """Undo the decision of this depth, if it was made."""
        slot, variable = self.chosen[depth], self.variables[depth]
        if slot < 0:
            return
        self.chosen[depth] = -1
        for name, amount in variable.amounts:
            self.room[slot, name] += amount
        if variable.is_exclusive:
            self.taken.discard(slot)
        if variable.trees is not None:
            self.used_trees[variable.trees[slot]].pop()
        for subtree in self.subtrees_of[depth]:
            subtree.remove_last()

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

    def may_complete(self, depth: int) -> bool:
        """False if a bound proves that the decisions from this depth on cannot all be made."""
        if (self.covered[depth] | self.coverable[depth]) & self.goal != self.goal:
            return False
        rest = self._open_domains(depth)
        exclusive = [domain for variable, domain in rest if variable.is_exclusive]
        if exclusive and not bounds.have_slots_of_their_own(exclusive):
            return False
        loads: dict[str, list[bounds.Load]] = {}
        for variable, domain in rest:
            for name, amount in variable.amounts:
                loads.setdefault(name, []).append((amount, domain))
        return all(self._have_room(name, of_class) for name, of_class in loads.items())

    def _have_room(self, name: str, loads: Sequence[bounds.Load]) -> bool:
        slots = dict.fromkeys(slot for _, domain in loads for slot in domain)
        return bounds.have_room(loads, {slot: self.room[slot, name] for slot in slots}, self.work)

    def _open_domains(self, depth: int) -> list[tuple[Variable, tuple[int, ...]]]:
        """Later variables that may run short of slots or room, each with its open slots."""
        rest = []
        # Variables with the same request, in the same subtrees, have the same open slots.
        of_alike: dict[tuple[int, tuple[OpenSubtree, ...]], tuple[int, ...]] = {}
        for later in range(depth, len(self.order)):
            variable = self.variables[later]
            if variable.amounts or variable.is_exclusive:
                begun = tuple([one for one in self.subtrees_of[later] if one.is_begun])
                domain = of_alike.get((variable.alike, begun))
                if domain is None:
                    domain = self._open_domain(variable, begun)
                    of_alike[variable.alike, begun] = domain
                rest.append((variable, domain))
        return rest

    def _open_domain(
        self, variable: Variable, subtrees: tuple[OpenSubtree, ...]
    ) -> tuple[int, ...]:
        self.work.spent += len(variable.domain)
        taken = self.taken if variable.is_exclusive else NONE_TAKEN
        return tuple(
            slot
            for slot in variable.domain
            if slot not in taken
            and all(self.room[slot, name] >= amount for name, amount in variable.amounts)
            and all(subtree.admits(slot, is_next=False) for subtree in subtrees)
        )
