# SPDX-License-Identifier: Apache-2.0
"""Demands into combinations: which place serves which demand, everything taken together.

A depth-first search that drops a partial combination as soon as it cannot be completed.
Combinations are generated, one for every way of giving places to demands; nothing is collected.
Contract: allocation_candidates.md 6.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from placement.search.flow import can_carry, largest_sum
from placement.search.tally import COMBINATION, Reason, Tally

# How many dead ends are remembered at a time.
MOST_DEAD_ENDS = 10_000

Combination = tuple[int, ...]


@dataclasses.dataclass(slots=True)
class Problem:
    """Demands, by number, and the places that could serve each one if it were alone.

    `amounts` and `room` are about contended classes only: those that several demands ask for, so
    that a place may run short.  `exclusive` demands take a place for themselves among each other.
    Giving place p to demand d gains the bits of `gains[d][p]`, and all bits of `goal` have to be
    gained by somebody: so it is told that a trait has to be somewhere, or that somebody has to be
    on top of a subtree.  Where `homes` gives the tree of each place, no two places of one tree may
    be used.
    """

    options: Sequence[Sequence[int]]
    amounts: Sequence[Mapping[str, int]]
    room: Mapping[tuple[int, str], int]
    exclusive: Sequence[bool]
    gains: Sequence[Mapping[int, int]]
    goal: int = 0
    homes: Sequence[int] | None = None


class Combiner:
    """One search through one problem; holds the partial combination."""

    def __init__(self, problem: Problem, tally: Tally) -> None:
        self.problem = problem
        self.tally = tally
        # Demands with few options first: what fails soon is given up soon.
        self.order = sorted(
            range(len(problem.options)), key=lambda demand: len(problem.options[demand])
        )
        self.room = dict(problem.room)
        self.taken: set[int] = set()
        self.used_homes: dict[int, list[int]] = {}
        self.gained = [0] * (len(self.order) + 1)
        self.gainable = self._gainable()
        self.dead_ends: set[tuple[object, ...]] = set()
        self.is_wary = False
        self._likeness: dict[int, int] | None = None

    def combinations(self) -> Iterator[Combination]:
        """Every combination, as the place of each demand."""
        depths = len(self.order)
        if not self._may_complete(0):
            return
        chosen = [-1] * depths
        pending = [iter(self._options(0))]
        fruitful = [False] * (depths + 1)
        while pending:
            depth = len(pending) - 1
            if chosen[depth] >= 0:
                self._release(depth, chosen[depth])
                chosen[depth] = -1
            place = next((one for one in pending[-1] if self._take(depth, one)), -1)
            if place < 0:
                pending.pop()
                if fruitful[depth]:
                    fruitful[depth - 1] = True
                else:
                    self._remember_dead_end(depth)
                continue
            chosen[depth] = place
            if depth + 1 == depths:
                fruitful[depth] = True
                yield self._in_order_of_demands(chosen)
            elif self._is_open(depth + 1):
                fruitful[depth + 1] = False
                pending.append(iter(self._options(depth + 1)))

    def _options(self, depth: int) -> Sequence[int]:
        return self.problem.options[self.order[depth]]

    def _in_order_of_demands(self, chosen: list[int]) -> Combination:
        combination = [0] * len(chosen)
        for demand, place in zip(self.order, chosen, strict=True):
            combination[demand] = place
        return tuple(combination)

    def _take(self, depth: int, place: int) -> bool:
        """Give the place to the demand of this depth, if rules and room allow."""
        problem, demand = self.problem, self.order[depth]
        if not self._has_room(demand, place):
            return False
        gained = self.gained[depth] | problem.gains[demand].get(place, 0)
        if (gained | self.gainable[depth + 1]) & problem.goal != problem.goal:
            return False
        self.gained[depth + 1] = gained
        for name, amount in problem.amounts[demand].items():
            self.room[place, name] -= amount
        if problem.exclusive[demand]:
            self.taken.add(place)
        if problem.homes is not None:
            self.used_homes.setdefault(problem.homes[place], []).append(place)
        return True

    def _has_room(self, demand: int, place: int) -> bool:
        problem = self.problem
        if problem.exclusive[demand] and place in self.taken:
            self.tally.add(COMBINATION, Reason.ISOLATE)
            return False
        for name, amount in problem.amounts[demand].items():
            if self.room[place, name] < amount:
                self.tally.add(COMBINATION, Reason.USED)
                return False
        if problem.homes is not None:
            here = self.used_homes.get(problem.homes[place])
            if here and here[-1] != place:
                self.tally.add(COMBINATION, Reason.TREE)
                return False
        return True

    def _release(self, depth: int, place: int) -> None:
        problem, demand = self.problem, self.order[depth]
        for name, amount in problem.amounts[demand].items():
            self.room[place, name] += amount
        if problem.exclusive[demand]:
            self.taken.discard(place)
        if problem.homes is not None:
            self.used_homes[problem.homes[place]].pop()

    def _gainable(self) -> list[int]:
        """For each depth, the bits that demands from there on can gain."""
        gainable = [0]
        for demand in reversed(self.order):
            bits = gainable[-1]
            for gain in self.problem.gains[demand].values():
                bits |= gain
            gainable.append(bits)
        gainable.reverse()
        return gainable

    # A search without dead ends pays for none of the following.

    def _is_open(self, depth: int) -> bool:
        """Whether the demands from this depth on are worth trying."""
        if not self.is_wary:
            return True
        return self._state(depth) not in self.dead_ends and self._may_complete(depth)

    def _remember_dead_end(self, depth: int) -> None:
        if len(self.dead_ends) >= MOST_DEAD_ENDS:
            self.dead_ends.clear()
        self.is_wary = True
        self.dead_ends.add(self._state(depth))

    def _state(self, depth: int) -> tuple[object, ...]:
        """What decides whether the demands from this depth on can be placed.

        Nothing in it tells which demand took what, and places that serve alike are told apart by
        what is left of them only.  So a dead end is known again under every other name.
        """
        likeness = self._alike()
        rest = self.order[depth:]
        needed: dict[str, int] = {}
        for demand in rest:
            for name, amount in self.problem.amounts[demand].items():
                needed[name] = needed.get(name, 0) + amount
        places = {place for demand in rest for place in self.problem.options[demand]}
        left = sorted((likeness[place], *self._left_of(place, needed)) for place in places)
        return (depth, self.gained[depth] & self.problem.goal, *left)

    def _left_of(self, place: int, needed: Mapping[str, int]) -> Iterator[int]:
        """What is left of a place, and no more of it than the rest could want."""
        for name, amount in needed.items():
            yield min(self.room.get((place, name), 0), amount)
        yield place in self.taken
        if self.problem.homes is not None:
            here = self.used_homes.get(self.problem.homes[place])
            yield 0 if not here else 1 if here[-1] == place else 2

    def _alike(self) -> dict[int, int]:
        """A number for each place, the same for places that mean the same to every demand."""
        if self._likeness is None:
            meanings: dict[int, list[tuple[int, int]]] = {}
            for demand, options in enumerate(self.problem.options):
                gains = self.problem.gains[demand]
                for place in options:
                    meanings.setdefault(place, []).append((demand, gains.get(place, 0)))
            numbers: dict[tuple[object, ...], int] = {}
            homes = self.problem.homes
            self._likeness = {
                place: numbers.setdefault((homes and homes[place], *meaning), len(numbers))
                for place, meaning in meanings.items()
            }
        return self._likeness

    def _may_complete(self, depth: int) -> bool:
        """False when the demands from this depth on certainly cannot all be placed."""
        if (self.gained[depth] | self.gainable[depth]) & self.problem.goal != self.problem.goal:
            self.tally.add(COMBINATION, Reason.REQUIRED_TRAIT)
            return False
        rest = self.order[depth:]
        if not self._matches([demand for demand in rest if self.problem.exclusive[demand]]):
            self.tally.add(COMBINATION, Reason.ISOLATE)
            return False
        names = {name for demand in rest for name in self.problem.amounts[demand]}
        if not all(self._sums_fit(name, rest) for name in names):
            self.tally.add(COMBINATION, Reason.USED)
            return False
        return True

    def _matches(self, demands: list[int]) -> bool:
        """Whether every exclusive demand can have a place of its own."""
        if not demands:
            return True
        loads = [(1, self._open_options(demand)) for demand in demands]
        room = dict.fromkeys((place for _, places in loads for place in places), 1)
        return len(room) >= len(loads) and can_carry(loads, room)

    def _sums_fit(self, name: str, rest: list[int]) -> bool:
        """Whether the places have room for what the demands want of one class, all in all."""
        loads: dict[tuple[int, ...], int] = {}
        wanted: dict[int, list[int]] = {}
        for demand in rest:
            amount = self.problem.amounts[demand].get(name)
            if amount is None:
                continue
            places = self._open_options(demand)
            loads[places] = loads.get(places, 0) + amount
            for place in places:
                wanted.setdefault(place, []).append(amount)
        room = {
            place: largest_sum(amounts, self.room[place, name])
            for place, amounts in wanted.items()
        }
        return can_carry([(amount, places) for places, amount in loads.items()], room)

    def _open_options(self, demand: int) -> tuple[int, ...]:
        problem = self.problem
        exclusive, amounts = problem.exclusive[demand], problem.amounts[demand].items()
        return tuple(
            [
                place
                for place in problem.options[demand]
                if not (exclusive and place in self.taken)
                and all(self.room[place, name] >= amount for name, amount in amounts)
            ]
        )
