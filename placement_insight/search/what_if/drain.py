# SPDX-License-Identifier: Apache-2.0
"""Drains: moves that empty trees, or that move some consumers elsewhere.

No move goes to a drained tree, and none needs the room that another one frees. So they can be made
in any order, and in parallel as far as pools allow: during a move, a consumer has its amounts of
pools twice.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BudgetSpent
from placement_insight.search.what_if.filling import Filling, Fullness
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.places import amounts_of, sum_of
from placement_insight.search.what_if.queues import Order, Place
from placement_insight.search.what_if.relocation import Needs, Placed, Relocation, Unplaced
from placement_insight.search.what_if.scenario import Held

# The budget of a drain in steps.
DRAIN_BUDGET = 4_000_000

OF_POOL = 'It has allocations on a pool that it would have to leave, and moves do not empty pools.'
OF_NO_TREE = 'It has no allocations on a tree that it could leave.'
NOT_EXAMINED = 'The budget of one question did not suffice to tell.'


class Move(NamedTuple):
    """A move of a consumer from some trees to another one, each given by its root.

    `holds` are its allocations afterwards. `is_alike` is True if the new tree has all traits of
    the providers that it leaves and is in the same aggregates, None if its request is known.
    """

    consumer: str
    sources: Sequence[Provider]
    target: Provider
    holds: Held
    is_alike: bool | None


class Staying(NamedTuple):
    """A consumer without a place, and the roots of the trees that it should leave."""

    lacking: Unplaced
    sources: Sequence[Provider]
    is_known: bool


class DrainPlan(NamedTuple):
    """The moves of a drain in the order of placing, and the consumers without a place.

    `fullest` are the fullest targets, and `at_once` is the number of moves that may be under way
    in parallel.
    """

    moves: Sequence[Move]
    unplaced: Sequence[Staying]
    fullest: Sequence[Fullness]
    at_once: int


class Drain:
    """Finds moves for consumers with allocations on the trees `roots`.

    With `roots` None, the consumers leave their own trees. The snapshot has to have all providers
    of their allocations.
    """

    def __init__(
        self, relocation: Relocation, holders: Mapping[str, Held], roots: Set[int] | None
    ) -> None:
        self._relocation = relocation
        self._snapshot = relocation.snapshot
        self._holders = holders
        self._paused = relocation.work.paused
        homes = {c: relocation.inference.homes(holders[c]) for c in self._paused([*holders])}
        # The trees that each consumer leaves, and those that are closed for it alone.
        self._lost = {c: homes[c] if roots is None else roots for c in homes}
        self._own = homes if roots is None else None
        self._places, self._skipped = relocation.rest(roots or frozenset())
        self._nowhere = [c for c in homes if not self._lost[c]]

    def plan(self) -> DrainPlan:
        """Return the plan.

        :raises BudgetSpent: the budget is spent
        """
        relocation = self._relocation
        holders = {c: self._holders[c] for c in self._holders if self._lost[c]}
        needs = relocation.needs(holders, self._lost, relocation.terms.within)
        filling, placed = self._best(needs)
        moves = [self._move(c, needs, placed.places[c]) for c in self._paused([*placed.places])]
        ignored = relocation.terms.ignored
        unplaced = [
            *(Unplaced(c, OF_NO_TREE) for c in sorted(self._nowhere) if c not in ignored),
            *(Unplaced(c, OF_POOL) for c in sorted(needs.gone)),
            *self._described(placed.unplaced, needs),
        ]
        staying = [
            Staying(each, self._sources(each.consumer), each.consumer in relocation.terms.asked)
            for each in self._paused(unplaced)
        ]
        fullest = filling.fullest({move.target.id for move in moves})
        changes = [(self._holders[move.consumer], move.holds) for move in moves]
        return DrainPlan(moves, staying, fullest, moves_at_once(self._snapshot, changes))

    def _best(self, needs: Needs) -> tuple[Filling, Placed]:
        """Return the filling with the fewest unplaced, tried with roomy and alike trees first."""
        amounts = needs.by_amounts
        alike = {c: tuple(dict.fromkeys((*needs.alike[c], *amounts[c]))) for c in amounts}
        best: tuple[Filling, Placed] | None = None
        hopeless = 0
        orders = Order.ROOMIEST, Order.FIRST, Order.FULLEST
        for wanted, order in itertools.product((alike, amounts), orders):
            filling = Filling(self._places, self._skipped, order)
            placed = self._relocation.place(filling, wanted, needs, self._own)
            if best is None:
                hopeless = sum(not self._fits(c, needs) for c in self._paused([*placed.unplaced]))
            if best is None or len(placed.unplaced) < len(best[1].unplaced):
                best = filling, placed
            if len(best[1].unplaced) == hopeless:
                break
        assert best is not None
        return best

    def _fits(self, consumer: str, needs: Needs) -> bool:
        """True if a consumer fits some tree by itself."""
        released = [needs.released[consumer]] if consumer in needs.released else []
        places, lost = self._places.after_release(released), self._lost[consumer]
        wanted = needs.by_amounts[consumer]
        return any(places.fitting(need).has_others(lost) for need in wanted)

    def _described(self, unplaced: Mapping[str, str], needs: Needs) -> Iterator[Unplaced]:
        for consumer, words in unplaced.items():
            lost = self._lost[consumer]
            try:
                yield self._relocation.described(self._places, lost, consumer, needs, words)
            except BudgetSpent:
                yield Unplaced(consumer, NOT_EXAMINED)

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
    """Return how many moves may be under way in parallel, given allocations before and after.

    Any moves of this number may, whichever others were made before; all of them if pools set no
    limit. A consumer has its old and its new amounts of pools during the move.
    """
    # By pool and class: the sum of amounts that moves add, and the amounts that each has twice.
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
    """True if a place for the amounts of a consumer also serves its need for an alike tree."""
    serving = place.candidate.mappings
    return alike.within <= root.aggregates and all(
        group.traits <= frozenset().union(*[each.traits for each in serving[group.suffix]])
        for group in alike.request.groups
    )
