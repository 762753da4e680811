# SPDX-License-Identifier: Apache-2.0
"""Trees take turns; one that needs many slices of work holds nobody up."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from placement.search.solver.turns import breadth_first, depth_first

PAUSE = None


def trees(*streams: Sequence[str | None]) -> list[Any]:
    """Streams of candidates, each named by a letter; PAUSE is a slice of work without one."""
    return [iter(stream) for stream in streams]


def in_turn(opened: Iterable[Any]) -> Iterator[Any]:
    return breadth_first(opened)


def test_breadth_first_takes_one_candidate_of_each_tree_in_turn() -> None:
    found = in_turn(trees(['a1', 'a2', 'a3'], ['b1'], ['c1', 'c2']))
    assert list(found) == ['a1', 'b1', 'c1', 'a2', 'c2', 'a3']


def test_depth_first_takes_all_candidates_of_a_tree_first() -> None:
    found: Iterator[Any] = depth_first(trees(['a1', PAUSE, 'a2'], ['b1']))
    assert list(found) == ['a1', 'a2', 'b1']


def test_hard_tree_yields_after_the_others() -> None:
    found = in_turn(trees([PAUSE] * 50 + ['a1', 'a2'], ['b1', 'b2'], ['c1']))
    assert list(found) == ['b1', 'c1', 'b2', 'a1', 'a2']


def test_hard_trees_end_one_after_the_other() -> None:
    # A slice for the first hard tree comes with each other one that is opened.
    found = in_turn(trees([PAUSE, PAUSE, PAUSE, 'a'], [PAUSE] * 9 + ['b'], [PAUSE, 'c']))
    assert next(found) == 'a'
    assert sorted(found) == ['b', 'c']


@pytest.mark.parametrize('wanted', [1, 3])
def test_breadth_first_opens_no_more_trees_than_it_has_to(wanted: int) -> None:
    opened = []

    def generated() -> Iterator[Any]:
        for number in range(10):
            opened.append(number)
            yield iter([f'{number}-1', f'{number}-2'])

    found = in_turn(generated())
    assert [next(found) for _ in range(wanted)] == [f'{n}-1' for n in range(wanted)]
    assert len(opened) == wanted
