# SPDX-License-Identifier: Apache-2.0
"""Demands into combinations: which place serves which demand, everything taken together.

A depth-first search that drops a partial combination as soon as it cannot be completed.
Combinations are generated, one for every way of giving places to demands; nothing is collected.
Contract: allocation_candidates.md 6.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.search import bounds
from placement.search.tally import COMBINATION, Reason, Tally

# How many dead ends are remembered at a time.
MOST_DEAD_ENDS = 10_000

Combination = tuple[int, ...]
Room = dict[tuple[int, str], int]


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
    somewhere, or that somebody has to be on top of a subtree.
    """

    wishes: Sequence[Wish]
    room: Mapping[tuple[int, str], int]
    goal: int = 0


class Combiner:
    """One search through one problem; holds the partial combination.

    The wish at depth n is the one that is fulfilled after n others.
    """

    def __init__(self, problem: Problem, tally: Tally) -> None:
        self.tally = tally
        self.goal = problem.goal
        # Wishes with few options first: what fails soon is given up soon.
        order = sorted(enumerate(problem.wishes), key=lambda numbered: len(numbered[1].options))
        self.wishes = [wish for _, wish in order]
        self.depth_of = [0] * len(order)
        for depth, (number, _) in enumerate(order):
            self.depth_of[number] = depth
        self.room: Room = dict(problem.room)
        self.taken: set[int] = set()
        self.used_homes: dict[int, list[int]] = {}
        self.gained = [0] * (len(order) + 1)
        self.gainable = _gainable(self.wishes)
        self.dead_ends: set[tuple[object, ...]] = set()
        self.is_wary = False
        self.likeness: Mapping[int, int] = {}

    def combinations(self) -> Iterator[Combination]:
        """Every combination, as the place of each wish."""
        deepest = len(self.wishes) - 1
        if not self._may_complete(0):
            return
        chosen = [-1] * len(self.wishes)
        fruitful = [False] * len(self.wishes)
        pending = [iter(self.wishes[0].options)]
        while pending:
            depth = len(pending) - 1
            if chosen[depth] >= 0:
                self._release(depth, chosen[depth])
                chosen[depth] = -1
            for place in pending[depth]:
                if self._take(depth, place):
                    chosen[depth] = place
                    break
            else:
                pending.pop()
                if not fruitful[depth]:
                    self._remember_dead_end(depth)
                elif depth:
                    fruitful[depth - 1] = True
                continue
            if depth == deepest:
                fruitful[depth] = True
                yield tuple([chosen[at] for at in self.depth_of])
            elif self._is_open(depth + 1):
                fruitful[depth + 1] = False
                pending.append(iter(self.wishes[depth + 1].options))

    def _take(self, depth: int, place: int) -> bool:
        """Give the place to the wish of this depth, if rules and room allow."""
        wish = self.wishes[depth]
        if not self._is_free(wish, place):
            return False
        gained = self.gained[depth] | wish.gains.get(place, 0)
        if (gained | self.gainable[depth + 1]) & self.goal != self.goal:
            return False
        self.gained[depth + 1] = gained
        for name, amount in wish.amounts:
            self.room[place, name] -= amount
        if wish.is_exclusive:
            self.taken.add(place)
        if wish.homes is not None:
            self.used_homes.setdefault(wish.homes[place], []).append(place)
        return True

    def _is_free(self, wish: Wish, place: int) -> bool:
        if wish.is_exclusive and place in self.taken:
            self.tally.add(COMBINATION, Reason.ISOLATE)
            return False
        for name, amount in wish.amounts:
            if self.room[place, name] < amount:
                self.tally.add(COMBINATION, Reason.USED)
                return False
        if wish.homes is not None:
            here = self.used_homes.get(wish.homes[place])
            if here and here[-1] != place:
                self.tally.add(COMBINATION, Reason.TREE)
                return False
        return True

    def _release(self, depth: int, place: int) -> None:
        wish = self.wishes[depth]
        for name, amount in wish.amounts:
            self.room[place, name] += amount
        if wish.is_exclusive:
            self.taken.discard(place)
        if wish.homes is not None:
            self.used_homes[wish.homes[place]].pop()

    # A search without dead ends pays for none of the following, but for one look ahead.

    def _is_open(self, depth: int) -> bool:
        """Whether the wishes from this depth on are worth trying."""
        if not self.is_wary:
            return True
        return self._state(depth) not in self.dead_ends and self._may_complete(depth)

    def _remember_dead_end(self, depth: int) -> None:
        if len(self.dead_ends) >= MOST_DEAD_ENDS:
            self.dead_ends.clear()
        self.is_wary = True
        self.dead_ends.add(self._state(depth))

    def _state(self, depth: int) -> tuple[object, ...]:
        """What decides whether the wishes from this depth on can be fulfilled.

        Nothing in it tells which wish took what, and places that mean the same to every wish are
        told apart by what is left of them only.  So a dead end is known again under every other
        name.
        """
        if not self.likeness:
            self.likeness = _likeness(self.wishes)
        needed: dict[str, int] = {}
        for wish in self.wishes[depth:]:
            for name, amount in wish.amounts:
                needed[name] = needed.get(name, 0) + amount
        places = {place for wish in self.wishes[depth:] for place in wish.options}
        left = sorted((self.likeness[place], *self._left_of(place, needed)) for place in places)
        return (depth, self.gained[depth] & self.goal, *left)

    def _left_of(self, place: int, needed: Mapping[str, int]) -> Iterator[int]:
        """What is left of a place, and no more of it than the rest could want."""
        for name, amount in needed.items():
            yield min(self.room.get((place, name), 0), amount)
        yield place in self.taken
        for wish in self.wishes:
            if wish.homes is not None:
                here = self.used_homes.get(wish.homes[place])
                yield 0 if not here else 1 if here[-1] == place else 2
                break

    def _may_complete(self, depth: int) -> bool:
        """False when the wishes from this depth on certainly cannot all be fulfilled."""
        if (self.gained[depth] | self.gainable[depth]) & self.goal != self.goal:
            self.tally.add(COMBINATION, Reason.REQUIRED_TRAIT)
            return False
        rest = self.wishes[depth:]
        exclusive = [self._open_options(wish) for wish in rest if wish.is_exclusive]
        if exclusive and not bounds.have_places_of_their_own(exclusive):
            self.tally.add(COMBINATION, Reason.ISOLATE)
            return False
        loads: dict[str, list[bounds.Load]] = {}
        for wish in rest:
            for name, amount in wish.amounts:
                loads.setdefault(name, []).append((amount, self._open_options(wish)))
        for name, of_class in loads.items():
            places = {place for _, options in of_class for place in options}
            if not bounds.sums_fit(of_class, {at: self.room[at, name] for at in places}):
                self.tally.add(COMBINATION, Reason.USED)
                return False
        return True

    def _open_options(self, wish: Wish) -> tuple[int, ...]:
        room, taken = self.room, self.taken if wish.is_exclusive else ()
        return tuple(
            [
                place
                for place in wish.options
                if place not in taken
                and all(room[place, name] >= amount for name, amount in wish.amounts)
            ]
        )


def _gainable(wishes: Sequence[Wish]) -> list[int]:
    """For each depth, the bits that wishes from there on can gain."""
    gainable = [0]
    for wish in reversed(wishes):
        bits = gainable[-1]
        for gain in wish.gains.values():
            bits |= gain
        gainable.append(bits)
    gainable.reverse()
    return gainable


def _likeness(wishes: Sequence[Wish]) -> dict[int, int]:
    """A number for each place, the same for places that mean the same to every wish."""
    meanings: dict[int, list[tuple[int, int, int]]] = {}
    for number, wish in enumerate(wishes):
        for place in wish.options:
            home = -1 if wish.homes is None else wish.homes[place]
            meanings.setdefault(place, []).append((number, wish.gains.get(place, 0), home))
    numbers: dict[tuple[object, ...], int] = {}
    return {
        place: numbers.setdefault(tuple(meaning), len(numbers))
        for place, meaning in meanings.items()
    }
