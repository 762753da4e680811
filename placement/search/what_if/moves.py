# SPDX-License-Identifier: Apache-2.0
"""Moves that somebody else has chosen: are they possible?

Each holds of both sides until it has arrived, as nova has it: the source is held by the
migration, and pools are held twice. An evacuation holds pools once, and its source goes on being
held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from placement.search.insight.explain import explain_within
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.what_if.drain import OF_NO_TREE, OF_POOL
from placement.search.what_if.filling import Filling, Fullness, Order, Place
from placement.search.what_if.inferred import Inference, Need
from placement.search.what_if.places import Places, amounts_of, is_pool
from placement.search.what_if.relocation import OF_UNITS, Homeless, sum_of
from placement.search.what_if.scenario import Held

# How many places all moves may look at.
MOVES_BUDGET = 5_000_000

HOLDS_NOTHING = 'It holds nothing.'
HOLDS_NOTHING_THERE = 'It holds nothing of the trees that it is to leave.'
ONLY_UNREACHED = 'The tree does not reach the pools that it holds of, or is but a pool.'
ONLY_UNFIT = (
    'Each of these trees is its own, does not reach the pools that it holds of, or is over '
    'capacity.'
)


class WantedMove(NamedTuple):
    """A consumer that moves to the tree of a root, or to any, and may become another need.

    It leaves the trees with the root ids `sources`, and all of its trees where there are none.
    """

    consumer: str
    root: Provider | None
    need: Need | None = None
    sources: frozenset[int] = frozenset()


class Refused(NamedTuple):
    """A move that is not possible, by its number, and what it lacks."""

    number: int
    lacking: Homeless


class Moves:
    """Makes moves on a copy of a snapshot, one after another or all at once.

    `held` is what consumers hold. `places` has the roots that moves have gone to so far, by their
    numbers.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        held: Mapping[str, Held],
        work: SlicedWork | None = None,
        at_once: bool = False,
        evacuate: bool = False,
    ) -> None:
        self.places: dict[int, Provider] = {}
        self._work = work or SlicedWork(MOVES_BUDGET)
        self._filling = Filling(Places(snapshot, self._work), order=Order.ROOMIEST)
        self._inference = Inference(snapshot)
        self._held = dict(held)
        self._at_once = at_once
        self._evacuate = evacuate

    @property
    def snapshot(self) -> Snapshot:
        """The cloud with the moves so far."""
        return self._filling.snapshot

    @property
    def fullest(self) -> list[Fullness]:
        """The fullest trees that moves have gone to so far."""
        return self._filling.fullest({root.id for root in self.places.values()})

    def make(self, moves: Iterable[WantedMove]) -> Refused | None:
        """Make moves up to the first that is not possible. Raises `BudgetSpent`."""
        for number, move in enumerate(moves, 1):
            lacking = self._make(number, move)
            if lacking is not None:
                return Refused(number, lacking)
        return None

    def _make(self, number: int, move: WantedMove) -> Homeless | None:
        """Make a move, or return what it lacks."""
        filling, held = self._filling, self._held.get(move.consumer, {})
        left, words = self._left(move, held)
        if words:
            return Homeless(move.consumer, words)
        roots = filling.places.snapshot.indexes.roots
        others = {i: held[i] for i in held if roots[i] not in left}
        kept = others if move.need is None else {}
        if self._evacuate and not kept:
            filling.give_back(others)
        needs = self._needs(move, held, left)
        place = self._place(move.root, needs, left)
        if place is None:
            return self._lacking(move, needs[-1]) if needs else Homeless(move.consumer, OF_POOL)
        taken = amounts_of(place.candidate)
        after = self._held[move.consumer] = sum_of(kept, taken)
        pools = {i: kept[i] for i in kept if self._is_pool(i)}
        words = self._short_of(kept, after, pools)
        if words:
            filling.give_back(taken)
            return Homeless(move.consumer, words)
        if not self._evacuate:
            if self._at_once:
                filling.take(pools)
            else:
                filling.give_back({i: held[i] for i in held if i not in kept})
        self.places[number] = filling.tree(place.root_id).members[0]
        return None

    def _left(self, move: WantedMove, held: Held) -> tuple[frozenset[int], str]:
        """The roots of the trees that a consumer leaves, or why it cannot, in words."""
        homes = self._inference.homes(held)
        left = homes & move.sources if move.sources else homes
        if left or (move.need is not None and not move.sources):
            return left, ''
        if not held:
            return left, HOLDS_NOTHING
        return left, HOLDS_NOTHING_THERE if homes else OF_NO_TREE

    def _is_pool(self, provider_id: int) -> bool:
        return self._filling.places.snapshot.provider(provider_id).kind.profile.is_sharing

    def _needs(self, move: WantedMove, held: Held, left: frozenset[int]) -> tuple[Need, ...]:
        """What a consumer needs, above all a place that is alike; nothing will do for one that
        would have to leave a pool."""
        if move.need is not None:
            return (move.need,)
        inferred = self._inference.of(held, left)
        if inferred.by_amounts is None or inferred.alike is None:
            return ()
        return inferred.alike, inferred.by_amounts

    def _place(
        self, root: Provider | None, needs: Iterable[Need], left: frozenset[int]
    ) -> Place | None:
        """Take a place in a tree, or in that which has most room left."""
        filling = self._filling
        for need in needs:
            if root is None:
                for place in filling.fill(need, 1, left):
                    return place
                continue
            tree = filling.tree(root.id)
            candidate = None
            if need.admits(tree) and not is_pool(tree):
                candidate = filling.candidate(need, root.id)
            if candidate is not None:
                filling.take(amounts_of(candidate))
                return Place(root.id, candidate, need)
        return None

    def _short_of(self, kept: Held, after: Held, pools: Held) -> str:
        """Why a consumer cannot hold what it keeps, and that of pools twice on the way, in words;
        nothing where it can."""
        for provider_id, amounts in kept.items():
            root_id = self._filling.places.snapshot.indexes.roots[provider_id]
            provider = self._filling.tree(root_id).member(provider_id)
            for name, amount in amounts.items():
                if not provider.may_hold(name, after[provider_id][name]):
                    return OF_UNITS
                capacity, used = provider.inventory(name)
                free = max(capacity.ceiling - used, 0)
                if provider_id in pools and amount > free and not self._evacuate:
                    return f'Of its pool it holds twice on the way: {name} {amount}, {free} free.'
        return ''

    def _lacking(self, move: WantedMove, need: Need) -> Homeless:
        if move.root is None:
            snapshot, words = self._filling.snapshot, ONLY_UNFIT
        else:
            snapshot, words = self._around(move.root.id), ONLY_UNREACHED
        explanation = explain_within(self._work, snapshot, need.request)
        fits = explanation.trees_fitting > 0
        return Homeless(move.consumer, words if fits else '', explanation)

    def _around(self, root_id: int) -> Snapshot:
        """A tree, and the pools that it reaches."""
        now = self._filling.snapshot
        tree = now.tree(root_id)
        pools = {pool.root_id for pool in now.sharing_with(tree)}
        members = [m for pool_id in sorted(pools) for m in now.tree(pool_id).members]
        return Snapshot.of([member.as_row() for member in (*tree.members, *members)])
