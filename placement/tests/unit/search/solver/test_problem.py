# SPDX-License-Identifier: Apache-2.0
"""Which slots of a domain are of no use, since a bit of the goal could not be gained any more."""

import itertools

import hypothesis
from hypothesis import strategies as st

from placement.search.solver.problem import useful_domains

GOAL = 0b111
GAINS = st.lists(
    st.one_of(
        st.just({}),
        st.dictionaries(st.integers(0, 3), st.integers(0, GOAL), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=4,
)


@hypothesis.given(GAINS)
def test_no_slot_is_lost_with_which_the_goal_is_gained(gains: list[dict[int, int]]) -> None:
    domains = [sorted(of) or [0, 1] for of in gains]
    useful = useful_domains(domains, gains, GOAL)
    for chosen in itertools.product(*domains):
        gained = 0
        for slot, of in zip(chosen, gains, strict=True):
            gained |= of.get(slot, 0)
        if gained == GOAL:
            assert all(slot in kept for slot, kept in zip(chosen, useful, strict=True))


def test_bits_of_one_variable_have_to_be_gained_by_one_slot() -> None:
    apart, together = {0: 0b01, 1: 0b10}, {0: 0b01, 1: 0b10, 2: 0b11}
    assert useful_domains([[0, 1]], [apart], 0b11) == [()]
    assert useful_domains([[0, 1, 2], [5]], [together, {}], 0b11) == [[2], [5]]
    assert useful_domains([[0, 1], [0, 1]], [apart, apart], 0b11) == [[0, 1], [0, 1]]


def test_goal_that_nobody_gains_leaves_no_slot() -> None:
    assert useful_domains([[0, 1], [2]], [{0: 0b01, 1: 0b01}, {}], 0b11) == [(), ()]
