# SPDX-License-Identifier: Apache-2.0
"""Relocation: places for consumers that lose their trees, while all others stay."""

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.work import BoundedCache
from placement_insight.search.explain import explain_within
from placement_insight.search.explanation import RequestExplanation
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.filling import Filling
from placement_insight.search.what_if.inferred import MAX_NEEDS, Inference, Need
from placement_insight.search.what_if.places import (
    NOWHERE,
    Places,
    amounts_of,
    is_over_capacity,
    sum_of,
)
from placement_insight.search.what_if.queues import Place, suits_all
from placement_insight.search.what_if.scenario import Held

# Steps to infer the needs of a consumer.
STEPS_OF_CONSUMER = 10
# Steps to look for the place of a consumer, even if no tree is left to try.
STEPS_OF_ATTEMPT = 4

# Maximum number of explanations in memory, one for each need.
MAX_EXPLAINED = 1_000

ONLY_ALONE = 'There is room for it alone, which others that lose their trees take.'
OF_UNITS = 'It would have more of its pool than one consumer may have, or an invalid amount.'
ONLY_OUTSIDE = (
    'None of these trees is outside the lost ones, reaches the pools of its allocations, and is '
    'within its capacity.'
)


class Terms(NamedTuple):
    """The caller's statements about consumers."""

    #: The needs of consumers whose requests are known.
    asked: Mapping[str, Need] = MappingProxyType({})
    #: Consumers that need no place.
    ignored: frozenset[str] = frozenset()
    #: Aggregates that matter for an alike tree.
    within: frozenset[str] = frozenset()
    #: Sets of consumers, no two of which may be in one tree, and the allocations of all of them.
    apart: Sequence[frozenset[str]] = ()
    held: Mapping[str, Held] = MappingProxyType({})


class Unplaced(NamedTuple):
    """A consumer without a place, and the reason: an explanation, a sentence, or both."""

    consumer: str
    words: str = ''
    explanation: RequestExplanation | None = None


class Needs(NamedTuple):
    """The needs of consumers, any one of which suffices, and their allocations."""

    # For the amounts of their allocations, or their known requests.
    by_amounts: dict[str, tuple[Need, ...]]
    # For an alike tree, or their known requests.
    alike: dict[str, tuple[Need, ...]]
    # The allocations of consumers without needs, whose data is gone.
    gone: dict[str, Held]
    # The allocations that consumers keep, on pools and other trees.
    kept: dict[str, Held]
    # The part of these that consumers with known requests give back.
    released: dict[str, Held]


# The needs of each consumer, any one of which suffices.
NeedsOf = Mapping[str, tuple[Need, ...]]


class Rest(NamedTuple):
    """The places of a cloud without lost trees, and the root ids of those yet to be skipped."""

    places: Places
    skipped: Set[int]


class Placed(NamedTuple):
    """The places of consumers, and those without a place, in the order of placing.

    `unplaced` has the reason for each if it is other than room, otherwise an empty string.
    """

    places: dict[str, Place]
    unplaced: dict[str, str]


