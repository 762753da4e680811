# SPDX-License-Identifier: Apache-2.0
"""Whether wishes can be fulfilled at all: bounds that are cheap, and never wrong to say no.

They let a hopeless anchor, or a hopeless part of it, be given up before anything is combined.
"""

import collections
import math
from collections.abc import Iterable, Mapping, Sequence

Load = tuple[int, Sequence[int]]

# Beyond this many steps a sum is no longer made exact.
LARGEST_SUM = 4096


def have_places_of_their_own(options: Sequence[Sequence[int]]) -> bool:
    """Whether each of these can have one of its places that no other has.  Exact: a matching."""
    room = {place: 1 for places in options for place in places}
    return len(room) >= len(options) and can_carry([(1, places) for places in options], room)


def sums_fit(loads: Sequence[Load], room: Mapping[int, int]) -> bool:
    """Whether the places have room for what is wanted of one class, all in all."""
    wanted: dict[int, list[int]] = {}
    alike: dict[tuple[int, ...], int] = {}
    for amount, places in loads:
        alike[tuple(places)] = alike.get(tuple(places), 0) + amount
        for place in places:
            wanted.setdefault(place, []).append(amount)
    usable = {place: largest_sum(amounts, room[place]) for place, amounts in wanted.items()}
    return can_carry([(amount, places) for places, amount in alike.items()], usable)


def can_carry(loads: Sequence[Load], room: Mapping[int, int]) -> bool:
    """Whether (amount, places) loads fit into the room of their places.

    A load may be split over its places here, so a no is certain and a yes is a hope; loads and
    rooms of one make it exact (a matching).  Augmenting paths, as by Ford and Fulkerson.
    """
    free = dict(room)
    carried: list[dict[int, int]] = [{} for _ in loads]
    holders: dict[int, set[int]] = collections.defaultdict(set)
    for load, (amount, places) in enumerate(loads):
        for place in places:
            moved = min(amount, free[place])
            if moved > 0:
                _move(carried, holders, load, place, moved)
                free[place] -= moved
                amount -= moved
                if not amount:
                    break
        while amount:
            moved = _augment(load, amount, loads, free, carried, holders)
            if not moved:
                return False
            amount -= moved
    return True


def _move(
    carried: list[dict[int, int]],
    holders: dict[int, set[int]],
    load: int,
    place: int,
    amount: int,
) -> None:
    total = carried[load].get(place, 0) + amount
    carried[load][place] = total
    if total:
        holders[place].add(load)
    else:
        holders[place].discard(load)


def _augment(
    start: int,
    amount: int,
    loads: Sequence[Load],
    free: dict[int, int],
    carried: list[dict[int, int]],
    holders: dict[int, set[int]],
) -> int:
    """Make room for some more of a load by moving others along; how much was placed."""
    # Which load wants which place, and the one it would push on from there.
    came_from: dict[int, tuple[int, int]] = {}
    seen_places: set[int] = set()
    queue = collections.deque([start])
    while queue:
        load = queue.popleft()
        for place in loads[load][1]:
            if place in seen_places:
                continue
            seen_places.add(place)
            if free[place] > 0:
                return _shift(start, load, place, amount, free, carried, holders, came_from)
            for other in holders[place]:
                if other != start and other not in came_from:
                    came_from[other] = (load, place)
                    queue.append(other)
    return 0


def _shift(
    start: int,
    load: int,
    place: int,
    amount: int,
    free: dict[int, int],
    carried: list[dict[int, int]],
    holders: dict[int, set[int]],
    came_from: dict[int, tuple[int, int]],
) -> int:
    path = [(load, place)]
    while load != start:
        load, place = came_from[load]
        path.append((load, place))
    # Each load but the first gives up, at the place of the next step, what it takes at its own.
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
