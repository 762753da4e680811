# SPDX-License-Identifier: Apache-2.0
"""A request with its names looked up, divided into what single providers are asked for.

A suffixed group is one provider request; the unsuffixed group is one for each class, since every
class is served entirely by one provider. Two different ways of serving the provider requests are
two different candidates.

Traits, classes and aggregates belong to the profile, so they are compared once for all providers
of a profile; amounts are compared provider by provider. Specification:
allocation_candidates, "What can satisfy one group", "Combining groups".
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from placement.search.model.capacity import Capacity
from placement.search.model.kind import Profile
from placement.search.model.request import (
    GROUP_PARAMETERS,
    OWN_PARAMETERS,
    AnyOf,
    CandidateRequest,
    RequestGroup,
)
from placement.search.model.snapshot import Snapshot

# The amount asked of each class, by the position of the class in a profile.
Demand = Sequence[tuple[int, int]]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ProviderRequest:
    """The request of one provider: a whole suffixed group, or one class of the unsuffixed one.

    `number` is its number among those of the search, `tree_id` the root of the tree that `in_tree`
    names, None for any tree. An exclusive one takes a provider for itself among others of the
    kind. `contested` holds the amounts of the classes of which one provider may have to serve
    several requests, `weight` the largest part of all that is asked of a class, and `alike` the
    number of the first request that asks for the same.
    """

    number: int
    group: RequestGroup
    amounts: Mapping[str, int]
    tree_id: int | None = None
    is_exclusive: bool = False
    contested: tuple[tuple[str, int], ...] = ()
    weight: float = 0.0
    alike: int = -1

    @property
    def is_suffixed(self) -> bool:
        """Return whether one provider has to satisfy the whole group."""
        return self.group.suffix != ''

    @property
    def sets(self) -> int:
        """How many sets of alternatives a profile is compared with."""
        return len(self.group.required) + len(self.group.member_of)

    def demand_on(self, profile: Profile) -> Demand | None:
        """The amounts by position in this profile, None where it cannot serve the request."""
        if not self.suits(profile, profile):
            return None
        return tuple([(profile.position[name], amount) for name, amount in self.amounts.items()])

    def suits(self, has: Profile, may_have: Profile) -> bool:
        """Return whether a provider suits with the classes and names of `has`, which lacks
        those that `may_have` lacks.

        Required traits and wanted aggregates of the unsuffixed group are not its own matter: all
        who serve the group bring the traits together, and the root may be the member.
        """
        parameters = GROUP_PARAMETERS if self.is_suffixed else OWN_PARAMETERS
        return self.amounts.keys() <= has.position.keys() and all(
            parameter.is_met(self.group, may_have if parameter.is_barred else has)
            for parameter in parameters
        )

    def is_within(self, aggregates: frozenset[str]) -> bool:
        """Return whether these aggregates hold one of each set the group wants."""
        return all(not wanted.isdisjoint(aggregates) for wanted in self.group.member_of)

    def is_barred_from(self, aggregates: frozenset[str]) -> bool:
        """Return whether the group must stay clear of one of these aggregates."""
        return not self.group.forbidden_aggregates.isdisjoint(aggregates)


def fits(demand: Demand, capacities: Sequence[Capacity], used: Sequence[int]) -> bool:
    """Return whether a provider with these capacities, of which so much is used, has the
    amounts."""
    for position, amount in demand:
        if capacities[position].refusal(amount, used[position]):
            return False
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """One request against one snapshot, as numbered provider requests and their constraints.

    `tree_ids` gives, for each `in_tree`, the id of the root of the tree, None where no provider
    has that uuid. `constraints` are the sets of provider requests that same_subtree holds
    together. `collected` are the traits that the providers of the unsuffixed group have to bring
    together. `totals` is all that is asked for, by class.
    """

    request: CandidateRequest
    provider_requests: Sequence[ProviderRequest]
    tree_ids: Mapping[str, int | None]
    constraints: Sequence[frozenset[int]]
    collected: Sequence[AnyOf]
    totals: Mapping[str, int]

    @classmethod
    def of(cls, snapshot: Snapshot, request: CandidateRequest) -> ResolvedRequest:
        """The request with its trees looked up in the snapshot."""
        in_trees = [group.in_tree for group in request.groups if group.in_tree is not None]
        tree_ids = {uuid: snapshot.find_root(uuid) for uuid in in_trees}
        totals = Counter[str]()
        for group in request.groups:
            totals.update(group.resources)
        requests = _provider_requests(request, tree_ids, totals)
        collected = next((group.required for group in request.groups if not group.is_suffixed), ())
        constraints = _constraints(request, requests)
        return cls(request, requests, tree_ids, constraints, collected, totals)

    @property
    def names_missing_tree(self) -> bool:
        """Return whether some `in_tree` names a provider that is not there, so that nothing can be
        found."""
        return None in self.tree_ids.values()

    @property
    def groups_decide(self) -> bool:
        """Return whether a tree that can serve each group can serve all of them together."""
        return not (
            self.constraints
            or self.request.single_provider_per_tree
            or sum(request.is_exclusive for request in self.provider_requests) > 1
            or any(request.contested for request in self.provider_requests)
        )

    @property
    def named_roots(self) -> set[int]:
        """The ids of the roots of trees that `in_tree` names."""
        return {root_id for root_id in self.tree_ids.values() if root_id is not None}


def _provider_requests(
    request: CandidateRequest, tree_ids: Mapping[str, int | None], totals: Mapping[str, int]
) -> list[ProviderRequest]:
    parts = [
        (group, amounts)
        for group in request.groups
        for amounts in ([group.resources] if group.is_suffixed else _single(group.resources))
    ]
    unsuffixed = {name for group in request.groups if not group.suffix for name in group.resources}
    askers = Counter(name for _, amounts in parts for name in amounts)
    # Exclusive ones never meet on a provider, so among them a class is not contested.
    contested = {
        name
        for name, count in askers.items()
        if count > 1 and not (request.isolate and name not in unsuffixed)
    }
    first: dict[object, int] = {}
    requests = []
    for number, (group, amounts) in enumerate(parts):
        tree_id = tree_ids.get(group.in_tree or '')
        requests.append(
            ProviderRequest(
                number,
                group,
                amounts,
                tree_id,
                is_exclusive=request.isolate and group.is_suffixed,
                contested=tuple([item for item in amounts.items() if item[0] in contested]),
                weight=max([n / totals[name] for name, n in amounts.items() if n], default=0),
                alike=first.setdefault(_likeness(group, amounts, tree_id), number),
            )
        )
    return requests


def _single(resources: Mapping[str, int]) -> list[Mapping[str, int]]:
    return [{name: amount} for name, amount in resources.items()]


def _likeness(
    group: RequestGroup, amounts: Mapping[str, int], tree_id: int | None
) -> tuple[object, ...]:
    """Equal for requests that the same providers can serve with the same amounts."""
    return (
        tuple(amounts.items()),
        group.is_suffixed,
        *[
            getattr(group, parameter.field)
            for parameter in GROUP_PARAMETERS
            if group.is_suffixed or not parameter.is_collected
        ],
        tree_id,
    )


def _constraints(
    request: CandidateRequest, requests: Sequence[ProviderRequest]
) -> list[frozenset[int]]:
    numbers = {request.group.suffix: request.number for request in requests}
    sets = (frozenset(numbers[suffix] for suffix in suffixes) for suffixes in request.same_subtree)
    return list(dict.fromkeys(members for members in sets if len(members) > 1))
