# SPDX-License-Identifier: Apache-2.0
"""The failures that a cloud can take: of each domain by itself, whether all that is lost with it
finds places on the rest, where everybody else stays.

A way that is told is there, though nova left to itself may miss it. That there is none is exact
where somebody fits nowhere even alone, or a class is short in sum.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Set

from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BudgetSpent
from placement.search.what_if.domains import Domain
from placement.search.what_if.filling import Filling, Order
from placement.search.what_if.inferred import Need
from placement.search.what_if.left import Left, LeftAfter
from placement.search.what_if.places import Places
from placement.search.what_if.relocation import (
    Homeless,
    Needs,
    Placed,
    Relocation,
    Terms,
    free_of,
    may_hold,
)
from placement.search.what_if.scenario import Held
from placement.search.what_if.shortage import MAX_TREES, Wanted, is_short

# How many places all domains of a page may look at.
SURVIVAL_BUDGET = 4_000_000
LEFT_BUDGET = 3_000_000
MAX_HOMELESS_NAMED = 5
# To look for a shortage takes as long as so many places, for each tree and need.
PLACES_OF_TREE = 50

DATA_GONE = 'It holds of a pool that is lost, so that its data is gone.'


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
        # What is left is not worth more than the verdicts: it has a budget of its own.
        counting = self.work.part(LEFT_BUDGET)
        self._left = LeftAfter(snapshot, requests, counting) if requests else None
        self._snapshot = snapshot
        self._relocation = Relocation(snapshot, terms or Terms(), self.work)
        self._most: dict[frozenset[Need], Need | None] = {}
        self._is_left_unknown = False

    @property
    def left(self) -> Mapping[str, Left]:
        """How often each request could still be claimed after the loss of the domain that leaves
        least; nothing where the budget did not suffice for all domains."""
        return {} if self._left is None or self._is_left_unknown else self._left.worst

    def loss(self, domain: Domain, holders: Mapping[str, Held]) -> DomainLoss:
        """The loss of a domain, of which these consumers hold."""
        terms = self._relocation.terms
        within = terms.within - domain.aggregates
        needs = self._relocation.needs(holders, domain.roots, within)
        outcome = DomainLoss(
            domain.name,
            len(needs.by_amounts) + len(needs.gone),
            sum(consumer in terms.asked for consumer in needs.by_amounts),
            needs.in_several_trees,
        )
        try:
            outcome = self._placed(outcome, domain, needs)
            self._note_left(domain, needs)
        except BudgetSpent:
            self._is_left_unknown = True
        return outcome

    def _note_left(self, domain: Domain, needs: Needs) -> None:
        if self._left is not None and not self._is_left_unknown:
            places, skipped = self._relocation.rest(domain.roots)
            filling, _ = self._filled(places, skipped, needs.by_amounts, needs.kept)
            self._left.note(domain, filling)

    def _placed(self, outcome: DomainLoss, domain: Domain, needs: Needs) -> DomainLoss:
        """The outcome with the places. Raises `BudgetSpent`."""
        self.work.check()
        places, skipped = self._relocation.rest(domain.roots)
        without = self._homeless(places, skipped, needs.by_amounts, needs.kept)
        homeless = {consumer: needs.by_amounts[consumer][0] for consumer in without}
        homeless_alike = self._homeless(places, skipped, needs.alike, needs.kept)
        lacking = Counter[str]()
        for need in homeless.values():
            lacking.update(need.totals)
        for held in needs.gone.values():
            for provider_id in held:
                if self._snapshot.indexes.roots.get(provider_id) in domain.roots:
                    lacking.update(held[provider_id])
        gone = [Homeless(consumer, DATA_GONE) for consumer in sorted(needs.gone)]
        named = [(c, homeless[c], without[c]) for c in homeless]
        named = named[: max(MAX_HOMELESS_NAMED - len(gone), 0)]
        return dataclasses.replace(
            outcome,
            placed=len(needs.by_amounts) - len(homeless),
            placed_alike=len(needs.alike) - len(homeless_alike),
            is_exact=not homeless
            or bool(gone)
            or self._is_hopeless(places, domain, needs.by_amounts, homeless),
            lacking=dict(lacking),
            homeless=tuple(gone[:MAX_HOMELESS_NAMED])
            + tuple([self._relocation.described(places, domain.roots, *item) for item in named]),
        )

    def _homeless(
        self,
        places: Places,
        skipped: Set[int],
        needs: Mapping[str, tuple[Need, ...]],
        kept: Mapping[str, Held],
    ) -> dict[str, str]:
        """Those that find no place, in the order in which they were placed, with what they lack in
        words, if room is not what they lack."""
        may_keep = all(may_hold(self._snapshot, of_consumer) for of_consumer in kept.values())
        if may_keep and self._have_slots(places, skipped, needs):
            return {}
        return self._filled(places, skipped, needs, kept)[1].homeless

    def _filled(
        self,
        places: Places,
        skipped: Set[int],
        needs: Mapping[str, tuple[Need, ...]],
        kept: Mapping[str, Held],
    ) -> tuple[Filling, Placed]:
        """The places that consumers find; if there are few trees to choose from, and all of them
        fit some tree alone, in that order of trees that leaves fewest without."""
        best: tuple[Filling, Placed] | None = None
        for order in (Order.FIRST, Order.FULLEST, Order.ROOMIEST):
            filling = Filling(places, skipped, order)
            placed = self._relocation.place(filling, needs, kept)
            if best is None or len(placed.homeless) < len(best[1].homeless):
                best = filling, placed
            wanted = {needs[consumer] for consumer in best[1].homeless}
            if not wanted or not _fit_alone(places, wanted, skipped):
                break
            if not _are_few(places, needs):
                break
        assert best is not None
        return best

    def _have_slots(
        self, places: Places, skipped: Set[int], needs: Mapping[str, tuple[Need, ...]]
    ) -> bool:
        """Tell if there are as many places for the largest amounts of all as consumers: all find
        one then. False proves nothing."""
        # Survival of 10,000 hosts takes three to five times as long without.
        if not needs or self._relocation.are_apart(needs):
            return not needs
        distinct = frozenset([of_consumer[0] for of_consumer in needs.values()])
        if distinct not in self._most:
            self._most[distinct] = self._relocation.inference.most(distinct)
        most = self._most[distinct]
        return most is not None and places.slots(most).suffice(len(needs), skipped)

    def _is_hopeless(
        self,
        places: Places,
        domain: Domain,
        needs: Mapping[str, tuple[Need, ...]],
        homeless: Iterable[str],
    ) -> bool:
        """Tell if there is certainly no way: one fits nowhere alone, or there is a shortage."""
        if not _fit_alone(places, {needs[consumer] for consumer in homeless}, domain.roots):
            return True
        if self._is_short(places, domain, needs):
            return True
        wanted, free = Counter[str](), Counter(self._relocation.free)
        for of_consumer in needs.values():
            wanted.update(of_consumer[0].totals)
        for root_id in domain.roots:
            free.subtract(free_of(self._snapshot.tree(root_id)))
        return any(amount > free[name] for name, amount in wanted.items())

    def _is_short(
        self, places: Places, domain: Domain, needs: Mapping[str, tuple[Need, ...]]
    ) -> bool:
        """Tell if the few trees that consumers fit are certainly short of room for all."""
        if not _are_few(places, needs):
            return False
        consumers = Counter(needs.values())
        of_pools = {
            name
            for pool in places.snapshot.sharing_providers
            for name in pool.kind.profile.classes
        }
        wanted = [
            Wanted(
                {n: a for n, a in of_consumer[0].totals.items() if n not in of_pools},
                number,
                frozenset().union(*[places.fitting(need).candidates for need in of_consumer])
                - domain.roots,
            )
            for of_consumer, number in consumers.items()
        ]
        roots = frozenset[int]().union(*[each.trees for each in wanted])
        self.work.spend(PLACES_OF_TREE * len(wanted) * len(roots))
        free = {root_id: free_of(places.snapshot.tree(root_id)) for root_id in roots}
        return is_short(wanted, free)


def _fit_alone(places: Places, wanted: Set[tuple[Need, ...]], lost: Set[int]) -> bool:
    """Tell if each of some consumers fits a tree that is not lost. Raises `BudgetSpent`."""
    return all(
        any(places.fitting(need).has_others(lost) for need in of_consumer)
        for of_consumer in wanted
    )


def _are_few(places: Places, needs: Mapping[str, tuple[Need, ...]]) -> bool:
    """Tell if each need fits but few trees. Raises `BudgetSpent`."""
    distinct = {need for of_consumer in needs.values() for need in of_consumer}
    return all(places.fitting(need).scarcity <= MAX_TREES for need in distinct)
