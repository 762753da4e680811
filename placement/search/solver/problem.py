# SPDX-License-Identifier: Apache-2.0
"""The constraint problem of one tree: variables, domains, constraints, and the decision order.

Each provider request is a variable. Its domain consists of the slots with room for it alone. The
constraints are the room of each slot, exclusive slots, traits to collect, and same_subtree.

Specification:
allocation_candidates, "Combining groups".
"""

import dataclasses
import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.tree import Ancestry
from placement.search.solver.resolved_request import ProviderRequest
from placement.search.solver.search import Search
from placement.search.solver.slots import Occupants, Slots
from placement.search.solver.subtree import Room, possible_roots, slots_within

# The slot of each provider request.
Assignment = tuple[int, ...]
NOTHING: Mapping[int, int] = {}
NO_ANCESTRY = Ancestry()


class Variable(NamedTuple):
    """One provider request, and the slots that can serve it alone."""

    domain: Sequence[int]
    # Of contested classes only: those of which a slot may run short.
    amounts: tuple[tuple[str, int], ...] = ()
    # No two exclusive variables get the same slot.
    is_exclusive: bool = False
    # The bits of the goal that each slot covers.
    covers: Mapping[int, int] = NOTHING
    # The tree of each slot, of which the variables must not use two slots; None without this rule.
    trees: Sequence[int] | None = None
    # The number of the first variable with the same request and domain.
    alike: int = -1
    # Size relative to the other variables; see `ProviderRequest`.
    weight: float = 0.0

    @property
    def bits(self) -> int:
        """All bits that some slot covers."""
        return functools.reduce(operator.or_, self.covers.values(), 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Variables to assign together, within the room of each slot for each contested class."""

    variables: Sequence[Variable]
    room: Room
    # A bit for each trait that some variable has to cover.
    goal: int = 0
    # Sets of variables, by number, one of which must have a slot above those of the others.
    subtrees: Sequence[frozenset[int]] = ()
    # The slots above each slot.
    ancestry: Ancestry = NO_ANCESTRY

    @property
    def is_independent(self) -> bool:
        """True if every combination of slots is a solution."""
        return not (
            self.goal
            or self.subtrees
            or any(variable.amounts or variable.trees is not None for variable in self.variables)
            or sum(variable.is_exclusive for variable in self.variables) > 1
        )


def problem_for(
    search: Search,
    slots: Slots,
    domains: Sequence[Sequence[int]],
    occupants: Occupants | None = None,
    needs_member: bool = False,
) -> Problem | None:
    """The problem of giving each provider request one slot of its domain.

    None if no slot has some trait that the unsuffixed group collects. Without occupants, members
    have unlimited room. `needs_member` excludes solutions of sharing providers alone.
    """
    resolved = search.resolved
    requests = resolved.provider_requests
    search.work.spent += sum(map(len, domains))
    goal = resolved.collected | (resolved.bits.member if needs_member else 0)
    covers = [
        _covers(search, slots, request, domain, needs_member)
        for request, domain in zip(requests, domains, strict=True)
    ]
    room = _room(requests, domains, slots, occupants)
    subtrees = resolved.constraints
    if subtrees:
        domains = _joined(search, slots, domains, room)
        if not all(domains):
            return None
    contested = _scarce(requests, domains, room)
    alike = _alike(requests, domains, bool(subtrees))
    trees = slots.trees if resolved.request.single_provider_per_tree else None
    variables = [
        Variable(
            domains[number],
            contested[number],
            request.is_exclusive,
            covers[number],
            trees if request.amounts else None,
            alike[number],
            request.weight,
        )
        for number, request in enumerate(requests)
    ]
    ancestry = slots.ancestry if subtrees else NO_ANCESTRY
    return Problem(variables, room, goal, subtrees, ancestry)


def _joined(
    search: Search, slots: Slots, domains: Sequence[Sequence[int]], room: Room
) -> Sequence[Sequence[int]]:
    """The domains without slots that no possible root of their subtree contains."""
    requests, joined = search.resolved.provider_requests, list(domains)
    for members in search.resolved.constraints:
        roots = possible_roots(
            [requests[number] for number in members],
            [joined[number] for number in members],
            room,
            slots.ancestry,
            search.work,
        )
        within = slots_within(roots, slots.ancestry)
        for number in members:
            joined[number] = [slot for slot in joined[number] if slot in within]
    return joined


def _covers(
    search: Search,
    slots: Slots,
    request: ProviderRequest,
    domain: Sequence[int],
    needs_member: bool,
) -> Mapping[int, int]:
    """For each slot, the bits of the traits to collect that it has, and a bit if its provider does
    not share."""
    collected = 0 if request.is_suffixed else search.resolved.collected
    if not collected and not needs_member:
        return NOTHING
    covers = {}
    for slot in domain:
        profile = slots.profiles[slot]
        covers[slot] = collected & ~search.answer(profile).failed
        if needs_member and not profile.is_sharing:
            covers[slot] |= search.resolved.bits.member
    return covers


def _room(
    requests: Sequence[ProviderRequest],
    domains: Sequence[Sequence[int]],
    slots: Slots,
    occupants: Occupants | None,
) -> Room:
    return {
        (slot, name): slots.room(slot, name, occupants)
        for request, domain in zip(requests, domains, strict=True)
        for name, _ in request.contested
        for slot in domain
    }


def _scarce(
    requests: Sequence[ProviderRequest], domains: Sequence[Sequence[int]], room: Room
) -> list[tuple[tuple[str, int], ...]]:
    """The amounts of each variable, without classes of which no slot can run short.

    A slot with room for the total amount of a class cannot run short of it.
    """
    totals: dict[str, int] = {}
    smallest: dict[str, int] = {}
    for request, domain in zip(requests, domains, strict=True):
        for name, amount in request.contested:
            totals[name] = totals.get(name, 0) + amount
            of_slots = min([room[slot, name] for slot in domain])
            smallest[name] = min(smallest.get(name, of_slots), of_slots)
    scarce = {name for name, total in totals.items() if smallest[name] < total}
    return [
        tuple([item for item in request.contested if item[0] in scarce]) for request in requests
    ]


def _alike(
    requests: Sequence[ProviderRequest], domains: Sequence[Sequence[int]], differ: bool
) -> list[int]:
    """For each request, the number of the first equal one with the same domain.

    The domains of equal requests `differ` if their subtrees do.
    """
    if not differ:
        return [request.alike for request in requests]
    first: dict[object, int] = {}
    return [
        first.setdefault((request.alike, frozenset(domain)), request.number)
        for request, domain in zip(requests, domains, strict=True)
    ]


def decision_order(problem: Problem) -> Sequence[int]:
    """Order the variables, hardest first: variables that cover bits of the goal, then smaller
    domains, then larger amounts.

    Hard variables are assigned while there is room. The variables of a subtree follow each other.
    """

    def hardest_first(numbers: Iterable[int]) -> list[int]:
        return sorted(
            numbers,
            key=lambda number: (
                not problem.variables[number].covers,
                len(problem.variables[number].domain),
                -problem.variables[number].weight,
                problem.variables[number].alike,
                number,
            ),
        )

    # The next variable is on top of the stack. Dict keys keep their order.
    order: dict[int, None] = {}
    stack = hardest_first(range(len(problem.variables)))[::-1]
    opened: set[int] = set()
    while stack:
        item = stack.pop()
        if item in order:
            continue
        order[item] = None
        for number, members in enumerate(problem.subtrees):
            if item in members and number not in opened:
                opened.add(number)
                stack.extend(reversed(hardest_first(members)))
    return tuple(order)
