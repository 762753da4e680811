# SPDX-License-Identifier: Apache-2.0
"""Drains: moves that empty trees, or take consumers away from theirs.

No move goes to a tree that is drained, and none needs the room that another one leaves: they can
be made in any order, and at once but for pools, of which each holds twice while it is under way.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BudgetSpent
from placement.search.what_if.filling import Filling, Fullness, Order, Place
from placement.search.what_if.inferred import Need
from placement.search.what_if.places import amounts_of
from placement.search.what_if.relocation import Homeless, Needs, Placed, Relocation, sum_of
from placement.search.what_if.scenario import Held

# How many places a drain may look at.
DRAIN_BUDGET = 4_000_000

OF_POOL = 'It holds of a pool that it would have to leave, and moves do not empty pools.'
OF_NO_TREE = 'It holds of no tree that it could leave.'
NOT_EXAMINED = 'The budget of one question did not suffice to tell.'


class Move(NamedTuple):
    """A consumer that leaves some trees, by their roots, for one, and what it holds afterwards.

    `is_alike` tells if the new tree has all traits of the providers that it leaves and is in the
    same aggregates; None where it is known what was asked for.
    """

    consumer: str
    sources: Sequence[Provider]
    target: Provider
    holds: Held
    is_alike: bool | None


class Staying(NamedTuple):
    """A consumer that finds no place, and the roots of the trees that it should leave."""

    lacking: Homeless
    sources: Sequence[Provider]
    is_known: bool


class DrainPlan(NamedTuple):
    """Moves in the order of placing, those who find no place, the fullest trees that moves go to,
    and how many of the moves may be under way at once."""

    moves: Sequence[Move]
    homeless: Sequence[Staying]
    fullest: Sequence[Fullness]
    at_once: int


class Drain:
    """Finds moves for those who hold of trees with some `roots`; without these, for all of them
    from their own trees. All providers that they hold of have to be in the snapshot."""

    def __init__(
        self, relocation: Relocation, holders: Mapping[str, Held], roots: Set[int] | None
    ) -> None:
        self._relocation = relocation
        self._snapshot = relocation.snapshot
        self._holders = holders
        homes = {c: relocation.inference.homes(held) for c, held in holders.items()}
        # What each loses, and where it cannot go although others can.
        self._lost = {c: homes[c] if roots is None else roots for c in homes}
        self._own = homes if roots is None else None
        self._places, self._skipped = relocation.rest(roots or frozenset())
        self._nowhere = [c for c in homes if not self._lost[c]]

    def plan(self) -> DrainPlan:
        """The moves. Raises `BudgetSpent`."""
        relocation = self._relocation
        holders = {c: self._holders[c] for c in self._holders if self._lost[c]}
        needs = relocation.needs(holders, self._lost, relocation.terms.within)
        filling, placed = self._best(needs)
        moves = [self._move(c, needs, place) for c, place in placed.places.items()]
        ignored = relocation.terms.ignored
        homeless = [
            *(Homeless(c, OF_NO_TREE) for c in sorted(self._nowhere) if c not in ignored),
            *(Homeless(c, OF_POOL) for c in sorted(needs.gone)),
            *self._described(placed.homeless, needs),
        ]
        staying = [
            Staying(each, self._sources(each.consumer), each.consumer in relocation.terms.asked)
            for each in homeless
        ]
        fullest = filling.fullest({move.target.id for move in moves})
        changes = [(self._holders[move.consumer], move.holds) for move in moves]
        return DrainPlan(moves, staying, fullest, moves_at_once(self._snapshot, changes))

    def _best(self, needs: Needs) -> tuple[Filling, Placed]:
        """The filling that leaves fewest homeless: trees with most room and alike ones first."""
        amounts = needs.by_amounts
        alike = {c: tuple(dict.fromkeys((*needs.alike[c], *amounts[c]))) for c in amounts}
        best: tuple[Filling, Placed] | None = None
        hopeless = 0
        orders = Order.ROOMIEST, Order.FIRST, Order.FULLEST
        for wanted, order in itertools.product((alike, amounts), orders):
            filling = Filling(self._places, self._skipped, order)
            placed = self._relocation.place(filling, wanted, needs.kept, self._own)
            if best is None:
                hopeless = sum(not self._fits(c, amounts[c]) for c in placed.homeless)
            if best is None or len(placed.homeless) < len(best[1].homeless):
                best = filling, placed
            if len(best[1].homeless) == hopeless:
                break
        assert best is not None
        return best

    def _fits(self, consumer: str, needs: Iterable[Need]) -> bool:
        """Tell if a consumer fits some tree alone."""
        lost = self._lost[consumer]
        return any(self._places.fitting(need).has_others(lost) for need in needs)

    def _described(self, homeless: Mapping[str, str], needs: Needs) -> Iterator[Homeless]:
        for consumer, words in homeless.items():
            lost, need = self._lost[consumer], needs.by_amounts[consumer][0]
            try:
                yield self._relocation.described(self._places, lost, consumer, need, words)
            except BudgetSpent:
                yield Homeless(consumer, NOT_EXAMINED)

    def _sources(self, consumer: str) -> list[Provider]:
        roots = {self._snapshot.indexes.roots[i] for i in self._holders[consumer]}
        return [self._snapshot.provider(i) for i in sorted(roots & self._lost[consumer])]

    def _move(self, consumer: str, needs: Needs, place: Place) -> Move:
        is_known = consumer in self._relocation.terms.asked
        kept = {} if place.need.is_whole else needs.kept.get(consumer, {})
        target = self._snapshot.provider(place.root_id)
        return Move(
            consumer,
            self._sources(consumer),
            target,
            sum_of(kept, amounts_of(place.candidate)),
            None if is_known else _is_alike(needs.alike[consumer][0], place, target),
        )


def moves_at_once(snapshot: Snapshot, changes: Iterable[tuple[Held, Held]]) -> int:
    """How many moves may be under way at once, whichever they are and whatever others were made
    before, given what each consumer holds before and after; all of them where pools set no limit.

    A move that is under way holds of pools what it held and what it will hold.
    """
    # By pool and class, the amounts that each move adds for good, and those that it holds twice.
    added: dict[tuple[int, str], int] = defaultdict(int)
    twice: dict[tuple[int, str], list[int]] = defaultdict(list)
    moves = 0
    for before, after in changes:
        moves += 1
        for provider_id, amounts in after.items():
            if not snapshot.provider(provider_id).kind.profile.is_sharing:
                continue
            for name, amount in amounts.items():
                old = before.get(provider_id, {}).get(name, 0)
                added[provider_id, name] += max(amount - old, 0)
                twice[provider_id, name].append(min(amount, old))
    at_once = moves
    for (provider_id, name), amounts_twice in twice.items():
        capacity, used = snapshot.provider(provider_id).inventory(name)
        free = capacity.ceiling - used - added[provider_id, name]
        for number, amount in enumerate(sorted(amounts_twice, reverse=True)):
            free -= amount
            if free < 0:
                at_once = min(at_once, number)
                break
    return at_once


def _is_alike(alike: Need, place: Place, root: Provider) -> bool:
    """Tell if a place for the amounts of an inferred need is one for the need itself."""
    serving = place.candidate.mappings
    return alike.within <= root.aggregates and all(
        group.traits <= frozenset().union(*[each.traits for each in serving[group.suffix]])
        for group in alike.request.groups
    )
