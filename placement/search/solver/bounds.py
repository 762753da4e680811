# SPDX-License-Identifier: Apache-2.0
"""Bounds of a problem: quick tests that are never wrong to say that it has no assignment.

They let a tree, or a part of its assignments, be given up before anything is tried.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence

from placement.search.solver.work import Work

# An amount, and the slots over which it may be spread.
Load = tuple[int, Sequence[int]]


def have_slots_of_their_own(domains: Sequence[Sequence[int]], work: Work) -> bool:
    """Return whether each variable can have a slot of its domain that no other has. Exact: a
    matching."""
    alike = collections.Counter(tuple(domain) for domain in domains)
    room = {slot: 1 for domain in alike for slot in domain}
    return can_carry([(count, domain) for domain, count in alike.items()], room, work)


def sums_fit(loads: Sequence[Load], room: Mapping[int, int], work: Work) -> bool:
    """Return whether the slots have room for all amounts of one class."""
    if not counts_fit([amount for amount, _ in loads], room.values(), work):
        return False
    alike: dict[tuple[int, ...], int] = {}
    # To compare two domains takes less than to look at their slots one by one.
    work.spent += sum(len(domain) for _, domain in loads) // 8
    for amount, domain in loads:
        alike[tuple(domain)] = alike.get(tuple(domain), 0) + amount
    return can_carry([(amount, domain) for domain, amount in alike.items()], room, work)


def counts_fit(amounts: Iterable[int], rooms: Iterable[int], work: Work) -> bool:
    """Return whether the slots have room for as many amounts as there are, whichever go where.

    A slot of eight holds one amount of five or more, and two of three or more: so fifty such slots
    do not hold 51 amounts of five and six, though they have room for more in sum.
    """
    alike = collections.Counter(rooms)
    ordered = sorted(amounts, reverse=True)
    for number, amount in enumerate(ordered, 1):
        is_last_alike = number == len(ordered) or ordered[number] < amount
        if is_last_alike and amount > 0:
            work.spent += len(alike)
            held = sum(slots * (room // amount) for room, slots in alike.items() if room > 0)
            if number > held:
                return False
    return True


def can_carry(loads: Sequence[Load], room: Mapping[int, int], work: Work) -> bool:
    """Return whether (amount, domain) loads fit into the room of their slots.

    A load may be split over its slots here, so a no is certain and a yes is a hope; where all
    rooms are one it is exact (a matching). Augmenting paths, as by Ford and Fulkerson.
    """
    return (
        sum(amount for amount, _ in loads) <= sum(free for free in room.values() if free > 0)
        and _Flow(loads, room, work).is_complete()
    )


class _Flow:
    """Loads on their way into slots."""

    def __init__(self, loads: Sequence[Load], room: Mapping[int, int], work: Work) -> None:
        self.loads = loads
        self.free = dict(room)
        self.work = work
        # How much of each load is in which slot, and the loads that are in a slot.
        self.carried: list[dict[int, int]] = [{} for _ in loads]
        self.holders: dict[int, set[int]] = collections.defaultdict(set)

    def is_complete(self) -> bool:
        """Return whether all loads could be placed."""
        for load, (amount, slots) in enumerate(self.loads):
            self.work.spent += len(slots)
            for slot in slots:
                moved = min(amount, self.free[slot])
                if moved > 0:
                    self._move(load, slot, moved)
                    self.free[slot] -= moved
                    amount -= moved
            while amount:
                moved = self._augment(load, amount)
                if not moved:
                    return False
                amount -= moved
        return True

    def _move(self, load: int, slot: int, amount: int) -> None:
        total = self.carried[load].get(slot, 0) + amount
        self.carried[load][slot] = total
        if total:
            self.holders[slot].add(load)
        else:
            self.holders[slot].discard(load)

    def _augment(self, start: int, amount: int) -> int:
        """Place some more of a load by moving others along; how much was placed."""
        # The load that wants a slot, and the slot where it would push another one on.
        came_from: dict[int, tuple[int, int]] = {}
        seen_slots: set[int] = set()
        queue = collections.deque([start])
        while queue:
            load = queue.popleft()
            self.work.spent += len(self.loads[load][1])
            for slot in self.loads[load][1]:
                if slot in seen_slots:
                    continue
                seen_slots.add(slot)
                if self.free[slot] > 0:
                    return self._shift(start, load, slot, amount, came_from)
                for other in self.holders[slot]:
                    if other != start and other not in came_from:
                        came_from[other] = (load, slot)
                        queue.append(other)
        return 0

    def _shift(
        self,
        start: int,
        load: int,
        slot: int,
        amount: int,
        came_from: Mapping[int, tuple[int, int]],
    ) -> int:
        """Move an amount along the path that ends with this load in this slot."""
        path = [(load, slot)]
        while load != start:
            load, slot = came_from[load]
            path.append((load, slot))
        # Each load but the first gives up, at the slot of the next step, what it takes at its own.
        given = [(path[step][0], path[step + 1][1]) for step in range(len(path) - 1)]
        last = path[0][1]
        moved = min(amount, self.free[last], *(self.carried[load][at] for load, at in given))
        self.free[last] -= moved
        for load, at in path:
            self._move(load, at, moved)
        for load, at in given:
            self._move(load, at, -moved)
        return moved
