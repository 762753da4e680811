# SPDX-License-Identifier: Apache-2.0
"""The constraint problem of a tree, made of the slots that are open to each provider request."""

from collections.abc import Callable, Mapping, Sequence

from placement.search.solver.assignment_problem import Problem, Room, Variable, contested_amounts
from placement.search.solver.provider_request import ProviderRequest
from placement.search.solver.search_state import Search
from placement.search.solver.slots import Slots
from placement.search.solver.tally import COMBINATION, Reason

# How much of a class one candidate may take from a slot.
RoomOf = Callable[[int, str], int]

NOTHING: Mapping[int, int] = {}


def problem_for(
    search: Search,
    slots: Slots,
    domains: Sequence[Sequence[int]],
    room_of: RoomOf,
    needs_member: bool,
) -> Problem | None:
    """The problem of giving each provider request one slot of its domain; None where some trait
    that the unsuffixed group collects is out of reach.

    With `needs_member` somebody has to serve who is no sharing provider.
    """
    resolved = search.resolved
    search.work.spent += sum(map(len, domains))
    goal = (1 << (len(resolved.collected) + needs_member)) - 1
    gains = [
        _gains(search, slots, request, domain, needs_member)
        for request, domain in zip(resolved.provider_requests, domains, strict=True)
    ]
    if goal:
        domains = useful_domains(domains, gains, goal)
        if not all(domains):
            search.tally.add(COMBINATION, Reason.REQUIRED_TRAIT)
            return None
    room = _room(resolved.contested, domains, room_of)
    contested = contested_amounts(resolved.contested, domains, room)
    trees = slots.trees() if resolved.request.single_provider_per_tree else None
    variables = [
        Variable(
            domain,
            contested[request.number],
            resolved.exclusive[request.number],
            gains[request.number],
            trees if request.amounts else None,
            resolved.alike[request.number],
            resolved.weights[request.number],
        )
        for request, domain in zip(resolved.provider_requests, domains, strict=True)
    ]
    if not resolved.constraints:
        return Problem(variables, room, goal)
    return Problem(variables, room, goal, resolved.constraints, slots.parents, slots.ancestry)


def useful_domains(
    domains: Sequence[Sequence[int]], gains: Sequence[Mapping[int, int]], goal: int
) -> list[Sequence[int]]:
    """The domains without the slots with which some bit of the goal could not be gained any more;
    some are empty where it cannot be gained at all.

    A bit that only one variable can gain has to be gained by it, whichever slot that takes.
    """
    useful = list(domains)
    while True:
        by_variable = [_bits(domain, of) for domain, of in zip(useful, gains, strict=True)]
        once = several = 0
        for bits in by_variable:
            several |= once & bits
            once |= bits
        if once & goal != goal:
            return [()] * len(useful)
        is_settled = True
        for number, bits in enumerate(by_variable):
            if needed := bits & ~several & goal:
                kept = [slot for slot in useful[number] if gains[number][slot] & needed == needed]
                if len(kept) < len(useful[number]):
                    useful[number], is_settled = kept, False
        if is_settled:
            return useful


def _bits(domain: Sequence[int], gains: Mapping[int, int]) -> int:
    """All bits that some slot of a domain gains."""
    bits = 0
    if gains:
        for slot in domain:
            bits |= gains[slot]
    return bits


def _room(
    contested: Sequence[tuple[tuple[str, int], ...]],
    domains: Sequence[Sequence[int]],
    room_of: RoomOf,
) -> Room:
    return {
        (slot, name): room_of(slot, name)
        for amounts, domain in zip(contested, domains, strict=True)
        for name, _ in amounts
        for slot in domain
    }


def _gains(
    search: Search,
    slots: Slots,
    request: ProviderRequest,
    domain: Sequence[int],
    needs_member: bool,
) -> Mapping[int, int]:
    """Which of the traits that the unsuffixed group collects each slot would bring, and whether
    it is a provider that is no sharing one."""
    collected = 0 if request.is_suffixed else len(search.resolved.collected)
    if not collected and not needs_member:
        return NOTHING
    member_bit = 1 << len(search.resolved.collected)
    profiles = slots.profiles
    return {
        slot: (search.traits_brought_by(profiles[slot]) if collected else 0)
        | (member_bit if needs_member and not profiles[slot].is_sharing else 0)
        for slot in domain
    }
