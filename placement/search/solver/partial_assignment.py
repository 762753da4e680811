# SPDX-License-Identifier: Apache-2.0
"""An assignment in the making: which slots were taken, and what is left."""

from collections.abc import Sequence

from placement.search.solver import bounds
from placement.search.solver.assignment_problem import (
    Decision,
    Order,
    Problem,
    Variable,
    decisions_of,
    goal_of,
)
from placement.search.solver.tally import COMBINATION, Reason, Tally
from placement.search.solver.work import Work

NONE_TAKEN: frozenset[int] = frozenset()


class PartialAssignment:
    """The decisions made so far.  Depth n is the decision after n others."""

    def __init__(self, problem: Problem, order: Order, tally: Tally, work: Work) -> None:
        self.refusals = tally.counter(COMBINATION)
        self.work = work
        self.decisions = decisions_of(problem, order)
        self.goal = goal_of(problem)
        self.ancestry = problem.ancestry
        self.room = dict(problem.room)
        self.chosen = [-1] * len(self.decisions)
        self.taken: set[int] = set()
        self.used_trees: dict[int, list[int]] = {}
        self.gained = [0] * (len(self.decisions) + 1)
        self.gainable = _gainable(self.decisions)

    def take(self, depth: int, slot: int) -> bool:
        """Take the slot for the decision of this depth, if constraints and room allow."""
        decision = self.decisions[depth]
        variable = decision.variable
        if not self._is_free(variable, slot):
            return False
        gained = self.gained[depth] | variable.gains.get(slot, 0)
        if decision.roots or decision.members:
            if not self._is_in_subtree(decision, slot):
                self.refusals[Reason.SUBTREE] += 1
                return False
            gained |= self._bits_of_roots(decision, slot)
        if (gained | self.gainable[depth + 1]) & self.goal != self.goal:
            return False
        self.gained[depth + 1] = gained
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
            self.refusals[Reason.ISOLATE] += 1
            return False
        for name, amount in variable.amounts:
            if self.room[slot, name] < amount:
                self.refusals[Reason.USED] += 1
                return False
        if variable.trees is not None:
            here = self.used_trees.get(variable.trees[slot])
            if here and here[-1] != slot:
                self.refusals[Reason.TREE] += 1
                return False
        return True

    def _is_in_subtree(self, decision: Decision, slot: int) -> bool:
        """Whether a variable lies beneath the roots decided for it, or a root above its
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
        if (self.gained[depth] | self.gainable[depth]) & self.goal != self.goal:
            self.refusals[Reason.REQUIRED_TRAIT] += 1
            return False
        rest = self._open_domains(depth)
        exclusive = [domain for variable, domain in rest if variable.is_exclusive]
        if exclusive and not bounds.have_slots_of_their_own(exclusive, self.work):
            self.refusals[Reason.ISOLATE] += 1
            return False
        loads: dict[str, list[bounds.Load]] = {}
        for variable, domain in rest:
            for name, amount in variable.amounts:
                loads.setdefault(name, []).append((amount, domain))
        for name, of_class in loads.items():
            if not self._sums_fit(name, of_class):
                self.refusals[Reason.USED] += 1
                return False
        return True

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
            [
                slot
                for slot in variable.domain
                if slot not in taken
                and all(self.room[slot, name] >= amount for name, amount in variable.amounts)
                and all(self.ancestry.is_within(slot, root) for root in roots)
            ]
        )


def _gainable(decisions: Sequence[Decision]) -> list[int]:
    """For each depth, the bits that decisions from there on can gain."""
    gainable = [0]
    for decision in reversed(decisions):
        gainable.append(gainable[-1] | decision.bits)
    gainable.reverse()
    return gainable
