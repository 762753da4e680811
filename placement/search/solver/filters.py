# SPDX-License-Identifier: Apache-2.0
"""What one provider has to bring to serve one demand, as a chain of small filters.

They look at the kind of a provider only, so that a search asks once for all providers of a kind.
What differs from provider to provider is what is used; for that an `Offer` says how much may be.
Specification: allocation_candidates, "What can satisfy one group".
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from placement.search.model.provider import Kind
from placement.search.model.request import RequestGroup
from placement.search.solver.tally import Reason


class Offer(NamedTuple):
    """A kind of provider that can serve a demand, unless too much of it is used.

    `limits` pairs the place of a class, in a provider's usage, with the most that may be used of
    it. `is_member` tells whether the provider is itself a member of the wanted aggregates.
    """

    limits: tuple[tuple[int, int], ...]
    is_member: bool

    def fits(self, used: tuple[int, ...]) -> bool:
        """Whether a provider of the kind that uses this much has room for the demand."""
        return all(used[position] <= most_used for position, most_used in self.limits)


class Demand:
    """What one provider has to give: a whole suffixed group, or one class of the unsuffixed one.

    `tree_id` is the id of the root of the tree named by `in_tree`.
    """

    __slots__ = ('_verdicts', 'amounts', 'group', 'is_suffixed', 'tree_id')

    def __init__(
        self, group: RequestGroup, amounts: Mapping[str, int], tree_id: int | None
    ) -> None:
        self.group = group
        self.amounts = amounts
        self.is_suffixed = group.is_suffixed
        self.tree_id = tree_id
        self._verdicts: dict[Kind, Offer | Reason] = {}

    def verdict(self, kind: Kind) -> Offer | Reason:
        """What a provider of this kind offers, or why it never can."""
        verdict = self._verdicts.get(kind)
        if verdict is None:
            verdict = self._verdicts[kind] = _verdict(self, kind)
        return verdict

    def forget_verdicts(self) -> None:
        """Let go of what is known of kinds; it can be found out again."""
        self._verdicts.clear()

    def is_within(self, aggregates: frozenset[str]) -> bool:
        """Whether these aggregates hold one of each set the group wants."""
        return all(not wanted.isdisjoint(aggregates) for wanted in self.group.member_of)

    def is_barred_from(self, aggregates: frozenset[str]) -> bool:
        """Whether the group must stay clear of one of these aggregates."""
        return not self.group.forbidden_aggregates.isdisjoint(aggregates)


def has_classes(demand: Demand, kind: Kind) -> Reason | None:
    """Refuses a provider without inventory of a wanted class."""
    return None if demand.amounts.keys() <= kind.position.keys() else Reason.CLASS_MISSING


def has_required_traits(demand: Demand, kind: Kind) -> Reason | None:
    """Refuses a provider without the traits of a suffixed group.

    Those of the unsuffixed group are brought together by all who serve it, see combine.py.
    """
    if demand.is_suffixed:
        for alternatives in demand.group.required:
            if alternatives.isdisjoint(kind.traits):
                return Reason.REQUIRED_TRAIT
    return None


def lacks_forbidden_traits(demand: Demand, kind: Kind) -> Reason | None:
    """Refuses a provider with a trait that is not wanted."""
    return None if demand.group.forbidden.isdisjoint(kind.traits) else Reason.FORBIDDEN_TRAIT


def is_in_aggregates(demand: Demand, kind: Kind) -> Reason | None:
    """Refuses a provider outside the wanted aggregates, or inside one that is not wanted.

    For the unsuffixed group the root's membership may stand in for the provider's: that is for the
    tree to say, see plan.py.
    """
    if demand.is_suffixed and not demand.is_within(kind.aggregates):
        return Reason.AGGREGATE
    return Reason.AGGREGATE if demand.is_barred_from(kind.aggregates) else None


def has_capacity(demand: Demand, kind: Kind) -> Reason | None:
    """Refuses a provider that would not fit the amounts if nothing of it were used."""
    for name, amount in demand.amounts.items():
        refusal = kind.capacities[kind.position[name]].refusal(amount)
        if refusal:
            return Reason(refusal.value)
    return None


FILTERS: tuple[Callable[[Demand, Kind], Reason | None], ...] = (
    has_classes,
    has_required_traits,
    lacks_forbidden_traits,
    is_in_aggregates,
    has_capacity,
)


def _verdict(demand: Demand, kind: Kind) -> Offer | Reason:
    for refusal_of in FILTERS:
        if reason := refusal_of(demand, kind):
            return reason
    position = kind.position
    limits = tuple(
        [
            (position[name], kind.capacities[position[name]].ceiling - amount)
            for name, amount in demand.amounts.items()
        ]
    )
    return Offer(limits, demand.is_within(kind.aggregates))
