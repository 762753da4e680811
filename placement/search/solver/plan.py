# SPDX-License-Identifier: Apache-2.0
"""A request laid over trees of one structure: which slots can serve what, and in which ways.

What depends on profiles alone is worked out once for all trees whose members answer every provider
request alike. For each tree it remains to compare numbers: where the ways to choose slots are few,
all solutions of the structure are checked against it; where they are many, the tree is a
constraint problem of its own.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from placement.search.candidate import Candidate, Layout
from placement.search.model.provider import Provider
from placement.search.model.request import ROOT_PARAMETERS
from placement.search.model.tree import Shape, Structure, Tree, UsedAmounts
from placement.search.solver.backtracking import assignments
from placement.search.solver.nogoods import NogoodStore
from placement.search.solver.problem import Assignment, problem_for
from placement.search.solver.resolved_request import fits
from placement.search.solver.search import Search
from placement.search.solver.slots import Occupants, Slots
from placement.search.solver.work import BoundedCache

# Up to this many ways to choose a slot for each provider request, all solutions are kept.
FEW = 64
# How many states of trees without candidates are remembered.
MAX_INFEASIBLE = 1024

# The ids of the sharing providers that can serve each provider request.
SharedDomains = tuple[frozenset[int], ...]


class Solution(NamedTuple):
    """An assignment that the structure of a tree allows, to be checked against amounts.

    `slots` are those of the providers of the layout. `amounts` holds slot, position, sum and
    single amounts. `is_all_shared` tells whether sharing providers alone serve the request, so
    that other trees may have the same solution.
    """

    assignment: Assignment
    layout: Layout
    slots: tuple[int, ...]
    amounts: Sequence[tuple[int, int, int, Sequence[int]]]
    is_all_shared: bool

    def fits(self, occupants: Occupants) -> bool:
        """Return whether these providers have room for it."""
        _, kinds, usage = occupants
        for slot, position, total, amounts in self.amounts:
            capacity = kinds[slot].capacities[position]
            if total > capacity.room(usage[slot][position]):
                return False
            if not capacity.takes_any and any(map(capacity.unit_refusal, amounts)):
                return False
        return True

    def candidate(self, providers: Sequence[Provider]) -> Candidate:
        """The candidate with these providers in the slots."""
        return Candidate(self.layout, tuple([providers[slot] for slot in self.slots]))


class Plan:
    """A request laid over one structure."""

    def __init__(
        self, search: Search, structure: Structure, sharing: Sequence[Provider], root_id: int
    ) -> None:
        self.search = search
        self.slots = Slots(search, structure, sharing)
        # By number of the provider request; those that ask for the same have one domain.
        domains = self.slots.domains(root_id)
        self._domains = dict(
            zip([request.number for request in search.distinct], domains, strict=True)
        )
        self._alike = [request.alike for request in search.resolved.provider_requests]
        self.is_infeasible = not (suits_root(search, structure) and all(domains))
        self._is_small = math.prod([len(self._domains[alike]) for alike in self._alike]) <= FEW
        self.uses_members = any(
            not self._is_sharing(slot) for domain in domains for slot in domain
        )
        self.may_be_all_shared = all(any(map(self._is_sharing, domain)) for domain in domains)
        self._first_of_last: Solution | None = None
        self._shared_domains: SharedDomains | None = None
        self._nogoods = NogoodStore()
        self._infeasible: BoundedCache[tuple[Shape, UsedAmounts], bool] = BoundedCache(
            MAX_INFEASIBLE
        )

    def _is_sharing(self, slot: int) -> bool:
        """Return whether the provider in the slot is a sharing one, of this tree or of another."""
        return self.slots.profiles[slot].is_sharing

    def shared_domains(self, tree: Tree) -> SharedDomains:
        """For each provider request, the ids of the sharing providers that can serve it."""
        # Sharing members of a tree have a plan of their own, so all trees of a plan agree.
        if self._shared_domains is None:
            occupants = self.slots.occupants(tree)
            ids = [provider.id for provider in occupants[0]]
            self._shared_domains = tuple(
                frozenset([ids[slot] for slot in domain if self._is_sharing(slot)])
                for domain in self._open_domains(occupants)
            )
        return self._shared_domains

    def candidates(
        self, tree: Tree, needs_member: bool = False, is_first_pass: bool = False
    ) -> Iterator[Candidate]:
        """Every candidate of the tree: those of known solutions, then those that are searched.

        With `needs_member` only candidates in which somebody serves who is no sharing provider:
        those of sharing providers alone are known already. Raises `BudgetSpent`, and
        `TreeDeferred` where it is the first pass and the first candidate is hard to find.
        """
        search, work = self.search, self.search.work
        occupants = providers, _, usage = self.slots.occupants(tree)
        known: Solution | None = None
        for solution in self._known_solutions():
            if solution.fits(occupants) and not (needs_member and solution.is_all_shared):
                known = solution
                work.spent += search.steps_per_candidate
                yield solution.candidate(providers)
                work.check()
        state, is_empty = (tree.shape, usage), known is None
        if self._is_small or state in self._infeasible:
            return
        is_first_pass = is_first_pass and is_empty
        for assignment in self._assignments(occupants, needs_member, is_first_pass):
            if known is not None and assignment == known.assignment:
                continue
            if is_empty and not search.random:
                # Hosts are mostly alike, so the first solution of a tree is the first that is
                # tried with the next: a thousand of them need one search instead of a thousand.
                self._first_of_last = self._solution(assignment)
            is_empty = False
            work.spent += search.steps_per_candidate
            layout, slots = self._layout(assignment)
            yield Candidate(layout, tuple([providers[slot] for slot in slots]))
            work.check()
        if is_empty and not needs_member:
            self._infeasible.add(state, True)

    def forget_last(self) -> None:
        """Search the next tree as if it were the first."""
        self._first_of_last = None

    def _known_solutions(self) -> Sequence[Solution]:
        """All solutions of a structure that has few, else the first one of the last tree."""
        if not self._is_small:
            return [] if self._first_of_last is None else [self._first_of_last]
        if self.search.random:
            return self.search.random.sample(self._all_solutions, len(self._all_solutions))
        return self._all_solutions

    @functools.cached_property
    def _all_solutions(self) -> Sequence[Solution]:
        """Every solution that the structure allows, whatever the amounts."""
        search = self.search
        domains = [list(self._domains[alike]) for alike in self._alike]
        problem = problem_for(search, self.slots, domains)
        if problem is None:
            return ()
        return list(map(self._solution, assignments(problem, self._nogoods, search.work)))

    def _assignments(
        self, occupants: Occupants, needs_member: bool, is_first_pass: bool
    ) -> Iterator[Assignment]:
        """Every assignment in a tree."""
        search, domains = self.search, self._open_domains(occupants)
        if not all(domains):
            return iter(())
        if search.random:
            domains = [search.random.sample(domain, len(domain)) for domain in domains]
        problem = problem_for(search, self.slots, domains, occupants, needs_member)
        if problem is None:
            return iter(())
        return assignments(problem, self._nogoods, search.work, is_first_pass)

    def _open_domains(self, occupants: Occupants) -> list[list[int]]:
        """For each provider request, the slots that have room for it alone."""
        _, kinds, usage = occupants
        open_slots = {}
        for number, domain in self._domains.items():
            self.search.work.spent += len(domain)
            open_slots[number] = [
                slot
                for slot, demand in domain.items()
                if fits(demand, kinds[slot].capacities, usage[slot])
            ]
        return [open_slots[alike] for alike in self._alike]

    def _solution(self, assignment: Assignment) -> Solution:
        """The assignment as a solution."""
        amounts: dict[tuple[int, int], list[int]] = {}
        for alike, slot in zip(self._alike, assignment, strict=True):
            for position, amount in self._domains[alike][slot]:
                amounts.setdefault((slot, position), []).append(amount)
        layout, slots = self._layout(assignment)
        return Solution(
            assignment,
            layout,
            slots,
            [(*at, sum(of_class), of_class) for at, of_class in amounts.items()],
            self.may_be_all_shared and all(map(self._is_sharing, slots)),
        )

    def _layout(self, assignment: Assignment) -> tuple[Layout, tuple[int, ...]]:
        slots = tuple(dict.fromkeys(assignment))
        numbers = {slot: number for number, slot in enumerate(slots)}
        return self.search.layout(tuple([numbers[slot] for slot in assignment])), slots


def suits_root(search: Search, structure: Structure) -> bool:
    """Return whether the root has the traits that the request wants of it, and none that it
    bars."""
    root = structure.profiles[0]
    return all(parameter.is_met(search.request, root) for parameter in ROOT_PARAMETERS)
