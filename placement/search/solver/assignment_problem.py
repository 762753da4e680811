# SPDX-License-Identifier: Apache-2.0
"""The constraint problem of one tree: variables, domains, constraints, and the order to decide in.

Each provider request is a variable; its domain are the slots that have room for it alone. The
constraints are the room of each slot, exclusive slots, traits to be collected, and same_subtree.

same_subtree is made part of the problem by a variable of its own.  The providers of a constrained
set of groups have exactly one topmost among them: once the first of the groups has a slot, the
next decision says which slot is the root of the subtree, itself or an ancestor, and whatever
follows has to lie beneath.  So an assignment is still found in one way only.  Specification:
allocation_candidates, "Combining groups".
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.ancestry import Ancestry

Room = Mapping[tuple[int, str], int]
NO_ANCESTRY = Ancestry()


class Variable(NamedTuple):
    """One provider request, and the slots that can serve it if it is alone.

    `amounts` names contested classes only: those of which a slot may run short.  Exclusive
    variables take a slot for themselves among each other.  Taking slot s gains the bits of
    `gains[s]`.  Where `trees` gives the tree of each slot, the variables that have it do not use
    two slots of one tree.  `alike` is the number of the first variable that asks for the same,
    `weight` says how large it is beside the others.
    """

    domain: Sequence[int]
    amounts: tuple[tuple[str, int], ...] = ()
    is_exclusive: bool = False
    gains: Mapping[int, int] = {}
    trees: Sequence[int] | None = None
    alike: int = -1
    weight: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Variables to be assigned together, within the room of each slot for each contested class.

    All bits of `goal` have to be gained by some variable: so it is told that a trait has to be
    somewhere.  Constraints are sets of variables, by number, each to be kept in a subtree with one
    of them as its root.  `parents` gives the slot of each slot's parent, or -1, and `ancestry`
    tells which slots are above which others.
    """

    variables: Sequence[Variable]
    room: Room
    goal: int = 0
    constraints: Sequence[frozenset[int]] = ()
    parents: Sequence[int] = ()
    ancestry: Ancestry = NO_ANCESTRY

    @property
    def is_independent(self) -> bool:
        """Whether every choice of slots is a solution."""
        return not (
            self.goal
            or self.constraints
            or any(one.amounts or one.trees is not None for one in self.variables)
            or sum(one.is_exclusive for one in self.variables) > 1
        )


def contested_amounts(
    amounts: Sequence[tuple[tuple[str, int], ...]],
    domains: Sequence[Sequence[int]],
    room: Room,
) -> list[tuple[tuple[str, int], ...]]:
    """The amounts of each variable without the classes that no slot can run short of.

    A slot with room for all that is asked of a class does not run short, whoever takes it.
    """
    totals: dict[str, int] = {}
    least: dict[str, int] = {}
    for wanted, domain in zip(amounts, domains, strict=True):
        for name, amount in wanted:
            totals[name] = totals.get(name, 0) + amount
            of_slots = min([room[slot, name] for slot in domain])
            least[name] = min(least.get(name, of_slots), of_slots)
    scarce = {name for name, total in totals.items() if least[name] < total}
    return [tuple([item for item in wanted if item[0] in scarce]) for wanted in amounts]


# The decisions of a search, in order: variables by number, and ~c for the root of the subtree
# that constraint c asks for.
Order = tuple[int, ...]


def decision_order(problem: Problem) -> Order:
    """Those that gain bits of the goal first, then the smallest domains, and of these the largest
    amounts.

    What is hard to place is placed while there is room; what is left over is easy. The variables
    of a constraint follow each other, with the root of their subtree after the first of them.
    """

    def hardest_first(numbers: Iterable[int]) -> list[int]:
        return sorted(
            numbers,
            key=lambda number: (
                not problem.variables[number].gains,
                len(problem.variables[number].domain),
                -problem.variables[number].weight,
                problem.variables[number].alike,
                number,
            ),
        )

    # What comes next is on top of the stack; dict keys, because they keep their order.
    order: dict[int, None] = {}
    stack = hardest_first(range(len(problem.variables)))[::-1]
    opened: set[int] = set()
    while stack:
        item = stack.pop()
        if item in order:
            continue
        order[item] = None
        for number, members in enumerate(problem.constraints):
            if item in members and number not in opened:
                opened.add(number)
                stack.extend(reversed(hardest_first(members)))
                stack.append(~number)
    return tuple(order)


class Decision(NamedTuple):
    """What is decided at one depth: the slot of a variable, or the root of a subtree (number -1).

    For a variable, `roots` are the depths at which roots of its subtrees are decided before it,
    each with the bit that is gained by being that root.  For the root of a subtree, `members` are
    the depths of the variables decided before it that have to lie beneath, and `bit` is gained
    when one of them is it.
    """

    number: int
    variable: Variable
    roots: tuple[tuple[int, int], ...] = ()
    members: tuple[int, ...] = ()
    bit: int = 0

    @property
    def bits(self) -> int:
        """All bits that this decision might gain."""
        bits = self.bit
        for gain in self.variable.gains.values():
            bits |= gain
        for _, root_bit in self.roots:
            bits |= root_bit
        return bits


def goal_of(problem: Problem) -> int:
    """The bits to be gained, with one for every subtree: somebody has to be its root."""
    return problem.goal | sum(_bit(problem, number) for number in range(len(problem.constraints)))


def decisions_of(problem: Problem, order: Order) -> list[Decision]:
    """The decisions in this order."""
    depths = {item: depth for depth, item in enumerate(order)}
    return [
        _root_decision(problem, ~item, depths, depth)
        if item < 0
        else _variable_decision(problem, item, depths, depth)
        for depth, item in enumerate(order)
    ]


def _bit(problem: Problem, constraint: int) -> int:
    return 1 << (problem.goal.bit_length() + constraint)


def _root_decision(
    problem: Problem, constraint: int, depths: Mapping[int, int], depth: int
) -> Decision:
    members = sorted(problem.constraints[constraint])
    roots = dict.fromkeys(slot for one in members for slot in problem.variables[one].domain)
    decided = tuple(sorted(depths[one] for one in members if depths[one] < depth))
    return Decision(-1, Variable(list(roots)), members=decided, bit=_bit(problem, constraint))


def _variable_decision(
    problem: Problem, number: int, depths: Mapping[int, int], depth: int
) -> Decision:
    roots = [
        (depths[~constraint], _bit(problem, constraint))
        for constraint, members in enumerate(problem.constraints)
        if number in members and depths[~constraint] < depth
    ]
    return Decision(number, problem.variables[number], roots=tuple(roots))
