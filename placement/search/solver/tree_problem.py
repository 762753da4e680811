# SPDX-License-Identifier: Apache-2.0
"""The constraint problem of a tree, made of the slots that are open to each provider request."""

from collections.abc import Callable, Mapping, Sequence

from placement.search.solver.assignment_problem import Problem, Room, Variable, contested_amounts
from placement.search.solver.provider_request import ProviderRequest
from placement.search.solver.search_state import Search
from placement.search.solver.slots import Slots

# How much of a class one candidate may take from a slot.
RoomOf = Callable[[int, str], int]

NOTHING: Mapping[int, int] = {}


def problem_for(
    search: Search,
    slots: Slots,
    domains: Sequence[Sequence[int]],
    room_of: RoomOf,
    needs_member: bool,
) -> Problem:
    """The problem of giving each provider request one slot of its domain.

    With `needs_member` somebody has to serve who is no sharing provider.
    """
    resolved = search.resolved
    search.work.spent += sum(map(len, domains))
    room = _room(resolved.contested, domains, room_of)
    contested = contested_amounts(resolved.contested, domains, room)
    trees = slots.trees() if resolved.request.single_provider_per_tree else None
    variables = [
        Variable(
            domain,
            contested[request.number],
            resolved.exclusive[request.number],
            _gains(search, slots, request, domain, needs_member),
            trees if request.amounts else None,
            resolved.alike[request.number],
            resolved.weights[request.number],
        )
        for request, domain in zip(resolved.provider_requests, domains, strict=True)
    ]
    goal = (1 << (len(resolved.collected) + needs_member)) - 1
    if not resolved.constraints:
        return Problem(variables, room, goal)
    return Problem(variables, room, goal, resolved.constraints, slots.parents, slots.ancestry)


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
