# SPDX-License-Identifier: Apache-2.0
"""Demands under one anchor as a problem of giving places to wishes, and the order to solve it in.

same_subtree is made part of the problem by a step of its own.  The providers of a constrained set
of groups have exactly one topmost among them: once the first of the groups has a place, the next
step says which place is the top, itself or above, and whatever follows has to lie beneath.  So a
combination is still found in one way only.  Specification: allocation_candidates, "Combining
groups".
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Wish(NamedTuple):
    """One demand of a problem, and the places that could serve it if it were alone.

    `amounts` names contended classes only: those that several demands ask for, so that a place may
    run short.  Exclusive wishes take a place for themselves among each other.  Having place p
    gains the bits of `gains[p]`.  Where `homes` gives the tree of each place, the wishes that have
    it do not use two places of one tree.
    """

    options: Sequence[int]
    amounts: tuple[tuple[str, int], ...] = ()
    is_exclusive: bool = False
    gains: Mapping[int, int] = {}
    homes: Sequence[int] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Wishes to be fulfilled together, within the room of each place for each contended class.

    All bits of `goal` have to be gained by somebody: so it is told that a trait has to be
    somewhere.  Constraints are sets of wishes, by number, each to be held in a subtree with one of
    them on top.  `parents` gives the place above each place, or -1.
    """

    wishes: Sequence[Wish]
    room: Mapping[tuple[int, str], int]
    goal: int = 0
    constraints: Sequence[frozenset[int]] = ()
    parents: Sequence[int] = ()


class Step(NamedTuple):
    """What is decided at one depth: the place of a wish, or the top of a constraint (number -1).

    For a wish, `tops` are the depths at which tops above it were chosen, each with the bit that is
    gained by being on top.  For a top, `members` are the depths of the wishes chosen before that
    have to lie beneath, and `bit` is gained when one of them is on it.
    """

    number: int
    wish: Wish
    tops: tuple[tuple[int, int], ...] = ()
    members: tuple[int, ...] = ()
    bit: int = 0

    @property
    def bits(self) -> int:
        """All that can be gained here."""
        bits = self.bit
        for gain in self.wish.gains.values():
            bits |= gain
        for _, bit in self.tops:
            bits |= bit
        return bits


def goal_of(problem: Problem) -> int:
    """The goal with a bit for each constraint, gained by having somebody on top."""
    return (problem.goal + 1 << len(problem.constraints)) - 1


def steps_of(problem: Problem) -> list[Step]:
    """The steps to a combination.

    Wishes with few options come first: what fails soon is given up soon.  Wishes that are
    constrained together follow each other, for the same reason.
    """
    depths: dict[tuple[str, int], int] = {}
    steps: list[Step] = []
    for kind, number in _order(problem):
        depths[kind, number] = len(steps)
        if kind == 'top':
            steps.append(_top_step(problem, number, depths))
        else:
            steps.append(_wish_step(problem, number, depths))
    return steps


def _order(problem: Problem) -> list[tuple[str, int]]:
    def by_options(numbers: Sequence[int] | frozenset[int]) -> list[int]:
        return sorted(numbers, key=lambda number: (len(problem.wishes[number].options), number))

    # What comes next is on top of the stack; dict keys, because they keep their order.
    order: dict[tuple[str, int], None] = {}
    stack = [('wish', number) for number in reversed(by_options(range(len(problem.wishes))))]
    opened: set[int] = set()
    while stack:
        item = stack.pop()
        if item in order:
            continue
        order[item] = None
        for constraint, members in enumerate(problem.constraints):
            if item[0] == 'wish' and item[1] in members and constraint not in opened:
                opened.add(constraint)
                stack.extend(('wish', member) for member in reversed(by_options(members)))
                stack.append(('top', constraint))
    return list(order)


def _bit(problem: Problem, constraint: int) -> int:
    return problem.goal + 1 << constraint


def _top_step(problem: Problem, constraint: int, depths: dict[tuple[str, int], int]) -> Step:
    members = problem.constraints[constraint]
    tops = dict.fromkeys(
        place for member in sorted(members) for place in problem.wishes[member].options
    )
    placed = [depths['wish', member] for member in members if ('wish', member) in depths]
    return Step(-1, Wish(list(tops)), members=tuple(sorted(placed)), bit=_bit(problem, constraint))


def _wish_step(problem: Problem, number: int, depths: dict[tuple[str, int], int]) -> Step:
    tops = [
        (depths['top', constraint], _bit(problem, constraint))
        for constraint, members in enumerate(problem.constraints)
        if number in members and ('top', constraint) in depths
    ]
    return Step(number, problem.wishes[number], tops=tuple(tops))


def lineages_of(parents: Sequence[int]) -> list[frozenset[int]]:
    """For each place, the places that are itself or above it."""
    return [_lineage(place, parents) for place in range(len(parents))]


def _lineage(place: int, parents: Sequence[int]) -> frozenset[int]:
    lineage: set[int] = set()
    # A circle of parents cannot be written through the API; should a row hold one, stop.
    while place >= 0 and place not in lineage:
        lineage.add(place)
        place = parents[place]
    return frozenset(lineage)
