# SPDX-License-Identifier: Apache-2.0
"""A request with its names looked up, divided into what single providers are asked for.

A suffixed group is one provider request; the unsuffixed group is one for each class, since every
class is served entirely by one provider. Two different ways of serving the provider requests are
two different candidates. Specification:
allocation_candidates, "What can satisfy one group", "Combining groups".
"""

import dataclasses
from collections.abc import Container, Mapping, Sequence

from placement.search.model.request import AnyOf, CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.search.solver.provider_request import ProviderRequest
from placement.search.solver.work import Work


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedRequest:
    """One request against one snapshot, as numbered provider requests and what ties them together.

    By the number of the provider request: `exclusive` tells whether it takes a provider for
    itself among others of the kind, `contested` holds its amounts of the classes of which one
    provider may have to serve several, `weights` how large it is beside the others, and
    `alike` the number of the first one that asks for the same.

    `constraints` are the sets of provider requests that same_subtree holds together. `collected`
    are the traits that the providers of the unsuffixed group have to bring together. `totals` is
    all that is asked for, by class. `tree_ids` gives, for each `in_tree`, the id of the root of
    the tree, None where no provider has that uuid.
    """

    request: CandidateRequest
    provider_requests: Sequence[ProviderRequest]
    tree_ids: Mapping[str, int | None]
    exclusive: Sequence[bool]
    contested: Sequence[tuple[tuple[str, int], ...]]
    weights: Sequence[float]
    alike: Sequence[int]
    constraints: Sequence[frozenset[int]]
    collected: Sequence[AnyOf]
    totals: Mapping[str, int]

    @classmethod
    def of(
        cls, snapshot: Snapshot, request: CandidateRequest, work: Work | None = None
    ) -> 'ResolvedRequest':
        """The request with its trees looked up in the snapshot.

        `work` counts the profiles that its provider requests are compared with.
        """
        tree_ids = _tree_ids(snapshot, request)
        requests = _provider_requests(request, tree_ids, work or Work())
        exclusive = [request.isolate and one.is_suffixed for one in requests]
        contended = _contended(requests, exclusive)
        totals: dict[str, int] = {}
        for one in requests:
            for name, amount in one.amounts.items():
                totals[name] = totals.get(name, 0) + amount
        return cls(
            request,
            requests,
            tree_ids,
            exclusive,
            [_only(contended, one.amounts) for one in requests],
            [_weight(one, totals) for one in requests],
            _alike(requests),
            _constraints(request, requests),
            next((group.required for group in request.groups if not group.is_suffixed), ()),
            totals,
        )  # fmt: skip

    @property
    def names_missing_tree(self) -> bool:
        """Whether some `in_tree` names a provider that is not there: nothing can be found then."""
        return None in self.tree_ids.values()

    @property
    def distinct_requests(self) -> list[ProviderRequest]:
        """The provider requests without those that ask for the same as one before."""
        return [
            one
            for one, alike in zip(self.provider_requests, self.alike, strict=True)
            if one.number == alike
        ]

    @property
    def named_roots(self) -> set[int]:
        """The ids of the roots of trees that `in_tree` names."""
        return {root_id for root_id in self.tree_ids.values() if root_id is not None}


def _tree_ids(snapshot: Snapshot, request: CandidateRequest) -> dict[str, int | None]:
    tree_ids: dict[str, int | None] = {}
    for group in request.groups:
        if group.in_tree is not None:
            provider = snapshot.find_by_uuid(group.in_tree)
            tree_ids[group.in_tree] = None if provider is None else provider.root_id
    return tree_ids


def _provider_requests(
    request: CandidateRequest, tree_ids: Mapping[str, int | None], work: Work
) -> list[ProviderRequest]:
    requests: list[ProviderRequest] = []
    for group in request.groups:
        tree_id = None if group.in_tree is None else tree_ids[group.in_tree]
        for amounts in _amounts_by_provider(group):
            requests.append(ProviderRequest(len(requests), group, amounts, tree_id, work))
    return requests


def _amounts_by_provider(group: RequestGroup) -> list[Mapping[str, int]]:
    if group.is_suffixed:
        return [group.resources]
    return [{name: amount} for name, amount in group.resources.items()]


def _contended(requests: Sequence[ProviderRequest], exclusive: Sequence[bool]) -> set[str]:
    """The classes that several provider requests may want of one provider."""
    # Exclusive ones never meet on a provider, so among them a class is not contended.
    askers: dict[str, list[bool]] = {}
    for one, is_exclusive in zip(requests, exclusive, strict=True):
        for name in one.amounts:
            askers.setdefault(name, []).append(is_exclusive)
    return {name for name, those in askers.items() if len(those) > 1 and not all(those)}


def _only(names: Container[str], amounts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple([item for item in amounts.items() if item[0] in names])


def _weight(request: ProviderRequest, totals: Mapping[str, int]) -> float:
    """The largest part of all that is asked of some class that this one asks for."""
    parts = [amount / totals[name] for name, amount in request.amounts.items() if amount]
    return max(parts, default=0.0)


def _alike(requests: Sequence[ProviderRequest]) -> list[int]:
    first: dict[object, int] = {}
    return [first.setdefault(one.likeness, one.number) for one in requests]


def _constraints(
    request: CandidateRequest, requests: Sequence[ProviderRequest]
) -> list[frozenset[int]]:
    numbers = {one.group.suffix: one.number for one in requests}
    sets = (frozenset(numbers[suffix] for suffix in suffixes) for suffixes in request.same_subtree)
    return list(dict.fromkeys(members for members in sets if len(members) > 1))
