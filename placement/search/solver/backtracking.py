# SPDX-License-Identifier: Apache-2.0
"""The assignments of a problem: a slot for each variable, within the room of the slots.

A variable stands for a request of one provider, a slot for a provider that may serve it
(`problem`, `slots`).

The search is depth-first, and abandons a partial assignment as soon as it cannot be completed.
`tree_order.ValueOrder` gives the order in which the slots of a variable are tried after the
earlier decisions; without it, slots keep the order of the domain. Assignments are generated
lazily. Specification: allocation_candidates, "Combining groups".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from placement.search.solver.nogoods import Nogoods, NogoodStore
from placement.search.solver.partial_assignment import PartialAssignment
from placement.search.solver.problem import Assignment, Problem, decision_order
from placement.search.solver.tree_order import ValueOrder
from placement.search.solver.work import Work

# Number of steps between two checks of the budget. The first pass defers a tree that has no
# assignment after as many steps.
SLICE = 4_000


class TreeDeferred(Exception):
    """The search of a tree is put off: it took more steps than the caller's `patience`."""


def assignments(
    problem: Problem,
    store: NogoodStore,
    work: Work,
    patience: int | None = None,
    values: ValueOrder | None = None,
) -> Iterator[Assignment]:
    """Yield every assignment of a problem.

    `patience` is the maximum number of steps before the first assignment, None for no maximum.
    `values` sorts the slots of each variable.

    :raises BudgetSpent: the budget is spent
    :raises TreeDeferred: `patience` is exceeded
    """
    if problem.is_independent and values is None:
        yield from itertools.product(*[variable.domain for variable in problem.variables])
        return
    order = decision_order(problem)
    partial = PartialAssignment(problem, order, work, values)
    nogoods = Nogoods(problem, partial, store)
    if not partial.may_complete(0) or 0 in nogoods:
        return
    depths = sorted(range(len(order)), key=order.__getitem__)
    for chosen in _completed(partial, nogoods, patience):
        yield tuple([chosen[depth] for depth in depths])


def _completed(
    partial: PartialAssignment, nogoods: Nogoods, patience: int | None
) -> Iterator[Sequence[int]]:
    """Yield the slots chosen at each depth, for each complete assignment.

    A loop, not a recursion, because a query may have more groups than Python has frames. Bounds
    and nogoods are tested from the first dead end on: a search without dead ends needs neither.
    """
    work, deepest = partial.work, len(partial.variables) - 1
    # For each decided depth, the slots still to try.
    pending = [partial.slots(0)]
    # For each depth, True if the decisions before it lead to an assignment, and are no nogood.
    is_fruitful = [False] * (deepest + 1)
    # For each depth, True if bounds and nogoods were tested for the decisions before it.
    is_bounded = [True] + [False] * deepest
    met_dead_end = False
    check_at = work.spent + (SLICE if patience is None else patience)
    while pending:
        if work.spent >= check_at:
            work.check()
            if patience is not None:
                raise TreeDeferred
            check_at = work.spent + SLICE
        depth = len(pending) - 1
        partial.release(depth)
        if met_dead_end and not is_bounded[depth]:
            is_bounded[depth] = True
            if depth in nogoods or not partial.may_complete(depth):
                pending[depth] = iter(())
        if not partial.take_next(depth, pending[depth]):
            pending.pop()
            if is_fruitful[depth]:
                is_fruitful[depth - 1] = True
            else:
                met_dead_end = True
                nogoods.add(depth)
        elif depth == deepest:
            is_fruitful[depth] = True
            patience = None
            yield partial.chosen
            check_at = work.spent + SLICE
        elif not met_dead_end or (depth + 1 not in nogoods and partial.may_complete(depth + 1)):
            is_fruitful[depth + 1] = False
            is_bounded[depth + 1] = met_dead_end
            pending.append(partial.slots(depth + 1))
