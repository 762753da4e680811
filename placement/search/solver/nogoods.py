# SPDX-License-Identifier: Apache-2.0
"""Dead ends, known again under every other name.

What decides whether the rest of a combination can be found is what is left, not who took the other
part; and of places that mean the same to every wish only how many are left in which state.  So the
state of a partial combination is written down without names: each place as what it means and what
is left of it, together with what lies beneath it, as trees are compared that may be drawn in
different ways.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement.search.solver.partial import Partial
from placement.search.solver.problem import Problem

# How many dead ends are remembered at a time.
MAX_DEAD_ENDS = 10_000


class DeadEnds:
    """The dead ends met in one search."""

    def __init__(self, problem: Problem, partial: Partial) -> None:
        self.partial = partial
        self.meanings = _meanings(problem)
        # Beneath comes before above.
        parents = problem.parents if problem.constraints else [-1] * (max(self.meanings) + 1)
        self.parents = parents
        self.upwards = sorted(range(len(parents)), key=lambda place: -_height(place, parents))
        self.residents = _residents(problem)
        self.outlooks: dict[int, Outlook] = {}
        self.names: dict[tuple[object, ...], int] = {}
        self.known: set[tuple[object, ...]] = set()

    def __contains__(self, depth: int) -> bool:
        """Whether the partial combination of this depth is known to lead nowhere."""
        return bool(self.known) and self._state(depth) in self.known

    def add(self, depth: int) -> None:
        """Remember that the partial combination of this depth leads nowhere."""
        if len(self.known) >= MAX_DEAD_ENDS:
            self.known.clear()
            self.names.clear()
        self.known.add(self._state(depth))

    def _state(self, depth: int) -> tuple[object, ...]:
        partial = self.partial
        left = self._left(depth)
        beneath: dict[int, list[int]] = {}
        for place in self.upwards:
            state = (
                self.meanings.get(place, -1),
                *left.get(place, ()),
                None,
                *sorted(beneath.get(place, ())),
            )
            name = self.names.setdefault(state, len(self.names))
            beneath.setdefault(self.parents[place], []).append(name)
        return (depth, partial.gained[depth] & partial.goal, *sorted(beneath.get(-1, ())))

    def _left(self, depth: int) -> Mapping[int, Sequence[object]]:
        """What is left of each place that some step from this depth on could be given."""
        if depth not in self.outlooks:
            self.outlooks[depth] = _outlook(self.partial, depth)
        partial, outlook = self.partial, self.outlooks[depth]
        left: dict[int, list[object]] = {
            # No more of it than the rest could want.
            place: [min(partial.room[place, name], amount) for name, amount in wanted]
            for place, wanted in outlook.wanted.items()
        }
        for place in partial.taken & left.keys():
            left[place].append('taken')
        for home, used in partial.used_homes.items():
            if used:
                for place in self.residents.get(home, ()):
                    left.setdefault(place, []).append('used' if used[-1] == place else 'barred')
        for decided, mark in outlook.marks:
            left.setdefault(partial.chosen[decided], []).append(mark)
        return left


class Outlook(NamedTuple):
    """What matters to the steps from one depth on, whatever was decided before.

    `wanted` holds, for each place they could be given, what all of them want of each class that
    it may run short of.  `marks` are the steps before whose places matter to them: tops with some
    wish to come, and wishes with their top to come.
    """

    wanted: Mapping[int, Sequence[tuple[str, int]]]
    marks: Sequence[tuple[int, str]]


def _outlook(partial: Partial, depth: int) -> Outlook:
    needed: dict[str, int] = {}
    marks = []
    for later, step in enumerate(partial.steps[depth:], depth):
        for name, amount in step.wish.amounts:
            needed[name] = needed.get(name, 0) + amount
        marks += [(top, f'{top} above {later}') for top, _ in step.tops if top < depth]
        marks += [(one, f'{one} below {later}') for one in step.members if one < depth]
    wanted = {
        place: [item for item in needed.items() if (place, item[0]) in partial.room]
        for step in partial.steps[depth:]
        for place in step.wish.options
    }
    return Outlook(wanted, marks)


def _meanings(problem: Problem) -> dict[int, int]:
    """A number for each place, the same for places that mean the same to every wish."""
    meanings: dict[int, list[tuple[int, int, int]]] = {}
    for number, wish in enumerate(problem.wishes):
        for place in wish.options:
            home = -1 if wish.homes is None else wish.homes[place]
            meanings.setdefault(place, []).append((number, wish.gains.get(place, 0), home))
    numbers: dict[tuple[object, ...], int] = {}
    return {
        place: numbers.setdefault(tuple(meaning), len(numbers))
        for place, meaning in meanings.items()
    }


def _residents(problem: Problem) -> dict[int, set[int]]:
    """The places in each home."""
    residents: dict[int, set[int]] = {}
    for wish in problem.wishes:
        if wish.homes is not None:
            for place in wish.options:
                residents.setdefault(wish.homes[place], set()).add(place)
    return residents


def _height(place: int, parents: Sequence[int]) -> int:
    """How many places are above, as far as a circle lets it be told."""
    height = 0
    while parents[place] >= 0 and height < len(parents):
        place, height = parents[place], height + 1
    return height
