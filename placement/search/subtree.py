# SPDX-License-Identifier: Apache-2.0
"""same_subtree: a problem is split by who is on top, so that no part has such a constraint left.

The providers of a constrained set of groups have exactly one topmost among them.  For each choice
of it the groups are narrowed to what lies beneath, and one of them has to be on top: the parts
have no combination in common, and hopeless ones are seen before anything is combined. Contract:
allocation_candidates.md 6, step 2.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from placement.search.combine import Problem
from placement.search.tally import COMBINATION, Reason, Tally

Lineage = Callable[[int], frozenset[int]]


def split_by_tops(
    problem: Problem, constraints: Sequence[frozenset[int]], lineage: Lineage, tally: Tally
) -> Iterator[Problem]:
    """The parts of a problem in which every constraint, a set of wishes, is met by construction.

    `lineage` gives the places that are a place itself or one of its ancestors.
    """
    # The top of the stack is the next part; a loop, because a query may have many constraints.
    stack = [(problem, 0)]
    while stack:
        part, done = stack.pop()
        if done == len(constraints):
            yield part
            continue
        narrowed = _narrowed(part, sorted(constraints[done]), lineage)
        if not narrowed:
            tally.add(COMBINATION, Reason.SUBTREE)
        stack.extend((smaller, done + 1) for smaller in reversed(narrowed))


def _narrowed(part: Problem, numbers: list[int], lineage: Lineage) -> list[Problem]:
    tops = dict.fromkeys(place for number in numbers for place in part.wishes[number].options)
    narrowed = (_beneath(part, numbers, top, lineage) for top in tops)
    return [smaller for smaller in narrowed if smaller is not None]


def _beneath(part: Problem, numbers: list[int], top: int, lineage: Lineage) -> Problem | None:
    """The part in which these wishes stay in the subtree of `top` and one of them is on it."""
    wishes = list(part.wishes)
    bit = part.goal + 1
    for number in numbers:
        wish = wishes[number]
        options = [place for place in wish.options if top in lineage(place)]
        if not options:
            return None
        gains = wish.gains
        if top in options:
            gains = {**gains, top: gains.get(top, 0) | bit}
        wishes[number] = wish._replace(options=options, gains=gains)
    return dataclasses.replace(part, wishes=wishes, goal=part.goal | bit)
