# SPDX-License-Identifier: Apache-2.0
"""Nogoods: partial assignments that cannot be completed, recognised under every symmetry.

The room that is left decides whether the rest of an assignment can be found, not who took the
other part; and of slots that are interchangeable for every open decision only how many are left
with which room. So a nogood is written without names: each slot as its role for open decisions and
what is left of it, together with what lies beneath it, as trees are compared that may be drawn in
different ways. Written so, a nogood of one tree holds for every alike tree as well.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from placement.search.solver.problem import Problem
from placement.search.solver.work import BoundedCache

if TYPE_CHECKING:
    from placement.search.solver.backtracking import PartialAssignment

# How many nogoods, and how many numbers, are remembered for one plan.
MAX_NOGOODS = 20_000
MAX_NUMBERS = 100_000

# A partial assignment without names: the number of its problem, its depth, the bits covered, and
# the states of the slots that lie beneath no other, as numbers.
Nogood = tuple[int, int, int, tuple[int, ...]]


class NogoodStore:
    """The nogoods of all trees with a common plan.

    Problems that decide in the same order about the same contested classes have a number; so have
    the state of a slot and its use for open decisions. No number is given twice, so what was
    forgotten and comes back matches no nogood by mistake.
    """

    def __init__(self) -> None:
        self.nogoods: BoundedCache[Nogood, bool] = BoundedCache(MAX_NOGOODS)
        self._numbers: BoundedCache[Hashable, int] = BoundedCache(MAX_NUMBERS)
        self._next_number = 0

    def number(self, value: Hashable) -> int:
        """The number of a value."""
        number = self._numbers.get(value)
        if number is None:
            number = self._next_number
            self._next_number += 1
            self._numbers.add(value, number)
        return number


class Nogoods:
    """The nogoods of a store, for the search of one tree."""

    def __init__(self, problem: Problem, partial: PartialAssignment, store: NogoodStore) -> None:
        self.problem = problem
        self.partial = partial
        self.store = store
        self._remaining: dict[int, Remaining] = {}
        order = tuple([decision.number for decision in partial.decisions])
        contested = tuple([variable.amounts for variable in problem.variables])
        self._problem_number = store.number((order, problem.goal, contested))

    def __contains__(self, depth: int) -> bool:
        """Return whether the partial assignment of this depth is known to be a nogood."""
        return len(self.store.nogoods) > 0 and self.nogood(depth) in self.store.nogoods

    def add(self, depth: int) -> None:
        """Remember that the partial assignment of this depth is a nogood."""
        self.store.nogoods.add(self.nogood(depth), True)

    def nogood(self, depth: int) -> Nogood:
        """The partial assignment of this depth without names.

        The state of a slot is its use for open decisions (None where it is in no domain of
        theirs), the room that is left and that they may want, the effects on it of decisions made
        before, and the states of the slots beneath it.
        """
        partial, number = self.partial, self.store.number
        remaining = self._remaining.get(depth)
        if remaining is None:
            remaining = self._remaining[depth] = _remaining(partial, depth, self.store)
        effects = self._effects(remaining)
        is_nested = bool(self.problem.constraints)
        slots = self.problem.ancestry.upwards if is_nested else remaining.uses
        beneath: dict[int, list[int]] = {}
        for slot in slots:
            use = remaining.uses.get(slot)
            if use is None and slot not in effects and slot not in beneath:
                # No open decision depends on it.
                continue
            wanted = remaining.wanted.get(slot, ())
            state = (
                use,
                tuple([min(partial.room[slot, name], most) for name, most in wanted]),
                tuple(effects.get(slot, ())),
                tuple(sorted(beneath.get(slot, ()))),
            )
            above = self.problem.parents[slot] if is_nested else -1
            beneath.setdefault(above, []).append(number(state))
        partial.work.spent += len(slots) // 2 + sum(map(len, beneath.values()))
        top = tuple(sorted(beneath.get(-1, ())))
        return (self._problem_number, depth, partial.covered[depth] & partial.goal, top)

    def _effects(self, remaining: Remaining) -> dict[int, list[str]]:
        """The effects of earlier decisions on slots that open decisions may want: taken, in a tree
        that is used, or the slot of a decision that they have to lie beneath or above."""
        partial = self.partial
        effects = {slot: ['taken'] for slot in partial.taken if slot in remaining.wanted}
        for tree, used in partial.used_trees.items():
            if used:
                for slot in self._slots_of_trees.get(tree, ()):
                    effect = 'used' if used[-1] == slot else 'in a used tree'
                    effects.setdefault(slot, []).append(effect)
        for depth, effect in remaining.effects:
            effects.setdefault(partial.chosen[depth], []).append(effect)
        return effects

    @functools.cached_property
    def _slots_of_trees(self) -> dict[int, list[int]]:
        """The slots in each tree, where it matters which trees are used."""
        slots: dict[int, dict[int, None]] = {}
        for variable in self.problem.variables:
            if variable.trees is not None:
                for slot in variable.domain:
                    slots.setdefault(variable.trees[slot], {})[slot] = None
        return {tree: list(of_tree) for tree, of_tree in slots.items()}


class Remaining(NamedTuple):
    """The decisions that are open from one depth on, whatever was decided before.

    `uses` holds a number for each slot they could take, the same for slots that are
    interchangeable for all of them. `wanted` holds, for each of these slots, the sum of what they
    want of each class that it may run short of. `effects` are the earlier decisions whose slots
    matter to them: roots of subtrees with an open variable, and variables with an open root.
    """

    uses: Mapping[int, int]
    wanted: Mapping[int, Sequence[tuple[str, int]]]
    effects: Sequence[tuple[int, str]]


def _remaining(partial: PartialAssignment, depth: int, store: NogoodStore) -> Remaining:
    needed: dict[str, int] = {}
    effects = []
    for later, decision in enumerate(partial.decisions[depth:], depth):
        for name, amount in decision.variable.amounts:
            needed[name] = needed.get(name, 0) + amount
        effects += [(root, f'{root} above {later}') for root, _ in decision.roots if root < depth]
        effects += [(n, f'{n} below {later}') for n in decision.members if n < depth]
    partial.work.spent += len(partial.decisions) - depth
    uses = _uses(partial, depth, store)
    wanted = {
        slot: [item for item in needed.items() if (slot, item[0]) in partial.room] for slot in uses
    }
    return Remaining(uses, wanted, effects)


def _uses(partial: PartialAssignment, depth: int, store: NogoodStore) -> dict[int, int]:
    """A number for each slot that a decision from this depth on could take, the same for slots
    that are interchangeable for all of these."""
    # Variables that ask for the same have their domain in common; so have roots of one constraint.
    distinct = {}
    for decision in partial.decisions[depth:]:
        alike = decision.variable.alike
        distinct[decision.number if alike < 0 else alike, decision.bit] = decision.variable
    uses: dict[int, list[tuple[object, ...]]] = {}
    for key, variable in distinct.items():
        partial.work.spent += len(variable.domain)
        for slot in variable.domain:
            tree = -1 if variable.trees is None else variable.trees[slot]
            uses.setdefault(slot, []).append((key, variable.covers.get(slot, 0), tree))
    return {slot: store.number(tuple(use)) for slot, use in uses.items()}
