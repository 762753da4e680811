# SPDX-License-Identifier: Apache-2.0
"""Whether variables can be assigned at all: bounds that are cheap, and never wrong to say no.

They let a tree, or a part of its assignments, be given up before anything is tried.
"""

import collections
import math
from collections.abc import Iterable, Mapping, Sequence

from placement.search.solver.work import Work

# An amount, and the slots over which it may be spread.
Load = tuple[int, Sequence[int]]

# Beyond this many steps a sum is no longer made exact.
LARGEST_SUM = 4096


def have_slots_of_their_own(domains: Sequence[Sequence[int]], work: Work) -> bool:
    """Whether each of these can have one of its slots that no other has.  Exact: a matching."""
    alike = collections.Counter(tuple(domain) for domain in domains)
    room = {slot: 1 for domain in alike for slot in domain}
    return can_carry([(count, domain) for domain, count in alike.items()], room, work)


def sums_fit(loads: Sequence[Load], room: Mapping[int, int], work: Work) -> bool:
    """Whether the slots have room for what is wanted of one class, all in all."""
    if not counts_fit([amount for amount, _ in loads], room.values(), work):
        return False
    alike: dict[tuple[int, ...], list[int]] = {}
    # To compare two domains takes less than to look at their slots one by one.
    work.spent += sum(len(domain) for _, domain in loads) // 8
    for amount, domain in loads:
        alike.setdefault(tuple(domain), []).append(amount)
    # Which domains a slot is in says which amounts may fill it: alike slots are filled alike.
    domains_of: dict[int, list[tuple[int, ...]]] = {}
    for domain in alike:
        for slot in domain:
            domains_of.setdefault(slot, []).append(domain)
    known: dict[tuple[int, tuple[tuple[int, ...], ...]], int] = {}
    usable = {}
    for slot, domains in domains_of.items():
        key = (room[slot], tuple(domains))
        if key not in known:
            amounts = [amount for domain in domains for amount in alike[domain]]
            work.spent += len(amounts)
            known[key] = largest_sum(amounts, room[slot])
        usable[slot] = known[key]
    return can_carry([(sum(amounts), domain) for domain, amounts in alike.items()], usable, work)


def counts_fit(amounts: Iterable[int], rooms: Iterable[int], work: Work) -> bool:
    """Whether the slots have room for as many amounts as there are, whichever go where.

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
    """Whether (amount, domain) loads fit into the room of their slots.

    A load may be split over its slots here, so a no is certain and a yes is a hope; where all
    rooms are one it is exact (a matching).  Augmenting paths, as by Ford and Fulkerson.
    """
    if sum(amount for amount, _ in loads) > sum(room.values()):
        return False
    free = dict(room)
    carried: list[dict[int, int]] = [{} for _ in loads]
    holders: dict[int, set[int]] = collections.defaultdict(set)
    for load, (amount, slots) in enumerate(loads):
        work.spent += len(slots)
        for slot in slots:
            moved = min(amount, free[slot])
            if moved > 0:
                _move(carried, holders, load, slot, moved)
                free[slot] -= moved
                amount -= moved
                if not amount:
                    break
        while amount:
            moved = _augment(load, amount, loads, free, carried, holders, work)
            if not moved:
                return False
            amount -= moved
    return True


def _move(
    carried: list[dict[int, int]],
    holders: dict[int, set[int]],
    load: int,
    slot: int,
    amount: int,
) -> None:
    total = carried[load].get(slot, 0) + amount
    carried[load][slot] = total
    if total:
        holders[slot].add(load)
    else:
        holders[slot].discard(load)


def _augment(
    start: int,
    amount: int,
    loads: Sequence[Load],
    free: dict[int, int],
    carried: list[dict[int, int]],
    holders: dict[int, set[int]],
    work: Work,
) -> int:
    """Make room for some more of a load by moving others along; how much was placed."""
    # Which load wants which slot, and the one it would push on from there.
    came_from: dict[int, tuple[int, int]] = {}
    seen_slots: set[int] = set()
    queue = collections.deque([start])
    while queue:
        load = queue.popleft()
        work.spent += len(loads[load][1])
        for slot in loads[load][1]:
            if slot in seen_slots:
                continue
            seen_slots.add(slot)
            if free[slot] > 0:
                return _shift(start, load, slot, amount, free, carried, holders, came_from)
            for other in holders[slot]:
                if other != start and other not in came_from:
                    came_from[other] = (load, slot)
                    queue.append(other)
    return 0


def _shift(
    start: int,
    load: int,
    slot: int,
    amount: int,
    free: dict[int, int],
    carried: list[dict[int, int]],
    holders: dict[int, set[int]],
    came_from: dict[int, tuple[int, int]],
) -> int:
    path = [(load, slot)]
    while load != start:
        load, slot = came_from[load]
        path.append((load, slot))
    # Each load but the first gives up, at the slot of the next step, what it takes at its own.
    gives_up = [(path[step][0], path[step + 1][1]) for step in range(len(path) - 1)]
    moved = min(amount, free[path[0][1]], *(carried[one][at] for one, at in gives_up))
    free[path[0][1]] -= moved
    for one, at in path:
        _move(carried, holders, one, at, moved)
    for one, at in gives_up:
        _move(carried, holders, one, at, -moved)
    return moved


def largest_sum(amounts: Iterable[int], room: int) -> int:
    """How much of the room some of the amounts can fill together, at most.

    This is what tells that three do not hold two groups of two.
    """
    amounts = [amount for amount in amounts if amount <= room]
    room = min(room, sum(amounts))
    if room <= 0:
        return 0
    step = math.gcd(*amounts)
    room //= step
    if room > LARGEST_SUM:
        return room * step
    # Bit n of `sums` says that some of the amounts make n steps.
    sums, within = 1, (1 << (room + 1)) - 1
    for amount in amounts:
        sums |= sums << (amount // step) & within
    return (sums.bit_length() - 1) * step
