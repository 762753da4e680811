# SPDX-License-Identifier: Apache-2.0
"""Survival: whether all consumers of a failed domain would fit elsewhere while all others stay.

Each domain is examined by itself. Reported places exist, though nova on its own may not find them.
That some consumer has no place is certain (`is_exact`) if its data is gone, if it fits nowhere
even alone, or if a class is short.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Set
from types import MappingProxyType
from typing import NamedTuple

from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BoundedCache, BudgetSpent
from placement_insight.search.capacity import Requests
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.domains import Domain
from placement_insight.search.what_if.filling import Filling
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.left import Left, LeftAfter
from placement_insight.search.what_if.places import Places, sum_of
from placement_insight.search.what_if.queues import Order
from placement_insight.search.what_if.relocation import (
    Needs,
    NeedsOf,
    Placed,
    Relocation,
    Rest,
    Terms,
    Unplaced,
    free_of,
    may_hold,
)
from placement_insight.search.what_if.scenario import Held
from placement_insight.search.what_if.shortage import MAX_TREES, Wanted, is_short

# Budgets in steps, for all domains of one page: for placing consumers, and for counting the
# requests that can still be claimed.
SURVIVAL_BUDGET = 4_000_000
LEFT_BUDGET = 3_000_000
MAX_UNPLACED_NAMED = 5

# Maximum number of sets of needs for which the largest need is cached.
MAX_MOST = 1_000
# Steps to look for a shortage, for each tree and need.
STEPS_OF_TREE = 50

DATA_GONE = 'It has allocations on a lost pool, so that its data is gone.'


class DomainLoss(NamedTuple):
    """The outcome of the loss of one domain. Numbers are None if the budget was spent earlier."""

    domain: str
    #: Number of consumers that lose their trees, and of those with known requests.
    consumers: int | None = None
    known_requests: int | None = None
    #: Number of consumers with a place, and number with a place in a tree like the lost one.
    placed: int | None = None
    placed_alike: int | None = None
    #: True if `survives` is proved; if not, another placement may have a place for all consumers.
    is_exact: bool = False
    #: The amounts that consumers without a place need, by class.
    lacking: Mapping[str, int] = MappingProxyType({})
    #: Up to five consumers without a place.
    unplaced: tuple[Unplaced, ...] = ()

    @property
    def survives(self) -> bool | None:
        """True if all consumers find a place, None if unknown."""
        return None if self.placed is None else self.placed == self.consumers


class Survival:
    """Computes the outcome of the loss of domains of a snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        terms: Terms | None = None,
        work: SlicedWork | None = None,
        requests: Requests | None = None,
    ) -> None:
        self.work = work or SlicedWork(SURVIVAL_BUDGET)
        # A separate budget: counting what is left must not cost verdicts.
        counting = self.work.part(LEFT_BUDGET)
        self._left = LeftAfter(snapshot, requests, counting) if requests else None
        self._snapshot = snapshot
        self._relocation = Relocation(snapshot, terms or Terms(), self.work, evacuate=True)
        self._most: BoundedCache[frozenset[Need], Need | None] = BoundedCache(MAX_MOST)
        self._is_left_unknown = False

    @property
    def left(self) -> Mapping[str, Left]:
        """The number of claims of each request that still fit after the loss of the worst domain.

        Empty if the budget did not suffice for all domains.
        """
        return {} if self._left is None or self._is_left_unknown else self._left.worst

    def loss(
        self, domain: Domain, holders_of: Callable[[Domain], Mapping[str, Held]]
    ) -> DomainLoss:
        """Return the outcome of the loss of a domain, without numbers if the budget is spent.

        `holders_of` returns the allocations of the consumers of a domain.
        """
        outcome = DomainLoss(domain.name)
        try:
            self.work.check()
            within = self._relocation.terms.within - domain.aggregates
            needs = self._relocation.needs(holders_of(domain), domain.roots, within)
            asked = self._relocation.terms.asked
            outcome = outcome._replace(
                consumers=len(needs.by_amounts) + len(needs.gone),
                known_requests=sum(consumer in asked for consumer in needs.by_amounts),
            )
            outcome = self._placed(outcome, domain, needs)
            self._count_claims_left(domain, needs)
        except BudgetSpent:
            self._is_left_unknown = True
        return outcome

    def _count_claims_left(self, domain: Domain, needs: Needs) -> None:
        """Count the requests that can still be claimed, unless an earlier domain was not counted.

        :raises BudgetSpent: the budget is spent
        """
        if self._left is not None and not self._is_left_unknown:
            rest = self._relocation.rest(domain.roots)
            filling, _ = self._filled(rest, needs.by_amounts, needs)
            self._left.count_after(domain, filling)

    def _placed(self, outcome: DomainLoss, domain: Domain, needs: Needs) -> DomainLoss:
        """Return the outcome with the numbers of places.

        :raises BudgetSpent: the budget is spent
        """
        rest = self._relocation.rest(domain.roots)
        places = rest.places
        unplaced = self._unplaced(rest, needs.by_amounts, needs)
        unplaced_alike = self._unplaced(rest, needs.alike, needs)
        lacking = Counter[str]()
        for consumer in unplaced:
            lacking.update(needs.by_amounts[consumer][0].request.totals)
        for held in needs.gone.values():
            for provider_id in held:
                if self._snapshot.indexes.roots.get(provider_id) in domain.roots:
                    lacking.update(held[provider_id])
        gone = sorted(needs.gone)[:MAX_UNPLACED_NAMED]
        named = [Unplaced(consumer, DATA_GONE) for consumer in gone]
        is_exact = not unplaced or bool(gone) or self._is_hopeless(places, domain, needs, unplaced)
        for consumer, words in itertools.islice(unplaced.items(), MAX_UNPLACED_NAMED - len(gone)):
            named.append(self._relocation.described(places, domain.roots, consumer, needs, words))
        return outcome._replace(
            placed=len(needs.by_amounts) - len(unplaced),
            placed_alike=len(needs.alike) - len(unplaced_alike),
            is_exact=is_exact,
            lacking=dict(lacking),
            unplaced=tuple(named),
        )

    def _unplaced(self, rest: Rest, wanted: NeedsOf, needs: Needs) -> dict[str, str]:
        """Return the consumers without a place, each with the reason (`Placed.unplaced`)."""
        kept = needs.kept.values()
        may_keep = all(may_hold(self._snapshot, of_consumer) for of_consumer in kept)
        if may_keep and self._have_slots(rest, wanted):
            return {}
        return self._filled(rest, wanted, needs)[1].unplaced

    def _filled(self, rest: Rest, wanted: NeedsOf, needs: Needs) -> tuple[Filling, Placed]:
        """Place consumers, and return the filled trees and the places.

        If some consumers stay unplaced although each fits some tree alone, and the trees are few,
        other orders of trees are tried. The order with the fewest unplaced consumers is returned.
        """
        best: tuple[Filling, Placed] | None = None
        released = rest.places.after_release(needs.released.values())
        for order in (Order.FIRST, Order.FULLEST, Order.ROOMIEST):
            filling = Filling(rest.places, rest.skipped, order)
            placed = self._relocation.place(filling, wanted, needs)
            if best is None or len(placed.unplaced) < len(best[1].unplaced):
                best = filling, placed
            unplaced = {wanted[consumer] for consumer in best[1].unplaced}
            if not unplaced or not _fit_alone(released, unplaced, rest.skipped):
                break
            if not _are_few(rest.places, wanted):
                break
        assert best is not None
        return best

    def _have_slots(self, rest: Rest, needs: NeedsOf) -> bool:
        """True if there are at least as many places for the largest need as consumers.

        Then all consumers fit, and need not be placed one by one. False proves nothing.
        """
        if not needs or self._relocation.are_apart(needs):
            return not needs
        distinct = frozenset([of_consumer[0] for of_consumer in needs.values()])
        if distinct not in self._most:
            self._most.add(distinct, self._relocation.inference.most(distinct))
        most = self._most[distinct]
        return most is not None and rest.places.slots(most).suffice(len(needs), rest.skipped)

    def _is_hopeless(
        self, places: Places, domain: Domain, needs: Needs, unplaced: Mapping[str, object]
    ) -> bool:
        """True if no placement has room for all consumers, even after all releases.

        Either one of the unplaced fits nowhere alone, or a class is short.
        """
        before, places = places, places.after_release(needs.released.values())
        wanted, free = needs.by_amounts, Counter(self._relocation.free)
        if not _fit_alone(places, {wanted[consumer] for consumer in unplaced}, domain.roots):
            return True
        if self._is_short(places, domain, wanted):
            return True
        asked = Counter[str]()
        for of_consumer in wanted.values():
            asked.update(of_consumer[0].request.totals)
        for root_id in domain.roots:
            free.subtract(free_of(self._snapshot.tree(root_id)))
        for root_id in {
            places.snapshot.indexes.roots[i] for i in sum_of(*needs.released.values())
        }:
            free.subtract(free_of(before.snapshot.tree(root_id)))
            free.update(free_of(places.snapshot.tree(root_id)))
        return any(amount > free[name] for name, amount in asked.items())

    def _is_short(self, places: Places, domain: Domain, needs: NeedsOf) -> bool:
        """True if consumers fit only few trees, and these certainly lack room for all of them."""
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
                {n: a for n, a in of_consumer[0].request.totals.items() if n not in of_pools},
                number,
                frozenset().union(*[places.fitting(need).candidates for need in of_consumer])
                - domain.roots,
            )
            for of_consumer, number in consumers.items()
        ]
        roots = frozenset[int]().union(*[each.trees for each in wanted])
        self.work.spend(STEPS_OF_TREE * len(wanted) * len(roots))
        free = {root_id: free_of(places.snapshot.tree(root_id)) for root_id in roots}
        return is_short(wanted, free)


def _fit_alone(places: Places, wanted: Set[tuple[Need, ...]], lost: Set[int]) -> bool:
    """True if each of some consumers fits a tree that is not lost.

    :raises BudgetSpent: the budget is spent
    """
    return all(
        any(places.fitting(need).has_others(lost) for need in of_consumer)
        for of_consumer in wanted
    )


def _are_few(places: Places, needs: NeedsOf) -> bool:
    """True if each need fits only few trees.

    :raises BudgetSpent: the budget is spent
    """
    distinct = {need for of_consumer in needs.values() for need in of_consumer}
    return all(places.fitting(need).scarcity <= MAX_TREES for need in distinct)
