# SPDX-License-Identifier: Apache-2.0
"""States of promises."""

import pytest

from placement_insight.search.closed_form import Count
from placement_insight.search.promise import PromiseState, state_of


@pytest.mark.parametrize(
    ('least', 'most', 'promised', 'state'),
    [
        (40, 40, 40, PromiseState.TIGHT),
        (41, 41, 40, PromiseState.TIGHT),
        (42, 42, 40, PromiseState.KEPT),
        # Of few, one more is enough.
        (1, 1, 1, PromiseState.TIGHT),
        (2, 2, 1, PromiseState.KEPT),
        (39, 39, 40, PromiseState.BROKEN),
        (0, 0, 1, PromiseState.BROKEN),
        (39, 40, 40, PromiseState.UNKNOWN),
        (0, 39, 40, PromiseState.BROKEN),
        # What is there at least decides between kept and tight.
        (40, 80, 40, PromiseState.TIGHT),
    ],
)
def test_the_bounds_of_the_room_decide(
    least: int, most: int, promised: int, state: PromiseState
) -> None:
    assert state_of(Count(least, most), promised) is state
