# SPDX-License-Identifier: Apache-2.0
"""Bounds say no only when it is certain."""

import itertools

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.solver.bounds import (
    can_carry,
    counts_fit,
    have_slots_of_their_own,
    sums_fit,
)
from placement.search.solver.work import Work

DOMAINS = st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True)


@hypothesis.given(st.lists(DOMAINS, min_size=1, max_size=5))
def test_a_matching_is_found_where_there_is_one(options: list[list[int]]) -> None:
    exists = any(len(set(chosen)) == len(chosen) for chosen in itertools.product(*options))
    assert have_slots_of_their_own(options, Work()) is exists


@hypothesis.given(
    st.lists(st.integers(0, 6), max_size=6), st.lists(st.integers(-2, 9), min_size=1, max_size=3)
)
def test_counts_that_can_be_placed_are_never_refused(amounts: list[int], rooms: list[int]) -> None:
    def fits(chosen: tuple[int, ...]) -> bool:
        wanted = [0] * len(rooms)
        for slot, amount in zip(chosen, amounts, strict=True):
            wanted[slot] += amount
        return all(wanted[slot] <= max(room, 0) for slot, room in enumerate(rooms))

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
def test_sums_that_can_be_placed_are_never_refused(
    loads: list[tuple[int, list[int]]], room: list[int]
) -> None:
    def fits(chosen: tuple[int, ...]) -> bool:
        wanted = [0] * 5
        for slot, (amount, _) in zip(chosen, loads, strict=True):
            wanted[slot] += amount
        return all(wanted[slot] <= max(room[slot], 0) for slot in range(5))

    if any(fits(chosen) for chosen in itertools.product(*[slots for _, slots in loads])):
        assert sums_fit(loads, dict(enumerate(room)), Work())


def test_loads_move_over_to_let_others_in() -> None:
    assert can_carry([(2, [0, 1]), (2, [0]), (1, [1, 2])], {0: 3, 1: 1, 2: 1}, Work())
    assert not can_carry([(2, [0, 1]), (2, [0]), (2, [1, 2])], {0: 3, 1: 1, 2: 1}, Work())
