# SPDX-License-Identifier: Apache-2.0
"""Bounds of a problem: quick tests that prove that it has no assignment.

A failed test excludes a tree, or a part of its assignments, before any slot is tried. Each test is
applied to all variables together, and to each set of variables with the same domain.
"""

import collections
from collections.abc import Mapping, Sequence

from placement.search.solver.work import Work

# An amount, and the slots that may take it.
Load = tuple[int, tuple[int, ...]]


def have_slots_of_their_own(domains: Sequence[tuple[int, ...]]) -> bool:
    """False if there are certainly too few slots to give each variable one of its own.

    `domains` has the slots of each variable.
    """
    by_domain = collections.Counter(domains)
    slots = set[int]().union(*by_domain)
    return len(domains) <= len(slots) and all(
        variables <= len(domain) for domain, variables in by_domain.items()
    )


def have_room(loads: Sequence[Load], room: Mapping[int, int], work: Work) -> bool:
    """False if the slots certainly lack room for all amounts of one class.

    `room` is the room for this class in each slot.
    """
    # Comparing two domains takes less time than examining their slots one by one.
    work.spent += sum(len(domain) for _, domain in loads) // 8
    by_domain: dict[tuple[int, ...], list[int]] = {}
    for amount, domain in loads:
        by_domain.setdefault(domain, []).append(amount)
    if len(by_domain) > 1:
        by_domain[tuple(room)] = [amount for amount, _ in loads]
    return all(
        sums_fit(amounts, rooms) and counts_fit(amounts, rooms, work)
        for domain, amounts in by_domain.items()
        for rooms in [[room[slot] for slot in domain if room[slot] > 0]]
    )


def sums_fit(amounts: Sequence[int], rooms: Sequence[int]) -> bool:
    """True if the sum of the amounts is within the sum of the rooms."""
    return sum(amounts) <= sum(rooms)


def counts_fit(amounts: Sequence[int], rooms: Sequence[int], work: Work) -> bool:
    """False if the slots cannot hold this number of amounts, in whatever distribution.

    For each size, the number of amounts of this size or more is compared with the number of equal
    amounts of this size for which there is room. A slot with room for eight holds one amount of
    five, and two of three or four. So fifty such slots do not hold 51 amounts of five and six,
    although the sum of their room suffices.
    """
    slots_with = collections.Counter(rooms)
    ordered = sorted(amounts, reverse=True)
    for number, amount in enumerate(ordered, 1):
        is_last_alike = number == len(ordered) or ordered[number] < amount
        if is_last_alike and amount > 0:
            work.spent += len(slots_with)
            fitting = sum(slots * (room // amount) for room, slots in slots_with.items())
            if number > fitting:
                return False
    return True
