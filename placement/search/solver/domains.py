# SPDX-License-Identifier: Apache-2.0
"""The domain of each provider request: the slots of a structure that can serve it.

As far as profiles tell; amounts are compared tree by tree. Specification:
allocation_candidates, "What can satisfy one group".
"""

from collections import Counter
from typing import NamedTuple

from placement.search.solver.provider_request import Match, ProviderRequest, capacity_refusal
from placement.search.solver.slots import Slots
from placement.search.solver.tally import Reason

Refusals = Counter[Reason]


class DomainValue(NamedTuple):
    """A slot that can serve a provider request if there is enough of it."""

    slot: int
    match: Match


def members_for(
    request: ProviderRequest, slots: Slots, root_id: int, refusals: Refusals
) -> list[DomainValue]:
    """The members of the tree that can serve the request."""
    profiles = slots.structure.profiles
    if request.tree_id not in (None, root_id):
        refusals[Reason.TREE] += len(profiles)
        return []
    # The aggregates of the root span the tree, but not for groups that one provider serves alone.
    spanning = frozenset() if request.is_suffixed else profiles[0].aggregates
    if request.is_barred_from(spanning):
        refusals[Reason.AGGREGATE] += len(profiles)
        return []
    values = []
    for slot, profile in enumerate(profiles):
        verdict = request.verdict(profile)
        if isinstance(verdict, Reason):
            refusals[verdict] += 1
        elif verdict.is_member or request.is_within(spanning):
            values.append(DomainValue(slot, verdict))
        else:
            refusals[Reason.AGGREGATE] += 1
    return values


def sharing_for(request: ProviderRequest, slots: Slots, refusals: Refusals) -> list[DomainValue]:
    """The sharing providers of other trees that can serve the request, and have room for it."""
    root = slots.structure.profiles[0]
    if not request.is_suffixed and (
        request.tree_id is not None or request.is_barred_from(root.aggregates)
    ):
        return []
    values = []
    for number in range(len(slots.sharing)):
        verdict = _sharing_verdict(request, slots, number)
        if isinstance(verdict, Match):
            values.append(DomainValue(slots.size + number, verdict))
        else:
            refusals[verdict] += 1
    return values


def _sharing_verdict(request: ProviderRequest, slots: Slots, number: int) -> Match | Reason:
    provider = slots.sharing[number]
    verdict = request.verdict(provider.kind.profile)
    if isinstance(verdict, Reason):
        return verdict
    if refusal := capacity_refusal(verdict.needs, provider.kind.capacities):
        return Reason(refusal.value)
    if request.tree_id not in (None, provider.root_id):
        return Reason.TREE
    # The aggregates of an anchor do not span the sharing providers of other trees.
    if not verdict.is_member:
        return Reason.AGGREGATE
    used = slots.sharing_usage[number]
    fits = all(
        used[position] + amount <= provider.kind.capacities[position].ceiling
        for position, amount in verdict.needs
    )
    return verdict if fits else Reason.USED
