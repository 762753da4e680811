# SPDX-License-Identifier: Apache-2.0
"""A combination in the making: what has been given to whom, and what is left."""

from collections.abc import Sequence

from placement.search.solver import bounds
from placement.search.solver.problem import Problem, Step, Wish, goal_of, lineages_of, steps_of
from placement.search.solver.tally import COMBINATION, Reason, Tally

NOBODY: frozenset[int] = frozenset()


class Partial:
    """The steps decided so far.  Depth n is the step after n others."""

    def __init__(self, problem: Problem, tally: Tally) -> None:
        self.refusals = tally.counter(COMBINATION)
        self.steps = steps_of(problem)
        self.goal = goal_of(problem)
        self.lineages = lineages_of(problem.parents) if problem.constraints else []
        self.room = dict(problem.room)
        self.chosen = [-1] * len(self.steps)
        self.taken: set[int] = set()
        self.used_homes: dict[int, list[int]] = {}
        self.gained = [0] * (len(self.steps) + 1)
        self.gainable = _gainable(self.steps)

    def take(self, depth: int, place: int) -> bool:
        """Give the place to the step of this depth, if rules and room allow."""
        step = self.steps[depth]
        wish = step.wish
        if not self._is_free(wish, place):
            return False
        gained = self.gained[depth] | wish.gains.get(place, 0)
        if step.tops or step.members:
            if not self._is_in_line(step, place):
                self.refusals[Reason.SUBTREE] += 1
                return False
            gained |= self._bits_on_top(step, place)
        if (gained | self.gainable[depth + 1]) & self.goal != self.goal:
            return False
        self.gained[depth + 1] = gained
        self.chosen[depth] = place
        for name, amount in wish.amounts:
            self.room[place, name] -= amount
        if wish.is_exclusive:
            self.taken.add(place)
        if wish.homes is not None:
            self.used_homes.setdefault(wish.homes[place], []).append(place)
        return True

    def release(self, depth: int) -> None:
        """Take back what the step of this depth was given, if it was."""
        place, wish = self.chosen[depth], self.steps[depth].wish
        if place < 0:
            return
        self.chosen[depth] = -1
        for name, amount in wish.amounts:
            self.room[place, name] += amount
        if wish.is_exclusive:
            self.taken.discard(place)
        if wish.homes is not None:
            self.used_homes[wish.homes[place]].pop()

    def _is_free(self, wish: Wish, place: int) -> bool:
        if wish.is_exclusive and place in self.taken:
            self.refusals[Reason.ISOLATE] += 1
            return False
        for name, amount in wish.amounts:
            if self.room[place, name] < amount:
                self.refusals[Reason.USED] += 1
                return False
        if wish.homes is not None:
            here = self.used_homes.get(wish.homes[place])
            if here and here[-1] != place:
                self.refusals[Reason.TREE] += 1
                return False
        return True

    def _is_in_line(self, step: Step, place: int) -> bool:
        """Whether a wish lies beneath the tops chosen for it, or a top above its wishes."""
        lineage = self.lineages[place]
        return all(self.chosen[top] in lineage for top, _ in step.tops) and all(
            place in self.lineages[self.chosen[member]] for member in step.members
        )

    def _bits_on_top(self, step: Step, place: int) -> int:
        bits = step.bit if any(self.chosen[member] == place for member in step.members) else 0
        for top, bit in step.tops:
            if self.chosen[top] == place:
                bits |= bit
        return bits

    def may_complete(self, depth: int) -> bool:
        """False when the steps from this depth on certainly cannot all be taken."""
        if (self.gained[depth] | self.gainable[depth]) & self.goal != self.goal:
            self.refusals[Reason.REQUIRED_TRAIT] += 1
            return False
        rest = [(step.wish, self._open_options(step, depth)) for step in self.steps[depth:]]
        exclusive = [options for wish, options in rest if wish.is_exclusive]
        if exclusive and not bounds.have_places_of_their_own(exclusive):
            self.refusals[Reason.ISOLATE] += 1
            return False
        loads: dict[str, list[bounds.Load]] = {}
        for wish, options in rest:
            for name, amount in wish.amounts:
                loads.setdefault(name, []).append((amount, options))
        for name, of_class in loads.items():
            places = {place for _, options in of_class for place in options}
            if not bounds.sums_fit(of_class, {at: self.room[at, name] for at in places}):
                self.refusals[Reason.USED] += 1
                return False
        return True

    def _open_options(self, step: Step, depth: int) -> Sequence[int]:
        """The options of a later step that what was decided before this depth leaves open."""
        wish = step.wish
        tops = [self.chosen[top] for top, _ in step.tops if top < depth]
        if not (wish.amounts or wish.is_exclusive):
            return ()
        taken = self.taken if wish.is_exclusive else NOBODY
        return [
            place
            for place in wish.options
            if place not in taken
            and all(self.room[place, name] >= amount for name, amount in wish.amounts)
            and all(top in self.lineages[place] for top in tops)
        ]


def _gainable(steps: Sequence[Step]) -> list[int]:
    """For each depth, the bits that steps from there on can gain."""
    gainable = [0]
    for step in reversed(steps):
        gainable.append(gainable[-1] | step.bits)
    gainable.reverse()
    return gainable
