# SPDX-License-Identifier: Apache-2.0
"""Demands into combinations: which place serves which demand, everything taken together.

A depth-first search that drops a partial combination as soon as it cannot be completed.
Combinations are generated, one for every way of giving places to demands; nothing is collected.
Specification: allocation_candidates, "Combining groups".
"""

from collections.abc import Iterator

from placement.search.solver.nogoods import DeadEnds
from placement.search.solver.partial import Partial
from placement.search.solver.problem import Problem
from placement.search.solver.tally import Tally

Combination = tuple[int, ...]


def combinations(problem: Problem, tally: Tally) -> Iterator[Combination]:
    """Every way to fulfil the wishes of a problem, as the place of each wish."""
    partial = Partial(problem, tally)
    if partial.may_complete(0):
        depth_of = {step.number: depth for depth, step in enumerate(partial.steps)}
        depths = [depth_of[number] for number in range(len(problem.wishes))]
        for chosen in _completed(problem, partial):
            yield tuple([chosen[depth] for depth in depths])


def _completed(problem: Problem, partial: Partial) -> Iterator[list[int]]:
    """What is chosen at each depth, every time that something is chosen at all of them.

    A loop, not a recursion, because a query may have more groups than Python has frames.
    """
    deepest = len(partial.steps) - 1
    # Made when the first dead end is met: a search without pays for none of the care.
    dead_ends: DeadEnds | None = None
    pending = [iter(partial.steps[0].wish.options)]
    fruitful = [False] * len(partial.steps)
    while pending:
        depth = len(pending) - 1
        partial.release(depth)
        if not any(partial.take(depth, place) for place in pending[depth]):
            pending.pop()
            if fruitful[depth]:
                fruitful[depth - 1] = True
            else:
                dead_ends = dead_ends or DeadEnds(problem, partial)
                dead_ends.add(depth)
        elif depth == deepest:
            fruitful[depth] = True
            yield partial.chosen
        elif not dead_ends or (depth + 1 not in dead_ends and partial.may_complete(depth + 1)):
            fruitful[depth + 1] = False
            pending.append(iter(partial.steps[depth + 1].wish.options))
