# SPDX-License-Identifier: Apache-2.0
"""Nogoods: partial assignments that lead nowhere, known again under every other name.

What decides whether the rest of an assignment can be found is what is left, not who took the other
part; and of slots that mean the same to every variable only how many are left in which state.  So
the state of a partial assignment is written down without names: each slot as what it means and
what is left of it, together with what lies beneath it, as trees are compared that may be drawn in
different ways.  Written so, a nogood of one tree holds for every alike tree as well.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement.search.solver.assignment_problem import Problem
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.partial_assignment import PartialAssignment

# How many nogoods, and how many states of slots, are remembered for one order of decisions.
MAX_NOGOODS = 20_000
MAX_SLOT_STATES = 100_000


class State(NamedTuple):
    """A partial assignment without names: which traits were gained by whom is not told, nor which
    slot is which. `slots` are the states of those that lie beneath no other, as numbers."""

    depth: int
    gained: int
    slots: tuple[int, ...]


class SlotState(NamedTuple):
    """What a slot means to the variables, what is left of it, and the states of the slots beneath.

    `room` is how much is left of each class that later decisions may want of it, and no more than
    they want. `marks` are what earlier decisions made of it that matters to later ones: taken,
    in a tree that is used, or the slot of a decision that later ones have to lie beneath.
    """

    meaning: int
    room: tuple[int, ...]
    marks: tuple[str, ...]
    beneath: tuple[int, ...]


class NogoodStore:
    """The nogoods of all trees that decide in the same order about the same contested classes.

    A slot state and the meaning of a slot have a number each. No number is given twice, so what
    was forgotten and comes back matches no nogood by mistake.
    """

    def __init__(self) -> None:
        self.nogoods: BoundedCache[State, bool] = BoundedCache(MAX_NOGOODS)
        # States of whole trees that some search is just trying.
        self.being_searched: set[State] = set()
        self._numbers: BoundedCache[object, int] = BoundedCache(MAX_SLOT_STATES)
        self._next_number = 0

    def number(self, value: object) -> int:
        """The number of a slot state, or of a meaning."""
        number = self._numbers.get(value)
        if number is None:
            number = self._next_number
            self._next_number += 1
            self._numbers.add(value, number)
        return number


class Nogoods:
    """The nogoods of a store, as one search of one tree sees them."""

    def __init__(self, problem: Problem, partial: PartialAssignment, store: NogoodStore) -> None:
        self.problem = problem
        self.partial = partial
        self.store = store
        self.outlooks: dict[int, Outlook] = {}

    # Worked out when the first dead end is met: most searches meet none.
    @functools.cached_property
    def meanings(self) -> dict[int, int]:
        """A number for each slot, the same for slots that mean the same to every variable."""
        self.partial.work.spent += sum(len(one.domain) for one in self.problem.variables)
        return _meanings(self.problem, self.store)

    @functools.cached_property
    def parents(self) -> Sequence[int]:
        """The slot above each slot, -1 where that makes no difference."""
        if self.problem.constraints:
            return self.problem.parents
        return [-1] * (max(self.meanings) + 1)

    @functools.cached_property
    def upwards(self) -> Sequence[int]:
        """The slots that matter, each before its parent."""
        if not self.problem.constraints:
            return list(self.meanings)
        return self.problem.ancestry.upwards

    @functools.cached_property
    def slots_of_trees(self) -> dict[int, list[int]]:
        """The slots in each tree, where it matters which trees are used."""
        return _slots_of_trees(self.problem)

    def __contains__(self, depth: int) -> bool:
        """Whether the partial assignment of this depth is known to lead nowhere."""
        return len(self.store.nogoods) > 0 and self.state(depth) in self.store.nogoods

    def add(self, depth: int) -> None:
        """Remember that the partial assignment of this depth leads nowhere."""
        self.store.nogoods.add(self.state(depth), True)

    def state(self, depth: int) -> State:
        """The partial assignment of this depth without names."""
        partial, number = self.partial, self.store.number
        partial.work.spent += 2 * len(self.upwards)
        outlook = self._outlook(depth)
        marks = self._marks(outlook)
        beneath: dict[int, list[int]] = {}
        for slot in self.upwards:
            room = tuple(
                [
                    min(partial.room[slot, name], most)
                    for name, most in outlook.wanted.get(slot, ())
                ]
            )
            state = SlotState(
                self.meanings.get(slot, -1),
                room,
                tuple(marks.get(slot, ())),
                tuple(sorted(beneath.get(slot, ()))),
            )
            beneath.setdefault(self.parents[slot], []).append(number(state))
        top = tuple(sorted(beneath.get(-1, ())))
        return State(depth, partial.gained[depth] & partial.goal, top)

    def _outlook(self, depth: int) -> 'Outlook':
        outlook = self.outlooks.get(depth)
        if outlook is None:
            outlook = self.outlooks[depth] = _outlook(self.partial, depth)
        return outlook

    def _marks(self, outlook: 'Outlook') -> dict[int, list[str]]:
        partial = self.partial
        marks = {slot: ['taken'] for slot in partial.taken if slot in outlook.wanted}
        for tree, used in partial.used_trees.items():
            if used:
                for slot in self.slots_of_trees.get(tree, ()):
                    mark = 'used' if used[-1] == slot else 'in a used tree'
                    marks.setdefault(slot, []).append(mark)
        for decided, mark in outlook.marks:
            marks.setdefault(partial.chosen[decided], []).append(mark)
        return marks


class Outlook(NamedTuple):
    """What matters to the decisions from one depth on, whatever was decided before.

    `wanted` holds, for each slot they could take, what all of them want of each class that it may
    run short of.  `marks` are the decisions before whose slots matter to them: roots of subtrees
    with a variable to come, and variables with the root of their subtree to come.
    """

    wanted: Mapping[int, Sequence[tuple[str, int]]]
    marks: Sequence[tuple[int, str]]


def _outlook(partial: PartialAssignment, depth: int) -> Outlook:
    needed: dict[str, int] = {}
    marks = []
    for later, decision in enumerate(partial.decisions[depth:], depth):
        for name, amount in decision.variable.amounts:
            needed[name] = needed.get(name, 0) + amount
        marks += [(root, f'{root} above {later}') for root, _ in decision.roots if root < depth]
        marks += [(one, f'{one} below {later}') for one in decision.members if one < depth]
    # Variables that ask for the same have their domain in common.
    domains = {id(one.variable.domain): one.variable.domain for one in partial.decisions[depth:]}
    slots = dict.fromkeys(slot for domain in domains.values() for slot in domain)
    partial.work.spent += len(partial.decisions) - depth + sum(map(len, domains.values()))
    wanted = {
        slot: [item for item in needed.items() if (slot, item[0]) in partial.room]
        for slot in slots
    }
    return Outlook(wanted, marks)


def _meanings(problem: Problem, store: NogoodStore) -> dict[int, int]:
    """A number for each slot, the same for slots that mean the same to every variable."""
    meanings: dict[int, list[tuple[int, int, int]]] = {}
    for number, variable in enumerate(problem.variables):
        for slot in variable.domain:
            tree = -1 if variable.trees is None else variable.trees[slot]
            meanings.setdefault(slot, []).append((number, variable.gains.get(slot, 0), tree))
    return {slot: store.number(tuple(meaning)) for slot, meaning in meanings.items()}


def _slots_of_trees(problem: Problem) -> dict[int, list[int]]:
    """The slots in each tree, where it matters which trees are used."""
    slots: dict[int, dict[int, None]] = {}
    for variable in problem.variables:
        if variable.trees is not None:
            for slot in variable.domain:
                slots.setdefault(variable.trees[slot], {})[slot] = None
    return {tree: list(of_tree) for tree, of_tree in slots.items()}
