# SPDX-License-Identifier: Apache-2.0
"""Which places of a tree can serve one demand, as far as can be told without what is used.

Specification: allocation_candidates, "What can satisfy one group".
"""

from collections import Counter
from typing import NamedTuple

from placement.search.solver.filters import Demand, Offer
from placement.search.solver.slots import Stage
from placement.search.solver.tally import Reason

Refusals = Counter[tuple[str, Reason]]


class Option(NamedTuple):
    """A place that can serve a demand, unless too much of it is used."""

    place: int
    offer: Offer


def members_for(demand: Demand, stage: Stage, root_id: int, refusals: Refusals) -> list[Option]:
    """The members of the tree that can serve the demand."""
    kinds, suffix = stage.shape.kinds, demand.group.suffix
    if demand.tree_id not in (None, root_id):
        refusals[suffix, Reason.TREE] += len(kinds)
        return []
    # The aggregates of the root span the tree, but not for groups that one provider serves alone.
    spanning = frozenset() if demand.is_suffixed else kinds[0].aggregates
    if demand.is_barred_from(spanning):
        refusals[suffix, Reason.AGGREGATE] += len(kinds)
        return []
    options = []
    for place, kind in enumerate(kinds):
        verdict = demand.verdict(kind)
        if isinstance(verdict, Reason):
            refusals[suffix, verdict] += 1
        elif verdict.is_member or demand.is_within(spanning):
            options.append(Option(place, verdict))
        else:
            refusals[suffix, Reason.AGGREGATE] += 1
    return options


def outsiders_for(demand: Demand, stage: Stage, refusals: Refusals) -> list[Option]:
    """The sharing providers of other trees that can serve the demand, and have room for it."""
    if not stage.outsiders:
        return []
    root = stage.shape.kinds[0]
    if not demand.is_suffixed and (
        demand.tree_id is not None or demand.is_barred_from(root.aggregates)
    ):
        return []
    options = []
    for number in range(len(stage.outsiders)):
        verdict = _outsider_verdict(demand, stage, number)
        if isinstance(verdict, Offer):
            options.append(Option(stage.size + number, verdict))
        else:
            refusals[demand.group.suffix, verdict] += 1
    return options


def _outsider_verdict(demand: Demand, stage: Stage, number: int) -> Offer | Reason:
    provider = stage.outsiders[number]
    verdict = demand.verdict(provider.kind)
    if isinstance(verdict, Reason):
        return verdict
    if demand.tree_id not in (None, provider.root_id):
        return Reason.TREE
    # The aggregates of an anchor do not span the sharing providers of other trees.
    if not verdict.is_member:
        return Reason.AGGREGATE
    return verdict if verdict.fits(stage.outside_uses[number]) else Reason.USED
