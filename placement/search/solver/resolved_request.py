# SPDX-License-Identifier: Apache-2.0
"""The groups of a request as demands, each to be served by one provider.

A suffixed group is one demand; the unsuffixed group is one demand for each class, since every
class is served entirely by one provider.  Two different ways of serving the demands are two
different candidates.  Specification: allocation_candidates, "What can satisfy one group",
"Combining groups".
"""

import collections
import random
from collections.abc import Sequence

from placement.search.model.provider import Kind
from placement.search.model.request import AnyOf, CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Shape
from placement.search.solver.filters import Demand
from placement.search.solver.layout import Layout
from placement.search.solver.tally import Tally


class Terms:
    """One search: a request against a snapshot, as numbered demands and what ties them together.

    `contested` holds, for each demand, its amounts of the classes of which one place may have to
    serve several demands.  `constraints` are the sets of demands that same_subtree holds together.
    `collected` are the traits that the providers of the unsuffixed group have to bring together.
    With `ignores_usage` nothing counts as used, to tell what could be found in an empty cloud.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        chance: random.Random,
        ignores_usage: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self.request = request
        self.chance = chance
        self.ignores_usage = ignores_usage
        self.tally = Tally()
        self.trees = {
            group.in_tree: _tree_id(snapshot, group.in_tree)
            for group in request.groups
            if group.in_tree is not None
        }
        self.demands = [demand for group in request.groups for demand in self._demands_of(group)]
        self.exclusive = [request.isolate and demand.is_suffixed for demand in self.demands]
        contended = self._contended()
        self.contested = [
            tuple([item for item in demand.amounts.items() if item[0] in contended])
            for demand in self.demands
        ]
        self.constraints = self._constraints()
        self.collected: Sequence[AnyOf] = next(
            (group.required for group in request.groups if not group.is_suffixed), ()
        )
        self._layouts: dict[tuple[int, ...], Layout] = {}
        # Each set of aggregates that only members of a tree can be in, with the group it is for.
        self._aggregates = list(
            dict.fromkeys(
                (demand.group.suffix, wanted)
                for demand in self.demands
                for wanted in demand.group.member_of
                if not snapshot.has_sharing_in(wanted)
            )
        )

    def lacks_aggregate(self, shape: Shape) -> str | None:
        """The suffix of a group that no tree of this shape can serve, nor any sharing provider,
        since none of them is in the aggregates it wants; None if there is no such group."""
        for suffix, wanted in self._aggregates:
            if wanted.isdisjoint(shape.aggregates):
                return suffix
        return None

    def _demands_of(self, group: RequestGroup) -> list[Demand]:
        tree_id = None if group.in_tree is None else self.trees[group.in_tree]
        if group.is_suffixed:
            return [Demand(group, group.resources, tree_id)]
        return [Demand(group, {name: group.resources[name]}, tree_id) for name in group.resources]

    def _contended(self) -> set[str]:
        # Exclusive demands never meet on a place, so among them a class is not contended.
        askers: collections.Counter[str] = collections.Counter()
        for demand, exclusive in zip(self.demands, self.exclusive, strict=True):
            askers.update(dict.fromkeys(demand.amounts, 1 if exclusive else len(self.demands)))
        return {name for name, count in askers.items() if count > len(self.demands)}

    def _constraints(self) -> list[frozenset[int]]:
        numbers = {demand.group.suffix: number for number, demand in enumerate(self.demands)}
        sets = (
            frozenset(numbers[suffix] for suffix in suffixes)
            for suffixes in self.request.same_subtree
        )
        return list(dict.fromkeys(demands for demands in sets if len(demands) > 1))

    @property
    def are_independent(self) -> bool:
        """Whether what serves one demand has no bearing on what may serve another."""
        return not (
            sum(self.exclusive) > 1
            or any(self.contested)
            or self.constraints
            or self.collected
            or self.request.single_provider_per_tree
        )

    @property
    def names_missing_tree(self) -> bool:
        """Whether some `in_tree` names a provider that is not there: nothing can be found then."""
        return None in self.trees.values()

    @property
    def only_roots(self) -> set[int] | None:
        """The roots that `in_tree` leaves as anchors, None for any.

        The unsuffixed group uses no sharing providers of other trees.  A suffixed one does: the
        tree it names confines the anchor only when nobody shares anything there.
        """
        confining = [
            {demand.tree_id}
            for demand in self.demands
            if demand.tree_id is not None
            and not (demand.is_suffixed and self.snapshot.tree(demand.tree_id).shape.has_sharing)
        ]
        return set.intersection(*confining) if confining else None

    def forget_verdicts(self) -> None:
        """Let go of what is known of kinds of providers; it can be found out again."""
        for demand in self.demands:
            demand.forget_verdicts()

    def layout(self, serving: tuple[int, ...]) -> Layout:
        """The layout in which the demands are served by these numbers."""
        layout = self._layouts.get(serving)
        if layout is None:
            layout = self._layouts[serving] = Layout(self.demands, serving)
        return layout

    def brought_by(self, kind: Kind) -> int:
        """Which of the collected traits a provider of this kind brings, as bits."""
        return sum(
            1 << bit
            for bit, alternatives in enumerate(self.collected)
            if not alternatives.isdisjoint(kind.traits)
        )


def _tree_id(snapshot: Snapshot, uuid: str) -> int | None:
    provider = snapshot.find_by_uuid(uuid)
    return None if provider is None else provider.root_id
