# SPDX-License-Identifier: Apache-2.0
"""Nogoods: partial assignments that cannot be completed, recognised under every symmetry.

The rest of an assignment depends on the room that is left, not on the decisions that took the
other part. Slots that are interchangeable for every open decision matter by number and room only.
So a nogood has a canonical form without ids: for each slot, its use for open decisions, its room,
and the same of the slots beneath it, sorted. In this form, a nogood of one tree holds for every
alike tree.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from placement.search.solver.partial_assignment import PartialAssignment
from placement.search.solver.problem import Problem
from placement.search.solver.work import BoundedCache

# Maximum number of nogoods, and of numbers, that one plan remembers.
MAX_NOGOODS = 20_000
MAX_NUMBERS = 100_000

# A partial assignment in canonical form: the number of its problem, its depth, the bits covered,
# and the states of the topmost slots, as numbers.
Nogood = tuple[int, int, int, tuple[int, ...]]


class NogoodStore:
    """The nogoods of all trees with a common plan.

    Numbers stand for problems with the same decision order and contested classes, for the states
    of slots, and for their uses. A value that was evicted gets a new number when it comes back, so
    it cannot match the wrong nogood.
    """

    def __init__(self) -> None:
        self.nogoods: BoundedCache[Nogood, bool] = BoundedCache(MAX_NOGOODS)
        self._numbers: BoundedCache[Hashable, int] = BoundedCache(MAX_NUMBERS)
        self._next_number = 0

    def number(self, value: Hashable) -> int:
        """The number of a value, the same for equal values while it is cached."""
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
        asked = tuple([(variable.alike, variable.amounts) for variable in problem.variables])
        self._problem_number = store.number((tuple(partial.order), problem.goal, asked))

    def __contains__(self, depth: int) -> bool:
        """True if the partial assignment of this depth is known to be a nogood."""
        return len(self.store.nogoods) > 0 and self.nogood(depth) in self.store.nogoods

    def add(self, depth: int) -> None:
        """Remember that the partial assignment of this depth is a nogood."""
        self.store.nogoods.add(self.nogood(depth), True)

    def nogood(self, depth: int) -> Nogood:
        """The partial assignment of this depth in canonical form.

        The state of a slot consists of its use for open decisions (None if it is in none of their
        domains), the room that is left and that they may need, the effects of earlier decisions on
        it, and the states of the slots beneath it.
        """
        partial, number = self.partial, self.store.number
        remaining = self._remaining.get(depth)
        if remaining is None:
            remaining = self._remaining[depth] = _remaining(partial, depth, self.store)
        effects = self._effects(remaining)
        is_nested, ancestry = bool(self.problem.subtrees), self.problem.ancestry
        slots = ancestry.upwards if is_nested else remaining.uses
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
            above = ancestry.parents[slot] if is_nested else -1
            beneath.setdefault(above, []).append(number(state))
        partial.work.spent += len(slots) // 2 + sum(map(len, beneath.values()))
        top = tuple(sorted(beneath.get(-1, ())))
        return (self._problem_number, depth, partial.covered[depth] & partial.goal, top)

    def _effects(self, remaining: Remaining) -> dict[int, list[str]]:
        """The effects of earlier decisions on slots that open decisions may choose: the slot is
        taken, in a used tree, or the top of a subtree that they have to join."""
        partial = self.partial
        effects = {slot: ['taken'] for slot in partial.taken if slot in remaining.wanted}
        for tree, used in partial.used_trees.items():
            if used:
                for slot in self._slots_of_trees.get(tree, ()):
                    effect = 'used' if used[-1] == slot else 'in a used tree'
                    effects.setdefault(slot, []).append(effect)
        for number, subtree in enumerate(partial.subtrees):
            if subtree.is_begun and (top := subtree.top):
                effect = f'{"root" if top.is_root else "top"} of {number}'
                effects.setdefault(top.slot, []).append(effect)
        return effects

    @functools.cached_property
    def _slots_of_trees(self) -> dict[int, list[int]]:
        """The slots in each tree; empty unless some variable excludes used trees."""
        slots: dict[int, dict[int, None]] = {}
        for variable in self.problem.variables:
            if variable.trees is not None:
                for slot in variable.domain:
                    slots.setdefault(variable.trees[slot], {})[slot] = None
        return {tree: list(of_tree) for tree, of_tree in slots.items()}


class Remaining(NamedTuple):
    """The decisions that are open from one depth on, independent of the earlier ones."""

    # A number for each slot of their domains, equal for slots that are interchangeable for them.
    uses: Mapping[int, int]
    # For each of these slots, the sum of the amounts of each class that it may run short of.
    wanted: Mapping[int, Sequence[tuple[str, int]]]


def _remaining(partial: PartialAssignment, depth: int, store: NogoodStore) -> Remaining:
    needed: dict[str, int] = {}
    for variable in partial.variables[depth:]:
        for name, amount in variable.amounts:
            needed[name] = needed.get(name, 0) + amount
    partial.work.spent += len(partial.variables) - depth
    uses = _uses(partial, depth, store)
    wanted = {
        slot: [item for item in needed.items() if (slot, item[0]) in partial.room] for slot in uses
    }
    return Remaining(uses, wanted)


def _uses(partial: PartialAssignment, depth: int, store: NogoodStore) -> dict[int, int]:
    """`Remaining.uses` of the decisions from this depth on."""
    # Variables with the same request have the same domain.
    distinct = {variable.alike: variable for variable in partial.variables[depth:]}
    uses: dict[int, list[tuple[object, ...]]] = {}
    for key, variable in distinct.items():
        partial.work.spent += len(variable.domain)
        for slot in variable.domain:
            tree = -1 if variable.trees is None else variable.trees[slot]
            uses.setdefault(slot, []).append((key, variable.covers.get(slot, 0), tree))
    return {slot: store.number(tuple(use)) for slot, use in uses.items()}
