# SPDX-License-Identifier: Apache-2.0
"""same_subtree: a problem is split by who is on top, so that each part has no such constraint
left.

The providers of a constrained set of groups have exactly one topmost among them.  For each choice
of it the groups are narrowed to what lies beneath, and one of them has to be on top: the parts
have no combination in common, and hopeless ones are seen before anything is combined. Contract:
allocation_candidates.md 6, step 2.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from placement.search.combine import Problem
from placement.search.tally import COMBINATION, Reason, Tally

Lineages = Callable[[int], frozenset[int]]


def split_by_tops(
    problem: Problem, constraints: Sequence[frozenset[int]], lineage: Lineages, tally: Tally
) -> Iterator[Problem]:
    """The parts of a problem in which every constraint, a set of demands, is met by construction.

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


def _narrowed(part: Problem, demands: list[int], lineage: Lineages) -> list[Problem]:
    tops = dict.fromkeys(place for demand in demands for place in part.options[demand])
    narrowed = (_beneath(part, demands, top, lineage) for top in tops)
    return [smaller for smaller in narrowed if smaller is not None]


def _beneath(part: Problem, demands: list[int], top: int, lineage: Lineages) -> Problem | None:
    """The part in which the demands stay within the subtree of `top` and one of them is on it."""
    options, gains = list(part.options), list(part.gains)
    bit = part.goal + 1
    for demand in demands:
        options[demand] = [place for place in part.options[demand] if top in lineage(place)]
        if not options[demand]:
            return None
        if top in options[demand]:
            gains[demand] = {**gains[demand], top: gains[demand].get(top, 0) | bit}
    return dataclasses.replace(part, options=options, gains=gains, goal=part.goal | bit)
