# SPDX-License-Identifier: Apache-2.0
"""The failures that a cloud can take: of each domain by itself, whether all that is lost with it
finds places on the rest, where everybody else stays.

A way that is told is there, though nova left to itself may miss it. That there is none is exact
where somebody fits nowhere even alone, or a class is short in sum.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from placement.search.insight.explain import explain_request
from placement.search.insight.explanation import RequestExplanation
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.search.solver.work import BudgetSpent
from placement.search.what_if.domains import Domain
from placement.search.what_if.inferred import Inference, Need
from placement.search.what_if.left import Left, LeftAfter
from placement.search.what_if.places import NOWHERE, Filling, Places, is_over_capacity
from placement.search.what_if.scenario import Held

# How many places all domains of a page may look at, and each explanation.
SURVIVAL_BUDGET = 4_000_000
PLACES_TO_EXPLAIN = 200_000
# To infer the needs of a consumer takes as long as to look at so many places.
PLACES_OF_CONSUMER = 10
MAX_HOMELESS_NAMED = 5

DATA_GONE = 'It holds of a pool that is lost, so that its data is gone.'
ONLY_ALONE = 'There is room for it alone, which others that lose their trees take.'
ONLY_OUTSIDE = (
    'None of these trees is outside of what is lost, reaches the pools that it holds of and is '
    'within its capacity.'
)


@dataclasses.dataclass(frozen=True, slots=True)
class Terms:
    """The caller's knowledge.

    `asked` are the needs of consumers of which it is known what they asked for. `ignored` need no
    place. Of each set in `apart` no two may be in one tree; `homes` are the root ids of trees that
    these hold of. `within` are aggregates that an alike tree has to be in.
    """

    asked: Mapping[str, Need] = dataclasses.field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    within: frozenset[str] = frozenset()
    apart: Sequence[frozenset[str]] = ()
    homes: Mapping[str, frozenset[int]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Homeless:
    """A consumer that found no place: what it lacks, as an explanation and in words."""

    consumer: str
    words: str = ''
    explanation: RequestExplanation | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class DomainLoss:
    """The outcome of the loss of one domain.

    Of its `consumers` so many are placed, by what they hold or asked for, and on trees alike; None
    where the budget ended before that was known. `lacking` are the sums, by class, of what those
    without a place need, `homeless` up to five of them.
    """

    domain: str
    consumers: int
    known_requests: int
    in_several_trees: int
    placed: int | None = None
    placed_alike: int | None = None
    is_exact: bool = False
    lacking: Mapping[str, int] = dataclasses.field(default_factory=dict)
    homeless: tuple[Homeless, ...] = ()

    @property
    def survives(self) -> bool | None:
        """True where all find a place, None where that is not known."""
        return None if self.placed is None else self.placed == self.consumers


class Placing(NamedTuple):
    """Consumers that need a place, those of a lost pool, and how many hold of other trees too."""

    by_amounts: dict[str, Need]
    alike: dict[str, Need]
    gone: dict[str, Held]
    in_several_trees: int


class Survival:
    """Asks what the loss of domains of a snapshot comes to."""

    def __init__(
        self,
        snapshot: Snapshot,
        terms: Terms | None = None,
        work: SlicedWork | None = None,
        requests: Mapping[str, CandidateRequest] | None = None,
    ) -> None:
        self.work = work or SlicedWork(SURVIVAL_BUDGET)
        self._left = LeftAfter(snapshot, requests, self.work) if requests else None
        self._terms = terms or Terms()
        self._snapshot = snapshot
        self._inference = Inference(snapshot)
        self._places = Places(snapshot, self.work)
        self._most: dict[frozenset[Need], Need | None] = {}
        # The lists in which a consumer is, and the trees that members of each list hold of.
        self._apart: dict[str, list[int]] = defaultdict(list)
        self._homes = list[frozenset[int]]()
        for number, consumers in enumerate(self._terms.apart):
            for consumer in consumers:
                self._apart[consumer].append(number)
            homes = [self._terms.homes.get(consumer, NOWHERE) for consumer in consumers]
            self._homes.append(NOWHERE.union(*homes))
        self._is_left_unknown = False
        self._explanations: dict[Need, RequestExplanation] = {}

    @property
    def left(self) -> Mapping[str, Left]:
        """How often each request could still be claimed after the loss of the domain that leaves
        least; nothing where the budget did not suffice for all domains."""
        return {} if self._left is None or self._is_left_unknown else self._left.worst

    def loss(self, domain: Domain, holders: Mapping[str, Held]) -> DomainLoss:
        """The loss of a domain, of which these consumers hold."""
        placing = self._placing(domain, holders)
        outcome = DomainLoss(
            domain.name,
            len(placing.by_amounts) + len(placing.gone),
            sum(consumer in self._terms.asked for consumer in placing.by_amounts),
            placing.in_several_trees,
        )
        try:
            outcome = self._placed(outcome, domain, placing)
            self._note_left(domain, placing)
        except BudgetSpent:
            self._is_left_unknown = True
        return outcome

    def _note_left(self, domain: Domain, placing: Placing) -> None:
        if self._left is not None:
            places, skipped = self._rest(domain)
            self._left.note(domain, self._filled(places, skipped, domain, placing.by_amounts)[1])

    def _placing(self, domain: Domain, holders: Mapping[str, Held]) -> Placing:
        terms, placing, several = self._terms, Placing({}, {}, {}, 0), 0
        within = terms.within - domain.aggregates
        for consumer, held in holders.items():
            self.work.count(PLACES_OF_CONSUMER)
            if consumer in terms.ignored:
                continue
            inferred = self._inference.of(held, domain.roots, within)
            several += inferred.has_other_trees
            if inferred.by_amounts is None or inferred.alike is None:
                placing.gone[consumer] = held
            else:
                asked = terms.asked.get(consumer)
                placing.by_amounts[consumer] = asked or inferred.by_amounts
                placing.alike[consumer] = asked or inferred.alike
        return placing._replace(in_several_trees=several)

    def _placed(self, outcome: DomainLoss, domain: Domain, placing: Placing) -> DomainLoss:
        """The outcome with the places. Raises `BudgetSpent`."""
        self.work.check()
        places, skipped = self._rest(domain)
        homeless = self._homeless(places, skipped, domain, placing.by_amounts)
        homeless_alike = self._homeless(places, skipped, domain, placing.alike)
        lacking = Counter[str]()
        for need in homeless.values():
            lacking.update(need.totals)
        for held in placing.gone.values():
            for provider_id in held:
                if self._snapshot.indexes.roots.get(provider_id) in domain.roots:
                    lacking.update(held[provider_id])
        gone = [Homeless(consumer, DATA_GONE) for consumer in sorted(placing.gone)]
        named = list(homeless.items())[: max(MAX_HOMELESS_NAMED - len(gone), 0)]
        return dataclasses.replace(
            outcome,
            placed=len(placing.by_amounts) - len(homeless),
            placed_alike=len(placing.alike) - len(homeless_alike),
            is_exact=not homeless
            or bool(gone)
            or self._is_hopeless(places, domain, placing.by_amounts, homeless),
            lacking=dict(lacking),
            homeless=tuple(gone[:MAX_HOMELESS_NAMED])
            + tuple([self._described(places, domain, *item) for item in named]),
        )

    def _rest(self, domain: Domain) -> tuple[Places, frozenset[int]]:
        """The places of the cloud, and the trees that are skipped, when a domain is lost."""
        trees = [self._snapshot.tree(root_id) for root_id in domain.roots]
        if any(tree.shape.structure.has_sharing for tree in trees):
            return self._places.without(domain.roots), NOWHERE
        return self._places, domain.roots

    def _homeless(
        self, places: Places, skipped: Set[int], domain: Domain, needs: Mapping[str, Need]
    ) -> dict[str, Need]:
        """Those that find no place, in the order in which they were placed."""
        if self._have_slots(places, skipped, needs):
            return {}
        return self._filled(places, skipped, domain, needs)[0]

    def _filled(
        self, places: Places, skipped: Set[int], domain: Domain, needs: Mapping[str, Need]
    ) -> tuple[dict[str, Need], Filling]:
        """Those that find no place, and the others at theirs."""
        filling, homeless = Filling(places, skipped), dict[str, Need]()
        # By the number of a list, the trees that no other member of it may be in.
        taken: dict[int, set[int]] = {}
        for consumer in self._in_order(places, needs):
            lists = []
            for number in self._apart.get(consumer, ()):
                if number not in taken:
                    taken[number] = set(self._homes[number] - domain.roots)
                lists.append(taken[number])
            self.work.spend(sum(map(len, lists[1:])))
            barred = NOWHERE.union(*lists) if len(lists) > 1 else next(iter(lists), NOWHERE)
            filled = filling.fill(needs[consumer], 1, barred)
            if not filled:
                homeless[consumer] = needs[consumer]
            for of_list in lists:
                of_list.update([place.root_id for place in filled])
        return homeless, filling

    def _have_slots(self, places: Places, skipped: Set[int], needs: Mapping[str, Need]) -> bool:
        """Tell if there are as many places for the largest amounts of all as consumers: all find
        one then. False proves nothing."""
        if not needs or not self._apart.keys().isdisjoint(needs):
            return not needs
        distinct = frozenset(needs.values())
        if distinct not in self._most:
            self._most[distinct] = self._inference.most(distinct)
        most = self._most[distinct]
        return most is not None and places.slots(most).suffice(len(needs), skipped)

    def _in_order(self, places: Places, needs: Mapping[str, Need]) -> list[str]:
        """Those with the fewest places first, then those that take more of a scarce class."""
        ranks = {
            need: (places.fitting(need).scarcity, -self._share(need))
            for need in set(needs.values())
        }
        return sorted(needs, key=lambda consumer: (*ranks[needs[consumer]], consumer))

    def _share(self, need: Need) -> float:
        """The largest part of what is free of a class that a need takes."""
        free = self._free
        return max((n / max(free[name], 1) for name, n in need.totals.items()), default=0)

    @functools.cached_property
    def _free(self) -> Counter[str]:
        """By class what is free of all trees. Raises `BudgetSpent`."""
        free = Counter[str]()
        for block in self._snapshot.blocks.values():
            for tree in block.trees.values():
                free.update(_free_of(tree))
            self.work.spend(len(block.trees))
        return free

    def _is_hopeless(
        self,
        places: Places,
        domain: Domain,
        needs: Mapping[str, Need],
        homeless: Mapping[str, Need],
    ) -> bool:
        """Tell if there is certainly no way: one fits nowhere alone, or a class is short."""
        if not all(places.fitting(n).has_others(domain.roots) for n in set(homeless.values())):
            return True
        wanted, free = Counter[str](), Counter(self._free)
        for need in needs.values():
            wanted.update(need.totals)
        for root_id in domain.roots:
            free.subtract(_free_of(self._snapshot.tree(root_id)))
        return any(amount > free[name] for name, amount in wanted.items())

    def _described(self, places: Places, domain: Domain, consumer: str, need: Need) -> Homeless:
        if places.fitting(need).has_others(domain.roots):
            return Homeless(consumer, ONLY_ALONE)
        explanation = self._explanations.get(need)
        if explanation is None:
            part = self.work.part(PLACES_TO_EXPLAIN)
            explanation = explain_request(self._snapshot, need.request, part)
            self.work.spent += part.spent
            self._explanations[need] = explanation
        words = ONLY_OUTSIDE if explanation.trees_fitting else ''
        return Homeless(consumer, words, explanation)


def _free_of(tree: Tree) -> dict[str, int]:
    """By class what is free of a tree, nothing of one over capacity."""
    free = Counter[str]()
    if not is_over_capacity(tree):
        for member in tree.members:
            for name, capacity, used in member.inventories:
                free[name] += capacity.ceiling - used
    return free
