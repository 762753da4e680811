# SPDX-License-Identifier: Apache-2.0
"""A request laid over trees of one structure: which slots can serve what, and in which ways.

What depends on profiles alone is worked out once for all trees whose members have the same roles.
What depends on capacities is worked out for each shape, and for each tree it remains to compare
numbers.  Where the ways to choose slots are few, all solutions are kept and checked against each
tree; where they are many, each tree is a constraint problem of its own.
"""

import itertools
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.tree import Shape, Structure, Tree
from placement.search.solver.backtracking import Assignment, StoreByOrder, assignments
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.domains import DomainValue, Refusals, members_for, sharing_for
from placement.search.solver.provider_request import capacity_refusal
from placement.search.solver.search_state import Search
from placement.search.solver.slots import Slots
from placement.search.solver.solution import Check, Solution, Taking, fits
from placement.search.solver.tally import ROOT, Reason
from placement.search.solver.tree_problem import RoomOf, problem_for

# Up to this many ways to choose a slot for each provider request, all solutions are kept.
FEW = 64

# For how many shapes, or assignments, a plan keeps what was worked out.
MAX_ENTRIES = 1024

# The ids of the sharing providers that can serve each provider request.
SharedDomains = tuple[frozenset[int], ...]
# The slots that the capacities of a shape admit, each with what its usage is compared with, by the
# number of the first provider request that asks for the same.
Admitted = dict[int, list[tuple[int, tuple[Check, ...]]]]


