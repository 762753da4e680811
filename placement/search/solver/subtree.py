# SPDX-License-Identifier: Apache-2.0
"""The subtrees of same_subtree: among the providers of a set of groups, one is above the others.

Before the search, slots are dropped that no possible root contains. During the search, the lowest
slot above all slots chosen so far must itself be chosen, or a group without a slot must still be
able to get it or one above it. Specification: allocation_candidates, "Combining groups".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from placement.search.model.tree import Ancestry
from placement.search.solver.resolved_request import ProviderRequest
from placement.search.solver.work import Work

# Maximum amount of a class that one candidate may take from a slot.
Room = Mapping[tuple[int, str], int]


def possible_roots(
    requests: Sequence[ProviderRequest],
    domains: Sequence[Sequence[int]],
    room: Room,
    ancestry: Ancestry,
    work: Work,
) -> Set[int]:
    """Return the slots that can be the root of the subtree of these requests.

    The slots within each can serve all of the requests, are as many as the exclusive ones need,
    and have room for the total amount of each contested class.
    """
    parents = ancestry.parents
    needs = [*_needs(requests, domains, room, len(parents))]
    work.spent += len(parents) * (1 + len(needs)) // 2 + sum(map(len, domains))
    served = [0] * len(parents)
    for number, domain in enumerate(domains):
        for slot in domain:
            served[slot] |= 1 << number
    takers = {slot for domain in domains for slot in domain}
    for slot in ancestry.upwards:
        above = parents[slot]
        if above >= 0:
            served[above] |= served[slot]
            for _, within in needs:
                within[above] += within[slot]
    everyone = (1 << len(requests)) - 1
    return {
        slot
        for slot in takers
        if served[slot] == everyone and all(within[slot] >= needed for needed, within in needs)
    }


def _needs(
    requests: Sequence[ProviderRequest],
    domains: Sequence[Sequence[int]],
    room: Room,
    size: int,
) -> Iterable[tuple[int, list[int]]]:
    """Yield the needs of a subtree, for slots and each contested class: its minimum, and the
    contribution of each slot."""
    exclusive = [domain for one, domain in zip(requests, domains, strict=True) if one.is_exclusive]
    if len(exclusive) > 1:
        on_slots = [0] * size
        for domain in exclusive:
            for slot in domain:
                on_slots[slot] = 1
        yield len(exclusive), on_slots
    totals: dict[str, int] = {}
    rooms: dict[str, list[int]] = {}
    for request, domain in zip(requests, domains, strict=True):
        for name, amount in request.contested:
            totals[name] = totals.get(name, 0) + amount
            on_slots = rooms.setdefault(name, [0] * size)
            for slot in domain:
                on_slots[slot] = room[slot, name]
    yield from [(total, rooms[name]) for name, total in totals.items()]


def slots_within(roots: Set[int], ancestry: Ancestry) -> Set[int]:
    """Return these slots and all slots beneath them."""
    within = set(roots)
    for slot in reversed(ancestry.upwards):
        if ancestry.parents[slot] in within:
            within.add(slot)
    return within


class Top(NamedTuple):
    """The lowest slot above all slots that the groups of a subtree have."""

    # -1 if there is none.
    slot: int
    # One of the groups has this slot, so the constraint is met.
    is_root: bool


class OpenSubtree:
    """A subtree whose groups get their slots one after the other, in the order of the domains."""

    def __init__(self, domains: Sequence[Sequence[int]], ancestry: Ancestry) -> None:
        self._is_within, self._parents = ancestry.is_within, ancestry.parents
        self._size = len(domains)
        # The top after each group that has a slot.
        self._tops: list[Top] = []
        # For each slot, the last group that could have it or one above it.
        self._last = last = [-1] * len(ancestry.parents)
        for number, domain in enumerate(domains):
            for slot in domain:
                last[slot] = number
        for slot in reversed(ancestry.upwards):
            above = ancestry.parents[slot]
            if above >= 0 and last[above] > last[slot]:
                last[slot] = last[above]

    @property
    def top(self) -> Top | None:
        """The top of the groups that have a slot; None if none has."""
        return self._tops[-1] if self._tops else None

    @property
    def is_begun(self) -> bool:
        """True if some groups have a slot and others have none."""
        return 0 < len(self._tops) < self._size

    def admits(self, slot: int, is_next: bool = True) -> bool:
        """True if a group may get this slot: the next one, or any of those without a slot."""
        top = self._top_with(slot)
        if top.is_root:
            return True
        return top.slot >= 0 and self._last[top.slot] >= len(self._tops) + is_next

    def add(self, slot: int) -> None:
        """Give this slot to the next group."""
        self._tops.append(self._top_with(slot))

    def remove_last(self) -> None:
        """Remove the slot of the last group that has one."""
        self._tops.pop()

    def _top_with(self, slot: int) -> Top:
        """The top after another group gets this slot."""
        if not self._tops:
            return Top(slot, is_root=True)
        before = self._tops[-1]
        top = before.slot
        while top >= 0 and not self._is_within(slot, top):
            top = self._parents[top]
        if top == before.slot and before.is_root:
            return before
        return Top(top, is_root=top == slot)
