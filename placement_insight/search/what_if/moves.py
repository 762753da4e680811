# SPDX-License-Identifier: Apache-2.0
"""Check of given moves: whether they are possible.

As with nova, a moving consumer has allocations on both sides until it has arrived: the migration
has them on the source, and pools have its amounts twice. An evacuated consumer has its amounts of
pools once, and keeps its allocations on the source.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement_insight.search.explain import explain_within
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.drain import OF_NO_TREE, OF_POOL
from placement_insight.search.what_if.filling import Filling, Fullness
from placement_insight.search.what_if.inferred import Inference, Need
from placement_insight.search.what_if.places import Places, amounts_of, is_pool, sum_of
from placement_insight.search.what_if.queues import Order, Place
from placement_insight.search.what_if.relocation import OF_UNITS, Unplaced
from placement_insight.search.what_if.scenario import Held

# The budget of all moves in steps.
MOVES_BUDGET = 5_000_000

HOLDS_NOTHING = 'It has no allocations.'
HOLDS_NOTHING_THERE = 'It has no allocations on the trees that it is to leave.'
ONLY_UNREACHED = 'The tree does not reach the pools of its allocations, or is itself a pool.'
ONLY_UNFIT = (
    'Each of these trees is its own, does not reach the pools of its allocations, or is over '
    'capacity.'
)


class WantedMove(NamedTuple):
    """A move of a consumer to the tree of a root, or with None to any tree.

    With a `need` it is resized. It leaves the trees with the root ids `sources`, by default all of
    its trees.
    """

    consumer: str
    root: Provider | None
    need: Need | None = None
    sources: frozenset[int] = frozenset()


class Refused(NamedTuple):
    """The number of an impossible move, and the reason."""

    number: int
    lacking: Unplaced


class Moves:
    """Makes moves on a copy of a snapshot, one after another or all at once.

    `held` has the allocations of consumers. `places` has the root of the target of each move so
    far, by its number.
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
        """The cloud after the moves so far."""
        return self._filling.snapshot

    @property
    def fullest(self) -> list[Fullness]:
        """The fullest targets of the moves so far."""
        return self._filling.fullest({root.id for root in self.places.values()})

    def make(self, moves: Iterable[WantedMove]) -> Refused | None:
        """Make moves up to the first impossible one, and return that.

        :raises BudgetSpent: the budget is spent
        """
        for number, move in enumerate(moves, 1):
            lacking = self._make(number, move)
            if lacking is not None:
                return Refused(number, lacking)
        return None

    def _make(self, number: int, move: WantedMove) -> Unplaced | None:
        """Make a move, or return the reason why it is impossible."""
        filling, held = self._filling, self._held.get(move.consumer, {})
        left, words = self._left(move, held)
        if words:
            return Unplaced(move.consumer, words)
        roots = filling.places.snapshot.indexes.roots
        others = {i: held[i] for i in held if roots[i] not in left}
        kept = others if move.need is None else {}
        released = filling.release(others if self._evacuate and not kept else {})
        needs = self._needs(move, held, left)
        place = self._place(move.root, needs, left)
        if place is None:
            lacking = self._lacking(move, needs[-1]) if needs else Unplaced(move.consumer, OF_POOL)
            filling.take_again(released)
            return lacking
        filling.take(released.excess)
        taken = amounts_of(place.candidate)
        after = self._held[move.consumer] = sum_of(kept, taken)
        pools = {i: kept[i] for i in kept if self._is_pool(i)}
        words = self._short_of(kept, after, pools)
        if words:
            filling.give_back(taken)
            return Unplaced(move.consumer, words)
        if not self._evacuate:
            if self._at_once:
                filling.take(pools)
            else:
                filling.give_back({i: held[i] for i in held if i not in kept})
        self.places[number] = filling.tree(place.root_id).members[0]
        return None

    def _left(self, move: WantedMove, held: Held) -> tuple[frozenset[int], str]:
        """Return the roots of the trees that a consumer leaves, and a reason if it cannot."""
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
        """Return the needs of a consumer, that for an alike tree first.

        Empty for a consumer that would have to leave a pool.
        """
        if move.need is not None:
            return (move.need,)
        inferred = self._inference.of(held, left)
        if inferred.by_amounts is None or inferred.alike is None:
            return ()
        return inferred.alike, inferred.by_amounts

    def _place(
        self, root: Provider | None, needs: Iterable[Need], left: frozenset[int]
    ) -> Place | None:
        """Take a place in the tree of `root`, or with None in the roomiest one."""
        filling = self._filling
        for need in needs:
            place = filling.fill(need, left) if root is None else self._place_in(root.id, need)
            if place is not None:
                return place
        return None

    def _place_in(self, root_id: int, need: Need) -> Place | None:
        """Take a place in a tree."""
        filling = self._filling
        tree, candidate = filling.tree(root_id), None
        if need.admits(tree) and not is_pool(tree):
            candidate = filling.candidate(need, root_id)
        if candidate is None:
            return None
        filling.take(amounts_of(candidate))
        return Place(root_id, candidate, need)

    def _short_of(self, kept: Held, after: Held, pools: Held) -> str:
        """Return the reason why a consumer cannot keep its allocations, empty if it can.

        Pools have its amounts twice during a move.
        """
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

    def _lacking(self, move: WantedMove, need: Need) -> Unplaced:
        if move.root is None:
            snapshot, words = self._filling.snapshot, ONLY_UNFIT
        else:
            snapshot, words = self._around(move.root.id), ONLY_UNREACHED
        explanation = explain_within(self._work, snapshot, need.request)
        fits = explanation.trees_fitting > 0
        return Unplaced(move.consumer, words if fits else '', explanation)

    def _around(self, root_id: int) -> Snapshot:
        """Return a snapshot of a tree and the pools that it reaches."""
        now = self._filling.snapshot
        tree = now.tree(root_id)
        pools = {pool.root_id for pool in now.sharing_with(tree)}
        members = [m for pool_id in sorted(pools) for m in now.tree(pool_id).members]
        return Snapshot.of([member.as_row() for member in (*tree.members, *members)])
