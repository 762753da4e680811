# SPDX-License-Identifier: Apache-2.0
"""The plan of a request for trees of one structure: the domains of slots, and the solutions.

Everything that depends on profiles alone is computed once for all trees whose profiles match the
request alike. Only amounts are compared tree by tree. If the structure allows few combinations of
slots, all of its solutions are checked against each tree, in the order of the tree. If it allows
many, each tree is a constraint problem of its own.
"""

import array
import functools
import math
import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.search.candidate import Candidate, Layout
from placement.search.model.provider import Provider
from placement.search.model.tree import Shape, Solutions, Structure, Tree, UsedAmounts
from placement.search.solver import backtracking
from placement.search.solver.backtracking import TreeDeferred, assignments
from placement.search.solver.nogoods import NogoodStore
from placement.search.solver.problem import Assignment, problem_for
from placement.search.solver.resolved_request import fits
from placement.search.solver.search import Search
from placement.search.solver.slots import Occupants, Slots
from placement.search.solver.tree_order import (
    KeyRules,
    KnownKeys,
    SolutionOrder,
    Take,
    ValueOrder,
    in_order,
)
from placement.search.solver.work import BoundedCache

# Maximum number of combinations of slots for which all solutions are generated.
FEW = 64
# Maximum number of remembered states of trees without candidates.
MAX_INFEASIBLE = 1024

# Steps without a solution, in addition to two for each slot of each provider request, after which
# the first solution of the last tree is tried.
PATIENCE = 500

_AMOUNTS = operator.attrgetter('amounts')

# The differences between trees of a plan: their shape, and the usage of the slots.
State = tuple[Shape, UsedAmounts]
# A layout, and the slots of its providers.
Placing = tuple[Layout, tuple[int, ...]]
# The ids of the sharing providers that can serve each provider request.
SharedDomains = tuple[frozenset[int], ...]


class Solution(NamedTuple):
    """An assignment that the structure of a tree allows, to be checked against amounts."""

    assignment: Assignment
    layout: Layout
    # The slots of the providers of the layout.
    slots: tuple[int, ...]
    takes: Sequence[Take]
    # Sharing providers alone serve the request, so other trees may have the same solution.
    is_all_shared: bool

    def fits(self, occupants: Occupants) -> bool:
        """True if these providers have room for the amounts."""
        _, kinds, usage = occupants
        # A loop, because this runs for each host, and most solutions have one take.
        for take in self.takes:  # noqa: SIM110
            if not take.fits(kinds[take.slot], usage[take.slot]):
                return False
        return True


class First(NamedTuple):
    """The first solution of a tree, and the state of the tree."""

    state: State
    solution: Solution


