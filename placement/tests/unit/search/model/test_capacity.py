# SPDX-License-Identifier: Apache-2.0
"""The capacity rule.

Specification: conventions, "Capacity and fit"; allocations, "Capacity rule for writes".
"""

import itertools
import math

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.model.capacity import Capacity, Refusal


@pytest.mark.parametrize(
    ('capacity', 'amount', 'used', 'refusal'),
    [
        (Capacity(8), 8, 0, None),
        (Capacity(8), 9, 0, Refusal.TOO_SMALL),
        (Capacity(8, reserved=2), 6, 0, None),
        (Capacity(8, reserved=2), 7, 0, Refusal.RESERVED),
        (Capacity(8), 1, 8, Refusal.USED),
        (Capacity(8), 1, 7, None),
        (Capacity(8, min_unit=4), 3, 0, Refusal.MIN_UNIT),
        (Capacity(8, max_unit=4), 5, 0, Refusal.MAX_UNIT),
        (Capacity(8, step_size=2), 3, 0, Refusal.STEP_SIZE),
        (Capacity(8, step_size=2), 4, 1, None),
        (Capacity(3, allocation_ratio=1.5), 4, 0, None),
        (Capacity(3, allocation_ratio=1.5), 5, 0, Refusal.TOO_SMALL),
        (Capacity(3, allocation_ratio=1.5), 3, 2, Refusal.USED),
        (Capacity(1, reserved=2), 1, 0, Refusal.RESERVED),
        # Nothing fits an absurd ratio, everything an infinite one; a step of zero is none.
        *[
            (Capacity(8, allocation_ratio=ratio), 1, 0, Refusal.TOO_SMALL)
            for ratio in (math.nan, -1.0, -math.inf, 0.0)
        ],
        (Capacity(8, allocation_ratio=math.inf), 2**31 - 1, 2**31, None),
        (Capacity(8, step_size=0), 3, 0, None),
    ],
)
def test_a_refusal_says_why(
    capacity: Capacity, amount: int, used: int, refusal: Refusal | None
) -> None:
    assert capacity.refusal(amount, used) is refusal


@pytest.mark.parametrize(
    ('capacity', 'reported'),
    [
        (Capacity(3, allocation_ratio=1.5), 4),
        (Capacity(1, allocation_ratio=0.4), 0),
        (Capacity(1, 2, allocation_ratio=0.4), 0),
        (Capacity(1, 4, allocation_ratio=1.5), -4),
        (Capacity(2147483647, allocation_ratio=3.40282e38), int(2147483647 * 3.40282e38)),
        (Capacity(1, 1, allocation_ratio=math.inf), 0),
        (Capacity(1, allocation_ratio=math.nan), 0),
    ],
)
def test_capacity_is_reported_truncated_towards_zero(capacity: Capacity, reported: int) -> None:
    assert capacity.reported_capacity == reported


@pytest.mark.parametrize(
    ('after', 'before', 'allowed'),
    [(8, 0, True), (9, 0, False), (9, 10, True), (10, 10, True), (11, 10, False), (8, 8, True)],
)
def test_an_over_committed_inventory_may_not_get_worse(
    after: int, before: int, allowed: bool
) -> None:
    assert Capacity(8).allows_total(after, before) is allowed


@pytest.mark.parametrize(('used', 'room'), [(0, 4), (5, 3), (9, -1)])
def test_room_is_what_is_free_and_no_more_than_max_unit(used: int, room: int) -> None:
    assert Capacity(8, max_unit=4).room(used) == room


@hypothesis.given(
    st.integers(1, 1000),
    st.integers(0, 1000),
    st.floats(0, 100),
    st.integers(1, 3000),
    st.integers(0, 3000),
)
def test_integers_compare_with_the_untruncated_product(
    total: int, reserved: int, ratio: float, amount: int, used: int
) -> None:
    capacity = Capacity(total, reserved, allocation_ratio=ratio, max_unit=5000)
    fits = used + amount <= (total - reserved) * ratio
    assert (capacity.refusal(amount, used) is None) is fits
    assert capacity.allows_total(used + amount) is fits


def test_takes_any_says_that_only_room_refuses() -> None:
    for minimum, step, largest in itertools.product((0, 1, 2), (0, 1, 2), (1, 2, 5, 9)):
        capacity = Capacity(7, min_unit=minimum, step_size=step, max_unit=largest)
        amounts, used = range(1, 10), range(9)
        by_room = [a <= capacity.room(u) for a in amounts for u in used]
        refused = [capacity.refusal(a, u) is None for a in amounts for u in used]
        assert not capacity.takes_any or by_room == refused
        assert capacity.takes_any == (minimum < 2 and step < 2)
