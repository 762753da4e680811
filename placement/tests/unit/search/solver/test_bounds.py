# SPDX-License-Identifier: Apache-2.0
"""Bounds rule out only requests that cannot be served."""

import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.solver.bounds import counts_fit, have_room, have_slots_of_their_own
from placement.search.solver.work import Work

DOMAINS = st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True)


@hypothesis.given(st.lists(DOMAINS, min_size=1, max_size=5))
def test_variables_with_slots_of_their_own_are_never_refused(options: list[list[int]]) -> None:
    if any(len(set(chosen)) == len(chosen) for chosen in itertools.product(*options)):
        assert have_slots_of_their_own([*map(tuple, options)])


@pytest.mark.parametrize(
    ('domains', 'may_have'),
    [
        ([(0, 1), (0, 1)], True),
        ([(0, 1), (0, 1), (0, 1)], False),
        ([(0, 1), (0, 1), (2, 3, 4), (0, 1)], False),
        ([(0, 1), (1, 2), (0, 2), (0, 1, 2)], False),
    ],
)
def test_variables_are_no_more_than_slots_of_one_domain_or_of_all(
    domains: list[tuple[int, ...]], may_have: bool
) -> None:
    assert have_slots_of_their_own(domains) is may_have


@hypothesis.given(
    st.lists(st.integers(0, 6), max_size=6), st.lists(st.integers(0, 9), min_size=1, max_size=3)
)
def test_counts_that_can_be_placed_are_never_refused(amounts: list[int], rooms: list[int]) -> None:
    def fits(chosen: tuple[int, ...]) -> bool:
        wanted = [0] * len(rooms)
        for slot, amount in zip(chosen, amounts, strict=True):
            wanted[slot] += amount
        return all(wanted[slot] <= room for slot, room in enumerate(rooms))

    if any(map(fits, itertools.product(range(len(rooms)), repeat=len(amounts)))):
        assert counts_fit(amounts, rooms, Work())


@pytest.mark.parametrize(
    ('amounts', 'rooms', 'may_fit'),
    [
        ([5] * 50, [8] * 50, True),
        ([5] * 51, [8] * 50, False),
        ([5, 6] * 25 + [7], [8] * 50, False),
        ([5] * 50 + [3] * 50, [8] * 50, True),
        ([3] * 5, [8, 8, 4], True),
        ([3] * 6, [8, 8, 4], False),
    ],
)
def test_a_slot_holds_no_more_amounts_than_go_into_its_room(
    amounts: list[int], rooms: list[int], may_fit: bool
) -> None:
    assert counts_fit(amounts, rooms, Work()) is may_fit


@hypothesis.given(
    st.lists(st.tuples(st.integers(1, 4), DOMAINS), min_size=1, max_size=4),
    st.lists(st.integers(-1, 6), min_size=5, max_size=5),
)
def test_amounts_that_can_be_placed_are_never_refused(
    loads: list[tuple[int, list[int]]], room: list[int]
) -> None:
    def fits(chosen: tuple[int, ...]) -> bool:
        wanted = [0] * 5
        for slot, (amount, _) in zip(chosen, loads, strict=True):
            wanted[slot] += amount
        return all(wanted[slot] <= max(room[slot], 0) for slot in range(5))

    if any(fits(chosen) for chosen in itertools.product(*[slots for _, slots in loads])):
        of_domains = [(amount, tuple(slots)) for amount, slots in loads]
        assert have_room(of_domains, dict(enumerate(room)), Work())


@pytest.mark.parametrize(
    ('loads', 'room', 'may_have'),
    [
        ([(2, (0, 1)), (1, (0,)), (1, (1, 2))], [3, 1, 1], True),
        # Too much for all slots, for the slots of one domain, and too many for those of one.
        ([(2, (0, 1)), (2, (0, 2)), (2, (1, 2))], [2, 2, 1], False),
        ([(5, (0,)), (3, (0,))], [7], False),
        ([(2, (0, 1)), (2, (0, 1)), (1, (2,))], [1, 2, 9], False),
        ([(2, (0, 1)), (2, (0, 1)), (2, (0, 1)), (1, (2,))], [3, 3, 9], False),
        # What is used beyond the capacity of a slot takes nothing from others.
        ([(2, (0, 1)), (2, (0, 1))], [4, -1], True),
    ],
)
def test_room_is_that_of_one_domain_and_of_all(
    loads: list[tuple[int, tuple[int, ...]]], room: list[int], may_have: bool
) -> None:
    assert have_room(loads, dict(enumerate(room)), Work()) is may_have