class Plan:
    """The plan of a request for one structure."""

    def __init__(
        self, search: Search, structure: Structure, sharing: Sequence[Provider], root_id: int
    ) -> None:
        self.search = search
        self.slots = Slots(search, structure, sharing)
        # By number of the provider request; equal requests have one domain.
        domains = self.slots.domains(root_id)
        self._domains = dict(
            zip([request.number for request in search.distinct], domains, strict=True)
        )
        self._alike = [request.alike for request in search.resolved.provider_requests]
        self.is_infeasible = not (suits_root(search, structure) and all(domains))
        self._is_small = math.prod([len(self._domains[alike]) for alike in self._alike]) <= FEW
        self._patience = PATIENCE + 2 * sum(len(self._domains[alike]) for alike in self._alike)
        slots_used = {slot for domain in domains for slot in domain}
        self.uses_members = not all(map(self._is_sharing, slots_used))
        self.may_be_all_shared = all(any(map(self._is_sharing, domain)) for domain in domains)
        self._last: First | None = None
        self._takes: dict[tuple[int, tuple[int, ...]], Take] = {}
        self._solutions: dict[int, Solution] = {}
        # Draws sharing providers; None if there are none or the order is not random.
        self._draws = search.random if any(map(self._is_sharing, slots_used)) else None
        self._shared_domains: SharedDomains | None = None
        self._nogoods = NogoodStore()
        self._infeasible: BoundedCache[State, bool] = BoundedCache(MAX_INFEASIBLE)

    def _is_sharing(self, slot: int) -> bool:
        """True if the provider in the slot shares, in this tree or from another."""
        return self.slots.profiles[slot].is_sharing

    def shared_domains(self, tree: Tree) -> SharedDomains:
        """For each provider request, the ids of the sharing providers that can serve it."""
        # A tree with sharing members has a plan of its own, so all trees of a plan agree.
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
        """Every candidate of the tree until it is closed, in its order.

        `needs_member` excludes the candidates of sharing providers alone, which another anchor
        yields.

        :raises BudgetSpent: the budget is spent
        :raises TreeDeferred: in the first pass, the first candidate is hard to find
        """
        search, work = self.search, self.search.work
        occupants = self.slots.occupants(tree)
        found = (
            self._known_solutions(tree, occupants, needs_member)
            if self._is_small
            else self._searched(tree.shape, occupants, needs_member, is_first_pass)
        )
        for layout, slots in found:
            work.spent += search.steps_per_candidate
            yield Candidate(layout, tuple([occupants[0][slot] for slot in slots]))
            if tree.root_id in search.closed:
                return
            work.check()

    def forget_last(self) -> None:
        """Forget the solution of the last tree, so that the next tree is searched anyway."""
        self._last = None

    def _known_solutions(
        self, tree: Tree, occupants: Occupants, needs_member: bool
    ) -> Iterator[Placing]:
        """The solutions that fit a tree, out of the few of its structure."""
        solutions = self._solutions
        fitting = None if self._has_one_order else self._fitting_in_order(tree, occupants)
        if fitting is not None:
            for number in fitting:
                solution = solutions.get(number) or self._numbered(number)
                if not (needs_member and solution.is_all_shared):
                    yield solution.layout, solution.slots
            return
        for number in self._all_numbers if self._draws is None else self._drawn_numbers():
            solution = solutions.get(number) or self._numbered(number)
            if solution.fits(occupants) and not (needs_member and solution.is_all_shared):
                yield solution.layout, solution.slots

    def _fitting_in_order(self, tree: Tree, occupants: Occupants) -> Sequence[int] | None:
        """The numbers of the solutions that fit a tree, in its order, or None for the order of
        ids."""
        known = tree.solutions.get(self._kept_as) if self._kept_as else None
        if known is None:
            order = self._solution_order
            if not order.is_needed:
                return None
            keys = order.keys(occupants)
            numbers = in_order(keys, self._drawn_numbers()) if keys else ()
            # An array, which saves memory: there are many trees.
            known = Solutions(array.array('H', numbers), order.steps)
            if self._kept_as:
                tree.keep(self._kept_as, known)
        self.search.work.spent += known.steps
        return known.numbers

    @functools.cached_property
    def _has_one_order(self) -> bool:
        """True if the solutions of every tree are in the order of their ids."""
        return not self.search.is_ordered or len(self._all_assignments) < 2

    @functools.cached_property
    def _kept_as(self) -> str:
        """Key of the solutions cached on a tree; empty if they depend on other trees."""
        return '' if self.slots.has_sharing else self.search.kept_as

    @functools.cached_property
    def _all_numbers(self) -> Sequence[int]:
        """The numbers of all solutions, in the order of their ids."""
        return range(len(self._all_assignments))

    def _drawn_numbers(self) -> Sequence[int]:
        """The numbers of all solutions; in a random order, solutions that differ in sharing
        providers only are shuffled among each other."""
        if self._draws is None:
            return self._all_numbers
        drawn = self._draws.sample(self._all_numbers, len(self._all_numbers))
        return sorted(drawn, key=self._alike_but_for_sharing.__getitem__)

    @functools.cached_property
    def _solution_order(self) -> SolutionOrder:
        """The order of all solutions."""
        return SolutionOrder(self._keys, list(map(self._takes_of, self._all_assignments)))

    @functools.cached_property
    def _alike_but_for_sharing(self) -> Sequence[int]:
        """For each solution, the number of the first with the same members of the tree."""
        first = dict[tuple[int, ...], int]()
        return [
            first.setdefault(
                tuple([-1 if self._is_sharing(slot) else slot for slot in assignment]), number
            )
            for number, assignment in enumerate(self._all_assignments)
        ]

    @functools.cached_property
    def _keys(self) -> KnownKeys:
        """The keys of takes from the slots."""
        return KnownKeys(KeyRules(self.search, self.slots))

    @functools.cached_property
    def _all_assignments(self) -> Sequence[Assignment]:
        """Every assignment that the structure allows, for any amounts."""
        search = self.search
        domains = [list(self._domains[alike]) for alike in self._alike]
        problem = problem_for(search, self.slots, domains)
        return list(assignments(problem, self._nogoods, search.work)) if problem else ()

    def _numbered(self, number: int) -> Solution:
        """The solution with this number, cached."""
        solution = self._solutions[number] = self._solution(self._all_assignments[number])
        return solution

    def _searched(
        self, shape: Shape, occupants: Occupants, needs_member: bool, is_first_pass: bool
    ) -> Iterator[Placing]:
        """The solutions of a tree whose structure allows many, as they are found.

        Hosts are mostly alike, so the first solution of one tree often fits the next, which saves
        a search of each. It comes first if candidates are in the order of ids, or if both trees
        have the same state. Otherwise it comes first if the search of the tree finds none within
        `PATIENCE`.
        """
        state = shape, occupants[2]
        # The search runs first if there is no such solution, or with some patience if its place in
        # the order of this tree is unknown.
        known = self._first_of_last(occupants, needs_member)
        if known is None or (self.search.is_ordered and known.state != state):
            patience = self._patience if known else backtracking.SLICE if is_first_pass else None
            try:
                yield from self._found(state, occupants, needs_member, patience)
                return
            except TreeDeferred:
                if known is None:
                    raise
        yield known.solution.layout, known.solution.slots
        for assignment in self._assignments(occupants, needs_member):
            if assignment != known.solution.assignment:
                yield self._layout(assignment)

    def _found(
        self, state: State, occupants: Occupants, needs_member: bool, patience: int | None
    ) -> Iterator[Placing]:
        """The solutions of a tree as they are found.

        Remembers the first one, or the state of a tree without any.
        """
        if state in self._infeasible:
            return
        is_empty = True
        for assignment in self._assignments(occupants, needs_member, patience):
            if is_empty and self.search.random is None:
                self._last = First(state, self._solution(assignment))
            is_empty = False
            yield self._layout(assignment)
        if is_empty and not needs_member:
            self._infeasible.add(state, True)

    def _first_of_last(self, occupants: Occupants, needs_member: bool) -> First | None:
        """The first solution of the last tree searched, if it fits this one."""
        last = self._last
        if last is None or (needs_member and last.solution.is_all_shared):
            return None
        return last if last.solution.fits(occupants) else None

    def _assignments(
        self, occupants: Occupants, needs_member: bool, patience: int | None = None
    ) -> Iterator[Assignment]:
        """Every assignment in a tree."""
        search, domains = self.search, self._open_domains(occupants)
        if not all(domains):
            return iter(())
        if self._draws is not None:
            domains = [self._drawn(domain, self._draws) for domain in domains]
        problem = problem_for(search, self.slots, domains, occupants, needs_member)
        if problem is None:
            return iter(())
        values = None
        if self._has_ordered_values:
            values = ValueOrder(self._keys, occupants, self._single_takes, search.work)
        return assignments(problem, self._nogoods, search.work, patience, values)

    @functools.cached_property
    def _has_ordered_values(self) -> bool:
        """True if the slots of some provider request are not in the order of ids."""
        slots = {slot for domain in self._domains.values() for slot in domain}
        return self.search.is_ordered and any(self._keys.rules.matters[slot] for slot in slots)

    def _drawn(self, domain: Sequence[int], generator: random.Random) -> list[int]:
        """A domain with its sharing providers in random order, after the members of the tree."""
        members = [slot for slot in domain if not self._is_sharing(slot)]
        sharing = [slot for slot in domain if self._is_sharing(slot)]
        return members + generator.sample(sharing, len(sharing))

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
        """The solution of an assignment."""
        layout, slots = self._layout(assignment)
        is_all_shared = self.may_be_all_shared and all(map(self._is_sharing, slots))
        return Solution(assignment, layout, slots, self._takes_of(assignment), is_all_shared)

    def _takes_of(self, assignment: Assignment) -> Sequence[Take]:
        """The amounts that an assignment takes from each slot."""
        takes = map(self._take, assignment, [(alike,) for alike in self._alike])
        if len(set(assignment)) < len(assignment):
            by_slot: dict[int, list[int]] = {}
            for alike, slot in zip(self._alike, assignment, strict=True):
                by_slot.setdefault(slot, []).append(alike)
            takes = map(self._take, by_slot, map(tuple, by_slot.values()))
        return tuple(filter(_AMOUNTS, takes))

    @functools.cached_property
    def _single_takes(self) -> Sequence[Mapping[int, Take]]:
        """The take of each provider request alone, by slot."""
        takes = {
            alike: {slot: self._take(slot, (alike,)) for slot in domain}
            for alike, domain in self._domains.items()
        }
        return [takes[alike] for alike in self._alike]

    def _take(self, slot: int, requests: tuple[int, ...]) -> Take:
        """The single take of some provider requests, by number, from a slot."""
        take = self._takes.get((slot, requests))
        if take is None:
            demands = [self._domains[number][slot] for number in requests]
            take = self._takes[slot, requests] = Take.of(slot, demands)
        return take

    def _layout(self, assignment: Assignment) -> Placing:
        slots = tuple(dict.fromkeys(assignment))
        numbers = {slot: number for number, slot in enumerate(slots)}
        return self.search.layout(tuple([numbers[slot] for slot in assignment])), slots


def suits_root(search: Search, structure: Structure) -> bool:
    """True if the root meets `root_required`, required and forbidden."""
    failed = search.failed_as_root(structure.profiles[0])
    return not failed & search.resolved.bits.of_root
