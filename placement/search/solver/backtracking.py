# SPDX-License-Identifier: Apache-2.0
"""The assignments of a problem: a slot for each variable, everything taken together.

A depth-first search that drops a partial assignment as soon as it cannot be completed.
Assignments are generated, one for every way of giving slots to variables; nothing is collected.
Specification:
allocation_candidates, "Combining groups".
"""

from collections.abc import Iterator, Sequence

from placement.search.solver.assignment_problem import Order, Problem, decision_order
from placement.search.solver.nogoods import Nogoods, NogoodStore, State
from placement.search.solver.partial_assignment import PartialAssignment
from placement.search.solver.tally import Tally
from placement.search.solver.work import SLICE, Work

# The slot of each variable.
Assignment = tuple[int, ...]


class StoreByOrder:
    """The nogoods of trees with a common plan, a store for each order they decide in."""

    def __init__(self) -> None:
        self._stores: dict[object, NogoodStore] = {}

    def store(self, problem: Problem, order: Order) -> NogoodStore:
        """The store for problems that decide in this order about the same contested classes."""
        contested = tuple([variable.amounts for variable in problem.variables])
        return self._stores.setdefault((order, problem.goal, contested), NogoodStore())


def assignments(
    problem: Problem, stores: StoreByOrder, tally: Tally, work: Work
) -> Iterator[Assignment | None]:
    """Every assignment of a problem, and None whenever the search has had its slice of work.

    Where an alike tree is being searched, it is waited for: what is found out there is not found
    out twice. Raises `BudgetSpent`.
    """
    order = decision_order(problem)
    partial = PartialAssignment(problem, order, tally, work)
    if not partial.may_complete(0):
        return
    store = stores.store(problem, order)
    nogoods = Nogoods(problem, partial, store)
    yield from _until_decided_elsewhere(nogoods)
    if 0 in nogoods:
        return
    depth_of = {item: depth for depth, item in enumerate(order)}
    depths = [depth_of[number] for number in range(len(problem.variables))]
    state: State | None = None
    for chosen in _completed(partial, nogoods):
        if chosen is None:
            if state is None:
                # Only now that the tree turns out to be hard: to say its state takes a while.
                untouched = PartialAssignment(problem, order, tally, work)
                state = Nogoods(problem, untouched, store).state(0)
                store.being_searched.add(state)
            yield None
            continue
        store.being_searched.discard(state)
        yield tuple([chosen[depth] for depth in depths])
    store.being_searched.discard(state)


def _until_decided_elsewhere(nogoods: Nogoods) -> Iterator[None]:
    """None for as long as a search of an alike tree has found out nothing."""
    being_searched = nogoods.store.being_searched
    if being_searched:
        state = nogoods.state(0)
        while state in being_searched:
            yield None


def _completed(partial: PartialAssignment, nogoods: Nogoods) -> Iterator[Sequence[int] | None]:
    """What is chosen at each depth, every time that something is chosen at all of them.

    A loop, not a recursion, because a query may have more groups than Python has frames. Bounds
    and nogoods are asked from the first dead end on: a search that meets none pays for no care.
    """
    decisions, work = partial.decisions, partial.work
    deepest = len(decisions) - 1
    pending = [iter(decisions[0].variable.domain)]
    is_fruitful = [False] * len(decisions)
    # Whether bounds were asked about what was decided before this depth.
    is_bounded = [True] + [False] * deepest
    met_dead_end = False
    pause_at = work.spent + SLICE
    while pending:
        if work.spent >= pause_at:
            work.check()
            yield None
            pause_at = work.spent + SLICE
        depth = len(pending) - 1
        partial.release(depth)
        if met_dead_end and not is_bounded[depth]:
            is_bounded[depth] = True
            if depth in nogoods or not partial.may_complete(depth):
                pending[depth] = iter(())
        if not _took_next(partial, depth, pending[depth]):
            pending.pop()
            if is_fruitful[depth]:
                is_fruitful[depth - 1] = True
            else:
                met_dead_end = True
                nogoods.add(depth)
        elif depth == deepest:
            is_fruitful[depth] = True
            yield partial.chosen
            pause_at = work.spent + SLICE
        elif not met_dead_end or (depth + 1 not in nogoods and partial.may_complete(depth + 1)):
            is_fruitful[depth + 1] = False
            is_bounded[depth + 1] = met_dead_end
            pending.append(iter(decisions[depth + 1].variable.domain))


def _took_next(partial: PartialAssignment, depth: int, slots: Iterator[int]) -> bool:
    """Whether one of the remaining slots could be taken."""
    for slot in slots:
        partial.work.spent += 1
        if partial.take(depth, slot):
            return True
    return False
