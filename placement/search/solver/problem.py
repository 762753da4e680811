# SPDX-License-Identifier: Apache-2.0
"""The constraint problem of one tree: variables, domains, constraints, and the decision order.

Each provider request is a variable; its domain are the slots that have room for it alone. The
constraints are the room of each slot, exclusive slots, traits to be collected, and same_subtree.

same_subtree is made part of the problem by a variable of its own. The providers of a constrained
set of groups have exactly one topmost among them: once the first of the groups has a slot, the
next decision says which slot is the root of the subtree, itself or an ancestor, and whatever
follows has to lie beneath. So an assignment is still found in one way only. Specification:
allocation_candidates, "Combining groups".
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.tree import Ancestry
from placement.search.solver.resolved_request import ProviderRequest
from placement.search.solver.search import Search
from placement.search.solver.slots import Occupants, Slots

# The slot of each provider request.
Assignment = tuple[int, ...]
# How much of a class one candidate may take from a slot.
Room = Mapping[tuple[int, str], int]
NOTHING: Mapping[int, int] = {}
NO_ANCESTRY = Ancestry()


class Variable(NamedTuple):
    """One provider request, and the slots that can serve it if it is alone.

    `amounts` names contested classes only: those of which a slot may run short. Exclusive
    variables take a slot for themselves among each other. `covers` holds the bits of the goal that
    each slot covers. Where `trees` gives the tree of each slot, the variables that have it do not
    use two slots of one tree. `alike` is the number of the first variable that asks for the same,
    `weight` says how large it is beside the others.
    """

    domain: Sequence[int]
    amounts: tuple[tuple[str, int], ...] = ()
    is_exclusive: bool = False
    covers: Mapping[int, int] = NOTHING
    trees: Sequence[int] | None = None
    alike: int = -1
    weight: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Variables to be assigned together, within the room of each slot for each contested class.

    Each bit of `goal` has to be covered by some variable; it stands for a trait. Constraints are
    sets of variables, by number, each to be kept in a subtree with one of them as its root.
    `parents` gives the slot of each slot's parent, or -1, and `ancestry` tells which slots are
    above which others.
    """

    variables: Sequence[Variable]
    room: Room
    goal: int = 0
    constraints: Sequence[frozenset[int]] = ()
    parents: Sequence[int] = ()
    ancestry: Ancestry = NO_ANCESTRY

    @property
    def is_independent(self) -> bool:
        """Return whether every choice of slots is a solution."""
        return not (
            self.goal
            or self.constraints
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
    """The problem of giving each provider request one slot of its domain; None where some trait
    that the unsuffixed group collects is out of reach.

    Without occupants members have room for everything. With `needs_member` some provider
    has to serve that is no sharing one.
    """
    resolved = search.resolved
    requests = resolved.provider_requests
    search.work.spent += sum(map(len, domains))
    goal = (1 << (len(resolved.collected) + needs_member)) - 1
    covers = [
        _covers(search, slots, request, domain, needs_member)
        for request, domain in zip(requests, domains, strict=True)
    ]
    if goal:
        domains = useful_domains(domains, covers, goal)
        if not all(domains):
            return None
    room = _room(requests, domains, slots, occupants)
    contested = _scarce(requests, domains, room)
    trees = slots.trees if resolved.request.single_provider_per_tree else None
    variables = [
        Variable(
            domains[number],
            contested[number],
            request.is_exclusive,
            covers[number],
            trees if request.amounts else None,
            request.alike,
            request.weight,
        )
        for number, request in enumerate(requests)
    ]
    if not resolved.constraints:
        return Problem(variables, room, goal)
    return Problem(variables, room, goal, resolved.constraints, slots.parents, slots.ancestry)


def _covers(
    search: Search,
    slots: Slots,
    request: ProviderRequest,
    domain: Sequence[int],
    needs_member: bool,
) -> Mapping[int, int]:
    """The traits that the unsuffixed group collects and each slot brings, and a bit for providers
    that are no sharing ones."""
    collected = 0 if request.is_suffixed else len(search.resolved.collected)
    if not collected and not needs_member:
        return NOTHING
    member_bit = 1 << len(search.resolved.collected)
    covers = {}
    for slot in domain:
        profile = slots.profiles[slot]
        covers[slot] = search.answer(profile).collected if collected else 0
        if needs_member and not profile.is_sharing:
            covers[slot] |= member_bit
    return covers


def useful_domains(
    domains: Sequence[Sequence[int]], covers: Sequence[Mapping[int, int]], goal: int
) -> list[Sequence[int]]:
    """The domains without the slots with which some bit of the goal could not be covered any more;
    all are empty where it cannot be covered at all.

    A bit that only one variable can cover has to be covered by it, whichever slot that takes.
    """
    useful = list(domains)
    while True:
        by_variable = [_bits(domain, of) for domain, of in zip(useful, covers, strict=True)]
        once = several = 0
        for bits in by_variable:
            several |= once & bits
            once |= bits
        if once & goal != goal:
            return [()] * len(useful)
        is_settled = True
        for number, bits in enumerate(by_variable):
            if needed := bits & ~several & goal:
                kept = [slot for slot in useful[number] if covers[number][slot] & needed == needed]
                if len(kept) < len(useful[number]):
                    useful[number], is_settled = kept, False
        if is_settled:
            return useful


def _bits(domain: Sequence[int], covers: Mapping[int, int]) -> int:
    """All bits that some slot of a domain covers."""
    bits = 0
    if covers:
        for slot in domain:
            bits |= covers[slot]
    return bits


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
    """The amounts of each variable without the classes that no slot can run short of.

    A slot with room for all that is asked of a class does not run short, whoever takes it.
    """
    totals: dict[str, int] = {}
    least: dict[str, int] = {}
    for request, domain in zip(requests, domains, strict=True):
        for name, amount in request.contested:
            totals[name] = totals.get(name, 0) + amount
            of_slots = min([room[slot, name] for slot in domain])
            least[name] = min(least.get(name, of_slots), of_slots)
    scarce = {name for name, total in totals.items() if least[name] < total}
    return [
        tuple([item for item in request.contested if item[0] in scarce]) for request in requests
    ]


# The decisions of a search, in order: variables by number, and ~c for the root of the subtree
# that constraint c asks for.
Order = tuple[int, ...]


def decision_order(problem: Problem) -> Order:
    """Those that cover bits of the goal first, then the smallest domains, and of these the largest
    amounts.

    What is hard to assign is assigned while there is room; what is left over is easy. The
    variables of a constraint follow each other, with the root of their subtree after the first of
    them.
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

    # What comes next is on top of the stack; dict keys, because they keep their order.
    order: dict[int, None] = {}
    stack = hardest_first(range(len(problem.variables)))[::-1]
    opened: set[int] = set()
    while stack:
        item = stack.pop()
        if item in order:
            continue
        order[item] = None
        for number, members in enumerate(problem.constraints):
            if item in members and number not in opened:
                opened.add(number)
                stack.extend(reversed(hardest_first(members)))
                stack.append(~number)
    return tuple(order)
