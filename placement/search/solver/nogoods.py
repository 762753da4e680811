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


# What a slot means to later decisions (None where it is in no domain of theirs); how much is left
# of each class that they may want of it, and no more than they want; what decisions before made of
# it that matters to later ones (taken, in a tree that is used, or the slot of a decision that they
# have to lie beneath); and the states of the slots beneath.
SlotState = tuple[int | None, tuple[int, ...], tuple[str, ...], tuple[int, ...]]


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
        outlook = self._outlook(depth)
        marks = self._marks(outlook)
        is_nested = bool(self.problem.constraints)
        slots = self.problem.ancestry.upwards if is_nested else outlook.meanings
        beneath: dict[int, list[int]] = {}
        for slot in slots:
            meaning = outlook.meanings.get(slot)
            if meaning is None and slot not in marks and slot not in beneath:
                # Nothing that is left to decide has to do with it.
                continue
            wanted = outlook.wanted.get(slot, ())
            state = (
                meaning,
                tuple([min(partial.room[slot, name], most) for name, most in wanted]),
                tuple(marks.get(slot, ())),
                tuple(sorted(beneath.get(slot, ()))),
            )
            above = self.problem.parents[slot] if is_nested else -1
            beneath.setdefault(above, []).append(number(state))
        partial.work.spent += len(slots) // 2 + sum(map(len, beneath.values()))
        top = tuple(sorted(beneath.get(-1, ())))
        return State(depth, partial.gained[depth] & partial.goal, top)

    def _outlook(self, depth: int) -> 'Outlook':
        outlook = self.outlooks.get(depth)
        if outlook is None:
            outlook = self.outlooks[depth] = _outlook(self.partial, depth, self.store)
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

    `meanings` holds a number for each slot they could take, the same for slots that mean the same
    to all of them. `wanted` holds, for each of these slots, what all of them want of each class
    that it may run short of. `marks` are the decisions before whose slots matter to them: roots of
    subtrees with a variable to come, and variables with the root of their subtree to come.
    """

    meanings: Mapping[int, int]
    wanted: Mapping[int, Sequence[tuple[str, int]]]
    marks: Sequence[tuple[int, str]]


def _outlook(partial: PartialAssignment, depth: int, store: NogoodStore) -> Outlook:
    needed: dict[str, int] = {}
    marks = []
    for later, decision in enumerate(partial.decisions[depth:], depth):
        for name, amount in decision.variable.amounts:
            needed[name] = needed.get(name, 0) + amount
        marks += [(root, f'{root} above {later}') for root, _ in decision.roots if root < depth]
        marks += [(one, f'{one} below {later}') for one in decision.members if one < depth]
    partial.work.spent += len(partial.decisions) - depth
    meanings = _meanings(partial, depth, store)
    wanted = {
        slot: [item for item in needed.items() if (slot, item[0]) in partial.room]
        for slot in meanings
    }
    return Outlook(meanings, wanted, marks)


def _meanings(partial: PartialAssignment, depth: int, store: NogoodStore) -> dict[int, int]:
    """A number for each slot that a decision from this depth on could take, the same for slots
    that mean the same to all of these."""
    # Variables that ask for the same have their domain in common; so have roots of one constraint.
    distinct = {
        (one.number if one.variable.alike < 0 else one.variable.alike, one.bit): one.variable
        for one in partial.decisions[depth:]
    }
    meanings: dict[int, list[tuple[object, ...]]] = {}
    for key, variable in distinct.items():
        partial.work.spent += len(variable.domain)
        for slot in variable.domain:
            tree = -1 if variable.trees is None else variable.trees[slot]
            meanings.setdefault(slot, []).append((key, variable.gains.get(slot, 0), tree))
    return {slot: store.number(tuple(meaning)) for slot, meaning in meanings.items()}


def _slots_of_trees(problem: Problem) -> dict[int, list[int]]:
    """The slots in each tree, where it matters which trees are used."""
    slots: dict[int, dict[int, None]] = {}
    for variable in problem.variables:
        if variable.trees is not None:
            for slot in variable.domain:
                slots.setdefault(variable.trees[slot], {})[slot] = None
    return {tree: list(of_tree) for tree, of_tree in slots.items()}
