# SPDX-License-Identifier: Apache-2.0
"""The candidates with one tree as anchor.

Trees with a common plan come one after the other, so an object of this kind stays with the plan
and keeps what the next tree can use.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence

from placement.search.model.tree import Shape, Tree, Usage
from placement.search.solver.backtracking import Assignment
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.layout import Candidate
from placement.search.solver.plan import Plan
from placement.search.solver.solution import Check, Solution, Taking, checks_of, fits
from placement.search.solver.tally import COMBINATION, Reason

# For how many shapes the solutions that their capacities allow are kept.
MAX_SHAPES = 1024

# A solution with what it takes from members of the tree.
Taken = tuple[Solution, tuple[Taking, ...]]
# Candidates, and None whenever a slice of work was done.
Stream = Iterator[Candidate | None]


class CandidatesOfTree:
    """The candidates of any tree that a plan is good for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.search = plan.search
        self._by_shape: BoundedCache[Shape, dict[int, tuple[Check, ...] | None]] = BoundedCache(
            MAX_SHAPES
        )
        self._first_of_last: Assignment | None = None
        self._infeasible: BoundedCache[tuple[Shape, Usage], bool] = BoundedCache(MAX_SHAPES)

    def of(self, tree: Tree, needs_member: bool) -> Iterable[Candidate | None]:
        """Every candidate of the tree, and None whenever a slice of work was done.

        Raises `BudgetSpent`.

        It is a tuple where there is no more than one. With `needs_member` only candidates in
        which somebody serves who is no sharing provider: those of sharing providers alone are
        known already.
        """
        if not self.plan.is_small:
            return self._searched(tree, needs_member)
        solutions = self._solutions
        if len(solutions) == 1:
            return self._only(solutions[0][0], tree, needs_member)
        return self._fitting(tree, solutions, needs_member)

    def _only(self, solution: Solution, tree: Tree, needs_member: bool) -> Sequence[Candidate]:
        """The candidate of a tree where there is but one way to serve the request."""
        search = self.search
        known = self._by_shape.get(tree.shape)
        checks = self._checks(0, tree.shape) if known is None else known[0]
        if checks is None:
            self._count_refusals(tree)
            return ()
        if not fits(checks, search.usage_of(tree)):
            search.tally.add(COMBINATION, Reason.USED)
            return ()
        if needs_member and solution.is_all_shared:
            return ()
        search.work.spent += search.places_per_candidate
        return (solution.candidate(self.plan.providers(tree)),)

    def _checks(self, number: int, shape: Shape) -> tuple[Check, ...] | None:
        """What usage has to be compared with for a solution in trees of a shape; None where the
        capacities of the shape do not allow it."""
        known = self._by_shape.get(shape)
        if known is None:
            known = {}
            self._by_shape.add(shape, known)
        if number not in known:
            known[number] = checks_of(self._solutions[number][1], shape.kinds)
        return known[number]

    @functools.cached_property
    def _solutions(self) -> list[Taken]:
        """Every solution that the structure allows."""
        plan = self.plan
        domains = [[value.slot for value in domain] for domain in plan.domains]
        found = plan.assignments(domains, plan.unlimited_room, needs_member=False)
        return [(plan.solution(one), plan.takings(one)) for one in found if one is not None]

    def _count_refusals(self, tree: Tree) -> None:
        for (where, reason), count in self.plan.refusals_of(tree.shape).items():
            self.search.tally.add(where, reason, count)

    def _fitting(
        self, tree: Tree, solutions: Sequence[Taken], needs_member: bool
    ) -> Iterator[Candidate]:
        """The candidates of a tree among solutions that are known."""
        search, usage = self.search, self.search.usage_of(tree)
        providers = self.plan.providers(tree)
        numbers: Sequence[int] = range(len(solutions))
        if search.request.randomize:
            numbers = search.random.sample(numbers, len(numbers))
        is_empty = True
        for number in numbers:
            solution = solutions[number][0]
            checks = self._checks(number, tree.shape)
            if checks is None or not fits(checks, usage):
                continue
            is_empty = False
            if not (needs_member and solution.is_all_shared):
                search.work.spent += search.places_per_candidate
                yield solution.candidate(providers)
                search.work.check()
        if is_empty:
            self._count_refusals(tree)
            search.tally.add(COMBINATION, Reason.USED)

    def _searched(self, tree: Tree, needs_member: bool) -> Stream:
        """The candidates of a tree that is searched.

        What served the last tree first is tried first: hosts are mostly alike, and whoever wants
        one candidate of each of a thousand needs one search instead of a thousand.
        """
        plan, search, providers = self.plan, self.search, self.plan.providers(tree)
        state = (tree.shape, search.usage_of(tree))
        if state in self._infeasible:
            return
        first = self._first_of_last
        if first is not None and self._serves(first, tree, needs_member):
            search.work.spent += search.places_per_candidate
            yield plan.solution(first).candidate(providers)
            search.work.check()
        else:
            first = None
        is_empty = first is None
        for assignment in self._searched_assignments(tree, needs_member):
            if assignment is None:
                yield None
            elif assignment != first:
                if is_empty and not search.request.randomize:
                    self._first_of_last = assignment
                is_empty = False
                search.work.spent += search.places_per_candidate
                yield plan.solution(assignment).candidate(providers)
                search.work.check()
        if is_empty and not needs_member:
            self._infeasible.add(state, True)

    def _serves(self, assignment: Assignment, tree: Tree, needs_member: bool) -> bool:
        """Whether the assignment is a solution in this tree, too."""
        if needs_member and all(map(self.plan.is_sharing, assignment)):
            return False
        checks = checks_of(self.plan.takings(assignment), tree.shape.kinds)
        return checks is not None and fits(checks, self.search.usage_of(tree))

    def _searched_assignments(self, tree: Tree, needs_member: bool) -> Iterable[Assignment | None]:
        plan, search = self.plan, self.search
        domains = plan.open_domains(tree)
        for request, domain in zip(search.resolved.provider_requests, domains, strict=True):
            if not domain:
                search.tally.add(request.group.suffix, Reason.USED)
                return ()
        if search.request.randomize:
            domains = [search.random.sample(domain, len(domain)) for domain in domains]
        return plan.assignments(domains, plan.room_in(tree), needs_member)
