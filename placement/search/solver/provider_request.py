# SPDX-License-Identifier: Apache-2.0
"""What one resource provider is asked for, and which profiles can serve it.

The conditions are a chain of small functions that look at a profile alone, so a search asks once
for all providers of a profile. What differs from one provider to the next are amounts; for these
a `Match` says what is needed of which inventory. Specification:
allocation_candidates, "What can satisfy one group".
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from placement.search.model.block import Bound
from placement.search.model.capacity import Capacity, Refusal
from placement.search.model.kind import Profile
from placement.search.model.request import RequestGroup
from placement.search.solver.tally import Reason
from placement.search.solver.work import Work

# How many verdicts are remembered for one request.
MAX_VERDICTS = 10_000


class Match(NamedTuple):
    """A profile that can serve a request if there is enough of it.

    `needs` pairs the position of each class in the profile with the amount asked for. `is_member`
    tells whether a provider of the profile is itself a member of the wanted aggregates.
    """

    needs: tuple[tuple[int, int], ...]
    is_member: bool


class ProviderRequest:
    """What one provider is asked for: a whole suffixed group, or one class of the unsuffixed one.

    `number` is its number among those of the search, `tree_id` the id of the root of the tree
    that `in_tree` names, None for any tree.
    """

    __slots__ = ('amounts', 'group', 'is_suffixed', 'number', 'tree_id', 'verdicts')

    def __init__(
        self,
        number: int,
        group: RequestGroup,
        amounts: Mapping[str, int],
        tree_id: int | None,
        work: Work,
    ) -> None:
        self.number = number
        self.group = group
        self.amounts = amounts
        self.is_suffixed = group.is_suffixed
        self.tree_id = tree_id
        # For those who ask of very many profiles.
        self.verdicts = Verdicts(self, work)

    def verdict(self, profile: Profile) -> 'Match | Reason':
        """What a provider of this profile is asked for, or why it cannot serve the request,
        however much of it there is."""
        return self.verdicts[profile]

    def verdict_on_all(self, bound: Bound) -> 'Match | Reason | None':
        """The verdict on every provider of a bound; None where they differ, or may.

        A required trait that the least profile has, all of them have; one that `profile` lacks,
        all of them lack. With a forbidden one it is the other way round, and with aggregates it
        is as with traits.
        """
        most, least = bound.profile, bound.least
        verdict = self.verdicts[most]
        if least is not most:
            if verdict != self.verdicts[least]:
                return None
            if verdict is Reason.AGGREGATE and not self._are_all_unsuitable(most, least):
                return None
        if isinstance(verdict, Match) and not verdict.is_member:
            # Nobody is above a root whose membership could stand in for its own.
            return Reason.AGGREGATE if bound.roots == len(bound.providers) else verdict
        return verdict

    def _are_all_unsuitable(self, most: Profile, least: Profile) -> bool:
        """Whether all profiles between these two are outside the wanted aggregates, or all inside
        an unwanted one: some could be this, and others that."""
        is_outside = self.is_suffixed and not self.is_within(most.aggregates)
        return is_outside or self.is_barred_from(least.aggregates)

    def may_fit(self, bound: Bound, ignores_usage: bool = False) -> bool:
        """False when certainly no provider of a bound can serve the request, now or if nothing
        were used."""
        position = bound.profile.position
        for name, amount in self.amounts.items():
            if name not in position or bound.room(position[name], ignores_usage) < amount:
                return False
        return not isinstance(self.verdict_on_all(bound), Reason)

    def is_within(self, aggregates: frozenset[str]) -> bool:
        """Whether these aggregates hold one of each set the group wants."""
        return all(not wanted.isdisjoint(aggregates) for wanted in self.group.member_of)

    def is_barred_from(self, aggregates: frozenset[str]) -> bool:
        """Whether the group must stay clear of one of these aggregates."""
        return not self.group.forbidden_aggregates.isdisjoint(aggregates)

    @property
    def likeness(self) -> tuple[object, ...]:
        """Equal for requests that the same providers can serve with the same amounts."""
        group = self.group
        return (
            tuple(self.amounts.items()),
            self.is_suffixed,
            group.required if self.is_suffixed else (),
            group.forbidden,
            group.member_of,
            group.forbidden_aggregates,
            self.tree_id,
        )


class Verdicts(dict[Profile, Match | Reason]):
    """The verdict of a request on each profile, made when it is first asked for; the oldest is
    forgotten when there are too many."""

    def __init__(self, request: ProviderRequest, work: Work) -> None:
        super().__init__()
        self._request = request
        self._work = work
        self._sets = len(request.group.required) + len(request.group.member_of)

    def __missing__(self, profile: Profile) -> Match | Reason:
        if len(self) >= MAX_VERDICTS:
            del self[next(iter(self))]
        self._work.compare(self._sets)
        verdict = self[profile] = _verdict(self._request, profile)
        return verdict


def missing_class(request: ProviderRequest, profile: Profile) -> Reason | None:
    """CLASS_MISSING where a provider has no inventory of a wanted class."""
    return None if request.amounts.keys() <= profile.position.keys() else Reason.CLASS_MISSING


def missing_trait(request: ProviderRequest, profile: Profile) -> Reason | None:
    """REQUIRED_TRAIT where a provider lacks a trait of a suffixed group.

    Those of the unsuffixed group are brought together by all who serve it: that is for the
    assignment to see to.
    """
    if request.is_suffixed:
        for alternatives in request.group.required:
            if alternatives.isdisjoint(profile.traits):
                return Reason.REQUIRED_TRAIT
    return None


def forbidden_trait(request: ProviderRequest, profile: Profile) -> Reason | None:
    """FORBIDDEN_TRAIT where a provider has a trait that is not wanted."""
    return None if request.group.forbidden.isdisjoint(profile.traits) else Reason.FORBIDDEN_TRAIT


def unsuitable_aggregate(request: ProviderRequest, profile: Profile) -> Reason | None:
    """AGGREGATE where a provider is outside the wanted aggregates, or inside an unwanted one.

    For the unsuffixed group the root's membership may stand in for the provider's: that is for
    the domains of a tree to say.
    """
    if request.is_suffixed and not request.is_within(profile.aggregates):
        return Reason.AGGREGATE
    return Reason.AGGREGATE if request.is_barred_from(profile.aggregates) else None


CONDITIONS: tuple[Callable[[ProviderRequest, Profile], Reason | None], ...] = (
    missing_class,
    missing_trait,
    forbidden_trait,
    unsuitable_aggregate,
)


def _verdict(request: ProviderRequest, profile: Profile) -> Match | Reason:
    for reason_against in CONDITIONS:
        if reason := reason_against(request, profile):
            return reason
    position = profile.position
    needs = tuple([(position[name], amount) for name, amount in request.amounts.items()])
    return Match(needs, request.is_within(profile.aggregates))


def capacity_refusal(
    needs: Iterable[tuple[int, int]],
    capacities: tuple[Capacity, ...],
    used: tuple[int, ...] | None = None,
) -> Refusal | None:
    """Why a provider with these capacities, of which so much is used, could not fit the needs;
    None where it could. Without `used` nothing is."""
    for position, amount in needs:
        taken = 0 if used is None else used[position]
        if refusal := capacities[position].refusal(amount, taken):
            return refusal
    return None
