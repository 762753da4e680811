# SPDX-License-Identifier: Apache-2.0
"""Relocation: consumers that lose their trees find places on the rest, where others stay."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from placement.search.candidate import Candidate
from placement.search.insight.explain import explain_within
from placement.search.insight.explanation import RequestExplanation
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.what_if.filling import Filling, Place, suits_all
from placement.search.what_if.inferred import Inference, Need
from placement.search.what_if.places import NOWHERE, Places, amounts_of, is_over_capacity
from placement.search.what_if.scenario import Held

# To infer the needs of a consumer takes as long as to look at so many places.
PLACES_OF_CONSUMER = 10

ONLY_ALONE = 'There is room for it alone, which others that lose their trees take.'
OF_UNITS = 'It would hold more of its pool than one consumer may, or an amount that none may.'
ONLY_OUTSIDE = (
    'None of these trees is outside of what is lost, reaches the pools that it holds of and is '
    'within its capacity.'
)


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """The caller's knowledge.

    `asked` are the needs of consumers of which it is known what they asked for. `ignored` need no
    place. Of each set in `apart` no two may be in one tree; `held` is what these hold. `within`
    are aggregates that an alike tree has to be in.
    """

    asked: Mapping[str, Need] = dataclasses.field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    within: frozenset[str] = frozenset()
    apart: Sequence[frozenset[str]] = ()
    held: Mapping[str, Held] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Homeless:
    """A consumer that found no place: what it lacks, as an explanation and in words."""

    consumer: str
    words: str = ''
    explanation: RequestExplanation | None = None


class Needs(NamedTuple):
    """The needs of consumers, of which any will do, and what those hold that have none: their data
    is gone.

    `kept` is what some go on holding of pools and of other trees. So many as `in_several_trees`
    hold of other trees too.
    """

    by_amounts: dict[str, tuple[Need, ...]]
    alike: dict[str, tuple[Need, ...]]
    gone: dict[str, Held]
    kept: dict[str, Held]
    in_several_trees: int


class Placed(NamedTuple):
    """The places of consumers, and those that found none, in order of placing, with what they lack
    in words, if room is not what they lack."""

    places: dict[str, Place]
    homeless: dict[str, str]


class Relocation:
    """Places consumers of a snapshot that lose their trees."""

    def __init__(self, snapshot: Snapshot, terms: Terms, work: SlicedWork) -> None:
        self.snapshot = snapshot
        self.terms = terms
        self.work = work
        self.inference = Inference(snapshot)
        self.places = Places(snapshot, work)
        self._explanations: dict[Need, RequestExplanation] = {}
        self._shares: dict[Need, float] = {}
        # The lists in which a consumer is, and the trees that members of each list hold of.
        self._apart: dict[str, list[int]] = defaultdict(list)
        self._homes = list[frozenset[int]]()
        for number, consumers in enumerate(terms.apart):
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
        """What consumers need who lose the trees with these roots, or each those of its own."""
        terms, needs, several = self.terms, Needs({}, {}, {}, {}, 0), 0
        roots = self.snapshot.indexes.roots
        for consumer, held in holders.items():
            self.work.count(PLACES_OF_CONSUMER)
            if consumer in terms.ignored:
                continue
            of_consumer = lost[consumer] if isinstance(lost, Mapping) else lost
            inferred = self.inference.of(held, of_consumer, within)
            several += inferred.has_other_trees
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
                less = self.inference.less_held(asked, held, of_consumer)
                wanted = (asked,) if less is None else (less, asked)
                needs.by_amounts[consumer] = needs.alike[consumer] = wanted
        return needs._replace(in_several_trees=several)

    def rest(self, roots: Set[int]) -> tuple[Places, Set[int]]:
        """The places of the cloud, and the trees that are skipped, when these are lost."""
        if any(self.snapshot.tree(root_id).shape.structure.has_sharing for root_id in roots):
            return self.places.without(roots), NOWHERE
        return self.places, roots

    def are_apart(self, consumers: Mapping[str, object]) -> bool:
        """Tell if some of them must not be in one tree with others."""
        return not self._apart.keys().isdisjoint(consumers)

    def place(
        self,
        filling: Filling,
        needs: Mapping[str, Sequence[Need]],
        kept: Mapping[str, Held],
        homes: Mapping[str, Set[int]] | None = None,
    ) -> Placed:
        """Place consumers, each by the first of its needs that finds a place, which is never in
        one of its `homes`, and has amounts that it may hold beside those that it has `kept`.

        Raises `BudgetSpent`.
        """
        placed = Placed({}, {})
        # By the number of a list, the trees that no other member of it may be in.
        taken: dict[int, set[int]] = {}
        for consumer in self._in_order(filling.places, needs):
            numbers = self._apart.get(consumer, ())
            for number in numbers:
                if number not in taken:
                    taken[number] = set(self._homes[number])
            lists = [taken[number] for number in numbers]
            own = NOWHERE if homes is None else homes[consumer]
            barred = self._union([*lists, own]) if lists or own else NOWHERE
            place, words = _fill(filling, needs[consumer], barred, kept.get(consumer))
            if place is None:
                placed.homeless[consumer] = words
                continue
            placed.places[consumer] = place
            for of_list in lists:
                of_list.add(place.root_id)
        return placed

    def _union(self, sets: Sequence[Set[int]]) -> Set[int]:
        some = [each for each in sets if each]
        if len(some) < 2:
            return some[0] if some else NOWHERE
        self.work.spend(sum(map(len, some)))
        return NOWHERE.union(*some)

    def _in_order(self, places: Places, needs: Mapping[str, Sequence[Need]]) -> list[str]:
        """Those with the fewest places first, then those that take more of a scarce class."""
        ranks = {
            need: (places.fitting(need).scarcity, -self._share(need))
            for need in {of_consumer[0] for of_consumer in needs.values()}
        }
        return sorted(needs, key=lambda consumer: (*ranks[needs[consumer][0]], consumer))

    def _share(self, need: Need) -> float:
        """The largest part of what is free of a class that a need takes."""
        if need not in self._shares:
            parts = [n / max(self.free[name], 1) for name, n in need.totals.items()]
            self._shares[need] = max(parts, default=0)
        return self._shares[need]

    @functools.cached_property
    def free(self) -> Counter[str]:
        """By class what is free of all trees. Raises `BudgetSpent`."""
        free = Counter[str]()
        for number, tree in enumerate(self.snapshot.trees()):
            if number % 1_000 == 0:
                self.work.spend(1_000)
            free.update(free_of(tree))
        return free

    def described(
        self, places: Places, lost: Set[int], consumer: str, need: Need, words: str
    ) -> Homeless:
        """What a consumer lacks that loses the trees with these roots, where that is not known in
        words. Raises `BudgetSpent`."""
        if words:
            return Homeless(consumer, words)
        if places.fitting(need).has_others(lost):
            return Homeless(consumer, ONLY_ALONE)
        explanation = self._explanations.get(need)
        if explanation is None:
            explanation = explain_within(self.work, self.snapshot, need.request)
            self._explanations[need] = explanation
        words = ONLY_OUTSIDE if explanation.trees_fitting else ''
        return Homeless(consumer, words, explanation)


def _fill(
    filling: Filling, needs: Sequence[Need], barred: Set[int], kept: Held | None
) -> tuple[Place | None, str]:
    """Place a consumer by the first of its needs that finds a place, or tell why not in words,
    if room is not what it lacks. Raises `BudgetSpent`."""
    words = ''

    def suits(candidate: Candidate) -> bool:
        nonlocal words
        if kept is None or may_hold(filling.places.snapshot, kept, amounts_of(candidate)):
            return True
        words = OF_UNITS
        return False

    for need in needs:
        for place in filling.fill(need, 1, barred, suits_all if need.is_whole else suits):
            return place, ''
    return None, words


def may_hold(snapshot: Snapshot, kept: Held, taken: Held = MappingProxyType({})) -> bool:
    """Tell if one consumer may hold what it takes beside what it has kept of the same providers:
    units and steps count for the sum."""
    held = sum_of(kept, taken)
    return all(
        snapshot.provider(provider_id).may_hold(name, amount)
        for provider_id in kept
        for name, amount in held[provider_id].items()
    )


def sum_of(first: Held, second: Held) -> Held:
    """The amounts of both."""
    total = {provider_id: dict(amounts) for provider_id, amounts in first.items()}
    for provider_id, amounts in second.items():
        of_provider = total.setdefault(provider_id, {})
        for name, amount in amounts.items():
            of_provider[name] = of_provider.get(name, 0) + amount
    return total


def free_of(tree: Tree) -> dict[str, int]:
    """By class what is free of a tree; of one over capacity only its pools serve other trees."""
    free, is_over = Counter[str](), is_over_capacity(tree)
    for member in tree.members:
        if not is_over or member.kind.profile.is_sharing:
            for name, capacity, used in member.inventories:
                free[name] += max(capacity.ceiling - used, 0)
    return free
