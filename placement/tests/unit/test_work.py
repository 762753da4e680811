# SPDX-License-Identifier: Apache-2.0
"""Steps and comparisons, as tests of growth count them."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from placement.tests.functional.fixtures.work import steps_of


class Node:
    """A member of a cycle, which reference counts do not free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def remembered() -> Iterator[weakref.WeakKeyDictionary[Node, int]]:
    """A dictionary of weak keys, all of them garbage that the collector will find soon."""
    thresholds = gc.get_threshold()
    gc.disable()
    found = weakref.WeakKeyDictionary((Node(), number) for number in range(1_000))
    gc.set_threshold(gc.get_count()[0] + 500)
    gc.enable()
    yield found
    gc.set_threshold(*thresholds)


def grow() -> list[list[int]]:
    return [[number] for number in range(1_000)]


def test_steps_leave_out_finalizers_of_earlier_garbage(
    remembered: weakref.WeakKeyDictionary[Node, int],
) -> None:
    """Leave weak keys to be collected: each runs a few lines of Python."""
    first = steps_of(grow)
    gc.collect()

    assert not remembered
    assert first == steps_of(grow)
    assert gc.isenabled()