class Relocation:
    """Places consumers of a snapshot that lose their trees.

    Consumers with known requests give back the allocations that they keep elsewhere. Unless they
    `evacuate`, these are only those on pools, and no other consumer gets them.
    """

    def __init__(
        self, snapshot: Snapshot, terms: Terms, work: SlicedWork, evacuate: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.terms = terms
        self.work = work
        self.inference = Inference(snapshot)
        self.places = Places(snapshot, work)
        self._evacuate = evacuate
        self._explanations: BoundedCache[Need, RequestExplanation] = BoundedCache(MAX_EXPLAINED)
        self._shares: BoundedCache[Need, float] = BoundedCache(MAX_NEEDS)
        # The lists of each consumer in `apart`, and the trees with members of each list.
        self._apart: dict[str, list[int]] = defaultdict(list)
        self._homes = list[frozenset[int]]()
        for number, consumers in enumerate(terms.apart):
            work.count(len(consumers))
            for consumer in consumers:
                self._apart[consumer].append(number)
            homes = [self.inference.homes(terms.held.get(consumer, {})) for consumer in consumers]
            self._homes.append(NOWHERE.union(*homes))

    def needs(
        self,
        holders: Mapping[str, Held],
        lost: Mapping[str, Set[int]] | Set[int],
        within: frozenset[str],
    ) -> Needs:
        """Return the needs of consumers that lose the trees with these roots, or each its own.

        :raises BudgetSpent: the budget is spent
        """
        terms, needs = self.terms, Needs({}, {}, {}, {}, {})
        roots = self.snapshot.indexes.roots
        for consumer, held in holders.items():
            self.work.spend(STEPS_OF_CONSUMER)
            if consumer in terms.ignored:
                continue
            of_consumer = lost[consumer] if isinstance(lost, Mapping) else lost
            inferred = self.inference.of(held, of_consumer, within)
            if inferred.by_amounts is None or inferred.alike is None:
                needs.gone[consumer] = held
            else:
                needs.by_amounts[consumer] = (inferred.by_amounts,)
                needs.alike[consumer] = (inferred.alike,)
                kept = {i: held[i] for i in held if roots[i] not in of_consumer}
                if kept:
                    needs.kept[consumer] = kept
            asked = terms.asked.get(consumer)
            if asked is not None and consumer not in needs.gone:
                weaker = self.inference.without_pools(asked, held, of_consumer)
                wanted = (asked,) if weaker is None else (weaker, asked)
                needs.by_amounts[consumer] = needs.alike[consumer] = wanted
                released = self._released(needs.kept.get(consumer, {}))
                if released:
                    needs.released[consumer] = released
        return needs

    def _released(self, kept: Held) -> Held:
        """Return the part of kept allocations that a consumer gives back before it is placed."""
        if self._evacuate:
            return kept
        pools = [i for i in kept if self.snapshot.provider(i).kind.profile.is_sharing]
        return {i: kept[i] for i in pools}

    def rest(self, roots: Set[int]) -> Rest:
        """Return the places of the cloud without lost trees."""
        if any(self.snapshot.tree(root_id).shape.structure.has_sharing for root_id in roots):
            return Rest(self.places.without(roots), NOWHERE)
        return Rest(self.places, roots)

    def are_apart(self, consumers: Mapping[str, object]) -> bool:
        """True if some consumers must be apart from others."""
        return not self._apart.keys().isdisjoint(consumers)

    def place(
        self,
        filling: Filling,
        wanted: NeedsOf,
        needs: Needs,
        homes: Mapping[str, Set[int]] | None = None,
    ) -> Placed:
        """Place consumers, each by the first of its `wanted` needs with a place.

        A consumer never gets a place in one of its `homes`, nor one with amounts that it may not
        have in addition to those that it keeps.

        :raises BudgetSpent: the budget is spent
        """
        placed = Placed({}, {})
        # The trees that are closed to further members of each list, by its number.
        taken: dict[int, set[int]] = {}
        for consumer in self._in_turn(filling.places, wanted, needs, placed):
            self.work.spend(STEPS_OF_ATTEMPT)
            numbers = self._apart.get(consumer, ())
            for number in numbers:
                if number not in taken:
                    taken[number] = set(self._homes[number])
            lists = [taken[number] for number in numbers]
            own = NOWHERE if homes is None else homes[consumer]
            barred = self._union([*lists, own]) if lists or own else NOWHERE
            place, words = self._fill(filling, consumer, wanted[consumer], needs, barred)
            if place is None:
                placed.unplaced[consumer] = words
                continue
            placed.unplaced.pop(consumer, None)
            placed.places[consumer] = place
            for of_list in lists:
                of_list.add(place.root_id)
        return placed

    def _in_turn(
        self, places: Places, wanted: NeedsOf, needs: Needs, placed: Placed
    ) -> Iterator[str]:
        """Yield all consumers in order, then the unplaced again as long as others leave room."""
        yield from self._in_order(places, wanted)
        before = None
        while self._evacuate and needs.released and before != len(placed.unplaced):
            before = len(placed.unplaced)
            yield from list(placed.unplaced)

    def _fill(
        self,
        filling: Filling,
        consumer: str,
        wanted: Sequence[Need],
        needs: Needs,
        barred: Set[int],
    ) -> tuple[Place | None, str]:
        """Place a consumer by the first of its needs with a place.

        Return the place, or None with a reason if it is other than room.

        :raises BudgetSpent: the budget is spent
        """
        kept, released, words = needs.kept.get(consumer), needs.released.get(consumer), ''

        def suits(candidate: Candidate) -> bool:
            nonlocal words
            if kept is None or may_hold(filling.places.snapshot, kept, amounts_of(candidate)):
                return True
            words = OF_UNITS
            return False

        for need in wanted:
            if need.is_whole and released:
                place = filling.fill_leaving(need, released, barred, not self._evacuate)
            else:
                place = filling.fill(need, barred, suits_all if need.is_whole else suits)
            if place is not None:
                return place, ''
        return None, words

    def _union(self, sets: Sequence[Set[int]]) -> Set[int]:
        some = [each for each in sets if each]
        if len(some) < 2:
            return some[0] if some else NOWHERE
        self.work.spend(sum(map(len, some)))
        return NOWHERE.union(*some)

    def _in_order(self, places: Places, needs: NeedsOf) -> list[str]:
        """Sort consumers by the number of their places, then by their share of a scarce class."""
        ranks = {
            need: (places.fitting(need).scarcity, -self._share(need))
            for need in {of_consumer[0] for of_consumer in needs.values()}
        }
        return sorted(needs, key=lambda consumer: (*ranks[needs[consumer][0]], consumer))

    def _share(self, need: Need) -> float:
        """Return the largest part of a class's free amount that a need takes."""
        if need not in self._shares:
            parts = [n / max(self.free[name], 1) for name, n in need.request.totals.items()]
            self._shares.add(need, max(parts, default=0))
        return self._shares[need]

    @functools.cached_property
    def free(self) -> Counter[str]:
        """The free amounts of all trees by class.

        :raises BudgetSpent: the budget is spent
        """
        free = Counter[str]()
        for number, tree in enumerate(self.snapshot.trees()):
            if number % 1_000 == 0:
                self.work.spend(1_000)
            free.update(free_of(tree))
        return free

    def described(
        self, places: Places, lost: Set[int], consumer: str, needs: Needs, words: str
    ) -> Unplaced:
        """Return a consumer without a place, with an explanation unless `words` has a reason.

        :raises BudgetSpent: the budget is spent
        """
        need = needs.by_amounts[consumer][-1]
        released = [needs.released[consumer]] if consumer in needs.released else []
        if words:
            return Unplaced(consumer, words)
        if places.after_release(released).fitting(need).has_others(lost):
            return Unplaced(consumer, ONLY_ALONE)
        explanation = None if released else self._explanations.get(need)
        if explanation is None:
            now = self.places.after_release(released).snapshot
            explanation = explain_within(self.work, now, need.request)
            if not released:
                self._explanations.add(need, explanation)
        words = ONLY_OUTSIDE if explanation.trees_fitting else ''
        return Unplaced(consumer, words, explanation)


def may_hold(snapshot: Snapshot, kept: Held, taken: Held = MappingProxyType({})) -> bool:
    """True if a consumer may have the sum of kept and taken amounts, by units and steps."""
    held = sum_of(kept, taken)
    return all(
        snapshot.provider(provider_id).may_hold(name, amount)
        for provider_id in kept
        for name, amount in held[provider_id].items()
    )


def free_of(tree: Tree) -> dict[str, int]:
    """Return the free amounts of a tree by class; of one over capacity, those of its pools."""
    free, is_over = Counter[str](), is_over_capacity(tree)
    for member in tree.members:
        if not is_over or member.kind.profile.is_sharing:
            for name, capacity, used in member.inventories:
                free[name] += max(capacity.ceiling - used, 0)
    return free