class Plan:
    """A request laid over one structure.

    `domains` holds for each provider request the slots that can serve it. `refusals` counts why
    other slots cannot, `trees` how many trees were looked at with this plan.
    """

    def __init__(
        self, search: Search, structure: Structure, sharing: Sequence[Provider], root_id: int
    ) -> None:
        self.search = search
        self.slots = Slots(search.snapshot, structure, sharing, search.ignores_usage)
        self.trees = 0
        self.refusals: Counter[tuple[str, Reason]] = Counter()
        # Of provider requests that ask for the same, by the number of the first.
        self._distinct: dict[int, list[DomainValue]] = {}
        self.domains: list[list[DomainValue]] = [[]]
        if self._suits_root(structure.profiles[0]):
            self.domains = self._find_domains(root_id)
        distinct = self._distinct.values()
        self.is_infeasible = not all(self.domains)
        self.is_small = math.prod(map(len, self.domains)) <= FEW
        self.uses_members = any(
            not self.is_sharing(value.slot) for domain in distinct for value in domain
        )
        self.may_be_all_shared = all(
            any(self.is_sharing(value.slot) for value in domain) for domain in distinct
        )
        self._positions = self._class_positions()
        self._shared_domains: SharedDomains | None = None
        self._stores = StoreByOrder()
        self._admitted: BoundedCache[Shape, Admitted] = BoundedCache(MAX_ENTRIES)

    def _find_domains(self, root_id: int) -> list[list[DomainValue]]:
        resolved, refusals = self.search.resolved, dict[int, Refusals]()
        for request in resolved.provider_requests:
            alike = resolved.alike[request.number]
            if alike not in self._distinct:
                refusals[alike] = Counter()
                self.search.work.spent += len(self.slots.profiles)
                self._distinct[alike] = [
                    *members_for(request, self.slots, root_id, refusals[alike]),
                    *sharing_for(request, self.slots, refusals[alike]),
                ]
            for reason, count in refusals[alike].items():
                self.refusals[request.group.suffix, reason] += count
        return [self._distinct[alike] for alike in resolved.alike]

    def _suits_root(self, root: Profile) -> bool:
        request = self.search.request
        if not request.root_required <= root.traits:
            self.refusals[ROOT, Reason.REQUIRED_TRAIT] += 1
            return False
        if not request.root_forbidden.isdisjoint(root.traits):
            self.refusals[ROOT, Reason.FORBIDDEN_TRAIT] += 1
            return False
        return True

    def _class_positions(self) -> dict[tuple[int, str], int]:
        """The position of each class that something is asked of, by slot."""
        requests = self.search.resolved.provider_requests
        return {
            (value.slot, name): position
            for alike, domain in self._distinct.items()
            for value in domain
            for name, (position, _) in zip(requests[alike].amounts, value.match.needs, strict=True)
        }

    def is_sharing(self, slot: int) -> bool:
        """Whether the provider in the slot is a sharing one, of this tree or of another."""
        return self.slots.profiles[slot].is_sharing

    def settle(self) -> None:
        """Add to the tally what was refused in the trees looked at so far."""
        for (where, reason), count in self.refusals.items():
            self.search.tally.add(where, reason, count * self.trees)
        self.trees = 0

    def shared_domains(self, tree: Tree) -> SharedDomains:
        """For each provider request, the ids of the sharing providers that can serve it."""
        # Sharing members of a tree have a plan of their own, so all trees of a plan agree.
        if self._shared_domains is None:
            self._shared_domains = self._find_shared_domains(tree)
        return self._shared_domains

    def _find_shared_domains(self, tree: Tree) -> SharedDomains:
        providers = self.providers(tree)
        return tuple(
            [
                frozenset([providers[slot].id for slot in domain if self.is_sharing(slot)])
                for domain in self.open_domains(tree)
            ]
        )

    def providers(self, tree: Tree) -> Sequence[Provider]:
        """The provider in each slot."""
        return (*tree.members, *self.slots.sharing) if self.slots.sharing else tree.members

    def open_domains(self, tree: Tree) -> list[list[int]]:
        """For each provider request, the slots that have room for it alone in this tree."""
        usage, work = self.search.usage_of(tree), self.search.work
        open_slots = {}
        for alike, domain in self._admitted_by(tree.shape).items():
            work.spent += len(domain)
            open_slots[alike] = [slot for slot, checks in domain if fits(checks, usage)]
        return [open_slots[alike] for alike in self.search.resolved.alike]

    def _admitted_by(self, shape: Shape) -> Admitted:
        admitted = self._admitted.get(shape)
        if admitted is None:
            admitted = {
                alike: list(self._admitted_values(domain, shape))
                for alike, domain in self._distinct.items()
            }
            self._admitted.add(shape, admitted)
        return admitted

    def _admitted_values(
        self, domain: Iterable[DomainValue], shape: Shape
    ) -> Iterator[tuple[int, tuple[Check, ...]]]:
        for slot, match in domain:
            if slot >= self.slots.size:
                yield slot, ()
                continue
            capacities = shape.kinds[slot].capacities
            if capacity_refusal(match.needs, capacities) is None:
                yield (
                    slot,
                    tuple(
                        [
                            (slot, position, capacities[position].ceiling - amount)
                            for position, amount in match.needs
                        ]
                    ),
                )

    def refusals_of(self, shape: Shape) -> Counter[tuple[str, Reason]]:
        """Why members of a shape cannot serve what their profiles could, beside usage."""
        refusals: Counter[tuple[str, Reason]] = Counter()
        for request, domain in zip(
            self.search.resolved.provider_requests, self.domains, strict=True
        ):
            for slot, match in domain:
                if slot < self.slots.size:
                    refusal = capacity_refusal(match.needs, shape.kinds[slot].capacities)
                    if refusal:
                        refusals[request.group.suffix, Reason(refusal.value)] += 1
        return refusals

    def solution(self, assignment: Assignment) -> Solution:
        """The assignment as a solution."""
        slots = tuple(dict.fromkeys(assignment))
        numbers = {slot: number for number, slot in enumerate(slots)}
        layout = self.search.layout(tuple([numbers[slot] for slot in assignment]))
        is_all_shared = self.may_be_all_shared and all(map(self.is_sharing, slots))
        return Solution(layout, slots, is_all_shared)

    def takings(self, assignment: Assignment) -> tuple[Taking, ...]:
        """What the assignment takes from members of the tree."""
        amounts: dict[tuple[int, str], list[int]] = {}
        for request, slot in zip(self.search.resolved.provider_requests, assignment, strict=True):
            if slot < self.slots.size:
                for name, amount in request.amounts.items():
                    amounts.setdefault((slot, name), []).append(amount)
        return tuple(
            Taking(slot, self._positions[slot, name], sum(of_slot), tuple(of_slot))
            for (slot, name), of_slot in amounts.items()
        )

    def assignments(
        self, domains: Sequence[Sequence[int]], room_of: RoomOf, needs_member: bool
    ) -> Iterable[Assignment | None]:
        """Every assignment within these domains, and None whenever a slice of work was done.

        With `needs_member` only those in which somebody serves who is no sharing provider.
        """
        problem = problem_for(self.search, self.slots, domains, room_of, needs_member)
        if problem is None:
            return ()
        if problem.is_independent:
            return itertools.product(*domains)
        return assignments(problem, self._stores, self.search.tally, self.search.work)

    def unlimited_room(self, slot: int, resource_class: str) -> int:
        """Room as far as the structure tells: that of members is without bound."""
        if slot < self.slots.size:
            return sys.maxsize
        return self.slots.sharing_room(slot, resource_class)

    def room_in(self, tree: Tree) -> RoomOf:
        """How much of a class one candidate may take from each slot of a tree."""
        usage, kinds = self.search.usage_of(tree), tree.shape.kinds
        slots, positions = self.slots, self._positions

        def room_of(slot: int, resource_class: str) -> int:
            if slot >= slots.size:
                return slots.sharing_room(slot, resource_class)
            position = positions[slot, resource_class]
            return kinds[slot].capacities[position].room(usage[slot][position])

        return room_of
