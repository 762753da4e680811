# SPDX-License-Identifier: Apache-2.0
"""A request with its names looked up, divided into requests of single providers.

A suffixed group is one provider request. The unsuffixed group is one for each class, since one
provider serves all of a class. Each distinct way to serve the provider requests is a candidate.

Traits, classes and aggregates belong to the profile, so they are compared once for all providers
of a profile (`role`). Amounts are compared provider by provider. Specification:
allocation_candidates, "What can satisfy one group", "Combining groups".
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement.search.model.capacity import Capacity
from placement.search.model.request import GROUP_PARAMETERS, CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.search.solver.role import RequestBits

# The parameters in which provider requests of different groups can differ.
_FIELDS = operator.attrgetter(*[one.field for one in GROUP_PARAMETERS])
_NOT_COLLECTED = operator.attrgetter(
    *[one.field for one in GROUP_PARAMETERS if not one.is_collected]
)

# The amount of each class, by the position of the class in a profile.
Demand = Sequence[tuple[int, int]]


class ProviderRequest(NamedTuple):
    """The request of one provider: a whole suffixed group, or one class of the unsuffixed one."""

    # Number among the provider requests of the search.
    number: int
    group: RequestGroup
    amounts: Mapping[str, int]
    # Root of the tree that `in_tree` names; None for any tree.
    tree_id: int | None = None
    # No two exclusive requests use the same provider.
    is_exclusive: bool = False
    # The amounts of the classes that one provider may have to serve to several requests.
    contested: tuple[tuple[str, int], ...] = ()
    # The largest share of an amount in the total of its class.
    weight: float = 0.0
    # The number of the first equal request.
    alike: int = -1
    # Conditions as bits: those that the provider has to meet by itself, the wanted and the barred
    # names for which the root of its tree counts as well, and the condition on the tree.
    own: int = 0
    wanted: int = 0
    barred: int = 0
    in_tree: int = 0

    @property
    def is_suffixed(self) -> bool:
        """True if one provider has to satisfy the whole group."""
        return self.group.suffix != ''

    def failures(
        self, failed: int, failed_by_root: int, root_id: int, is_member: bool
    ) -> Sequence[int]:
        """The conditions, as bits, that a provider fails in each way to serve the request.

        `failed` are the conditions that its role fails, `failed_by_root` those that the root of
        the served tree fails, and `root_id` is the root of its own tree. An aggregate of the root
        counts for all members of the tree, but not for suffixed groups, nor for sharing providers
        of other trees. These cannot serve an unsuffixed group with `in_tree` either.
        """
        fixed = failed & self.own | failed_by_root & self.barred
        if root_id != self.tree_id or not (is_member or self.is_suffixed):
            fixed |= self.in_tree
        if is_member and self.wanted:
            return (fixed | failed & self.wanted, fixed | failed_by_root & self.wanted)
        return (fixed | failed & self.wanted,)


def fits(demand: Demand, capacities: Sequence[Capacity], used: Sequence[int]) -> bool:
    """True if a provider with these capacities and usage has room for the amounts."""
    for position, amount in demand:
        if capacities[position].refusal(amount, used[position]):
            return False
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """One request against one snapshot, as numbered provider requests and their constraints."""

    request: CandidateRequest
    provider_requests: Sequence[ProviderRequest]
    # The root of the tree for each `in_tree`; None if no provider has that uuid.
    tree_ids: Mapping[str, int | None]
    # Sets of provider requests, by number, that same_subtree holds together.
    constraints: Sequence[frozenset[int]]
    bits: RequestBits
    # Of these, the traits that the providers of the unsuffixed group may have between them.
    collected: int
    # The total amount by class.
    totals: Mapping[str, int]

    @classmethod
    def of(cls, snapshot: Snapshot, request: CandidateRequest) -> ResolvedRequest:
        """The request with its trees looked up in the snapshot."""
        in_trees = [group.in_tree for group in request.groups if group.in_tree is not None]
        tree_ids = {uuid: snapshot.find_root(uuid) for uuid in in_trees}
        totals, bits = request.totals, RequestBits(request)
        requests = _provider_requests(request, tree_ids, totals, bits)
        collected = bits.groups[''].collected if '' in bits.groups else 0
        constraints = _constraints(request, requests)
        return cls(request, requests, tree_ids, constraints, bits, collected, totals)

    @property
    def names_missing_tree(self) -> bool:
        """True if some `in_tree` names a missing provider, so that there are no candidates."""
        return None in self.tree_ids.values()

    @property
    def groups_decide(self) -> bool:
        """True if a tree that can serve each group can serve all of them together."""
        return not (
            self.constraints
            or self.request.single_provider_per_tree
            or sum(request.is_exclusive for request in self.provider_requests) > 1
            or any(request.contested for request in self.provider_requests)
        )

    @property
    def named_roots(self) -> set[int]:
        """The roots of the trees that `in_tree` names."""
        return {root_id for root_id in self.tree_ids.values() if root_id is not None}


def _provider_requests(
    request: CandidateRequest,
    tree_ids: Mapping[str, int | None],
    totals: Mapping[str, int],
    bits: RequestBits,
) -> list[ProviderRequest]:
    parts = [
        (group, amounts)
        for group in request.groups
        for amounts in ([group.resources] if group.is_suffixed else _single(group.resources))
    ]
    unsuffixed = {name for group in request.groups if not group.suffix for name in group.resources}
    askers = Counter(name for _, amounts in parts for name in amounts)
    # Exclusive requests never share a provider, so they do not contest a class among each other.
    contested = {
        name
        for name, count in askers.items()
        if count > 1 and not (request.isolate and name not in unsuffixed)
    }
    first: dict[object, int] = {}
    requests = []
    for number, (group, amounts) in enumerate(parts):
        tree_id, of_group = tree_ids.get(group.in_tree or ''), bits.groups[group.suffix]
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
                own=of_group.own | sum([of_group.present[name] for name in amounts]),
                wanted=of_group.wanted,
                barred=of_group.barred,
                in_tree=of_group.tree,
            )
        )
    return requests


def _single(resources: Mapping[str, int]) -> list[Mapping[str, int]]:
    return [{name: amount} for name, amount in resources.items()]


def _likeness(
    group: RequestGroup, amounts: Mapping[str, int], tree_id: int | None
) -> tuple[object, ...]:
    """Key of the requests that the same providers can serve with the same amounts."""
    fields = _FIELDS if group.is_suffixed else _NOT_COLLECTED
    return tuple(amounts.items()), group.is_suffixed, fields(group), tree_id


def _constraints(
    request: CandidateRequest, requests: Sequence[ProviderRequest]
) -> list[frozenset[int]]:
    numbers = {request.group.suffix: request.number for request in requests}
    sets = (frozenset(numbers[suffix] for suffix in suffixes) for suffixes in request.same_subtree)
    return list(dict.fromkeys(members for members in sets if len(members) > 1))
