# SPDX-License-Identifier: Apache-2.0
"""The groups of a request as demands, each to be served by one provider.

A suffixed group is one demand; the unsuffixed group is one demand for each class, since every
class is served entirely by one provider.  Two different ways of serving the demands are two
different candidates. Contract: allocation_candidates.md 5 and 6.
"""

import collections
from collections.abc import Mapping, Sequence

from placement.search.filters import Demand
from placement.search.provider import Kind
from placement.search.request import AnyOf, CandidateRequest, RequestGroup
from placement.search.snapshot import Snapshot
from placement.search.tree import Tree

NOTHING: Mapping[int, int] = {}


class Terms:
    """A request as the search works with it: numbered demands and what ties them together.

    `contended` are the classes of which one place may have to serve several demands; `constraints`
    are the sets of demands that same_subtree holds together.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest) -> None:
        self.request = request
        self.snapshot = snapshot
        self.trees = {
            group.in_tree: _tree_id(snapshot, group.in_tree)
            for group in request.groups
            if group.in_tree is not None
        }
        self.demands = [
            demand for group in request.groups for demand in self._demands_of(group)
        ]
        self.exclusive = [request.isolate and demand.is_suffixed for demand in self.demands]
        self.contended = self._contended()
        self.constraints = self._constraints()
        self.contested = [
            tuple([item for item in demand.amounts.items() if item[0] in self.contended])
            for demand in self.demands
        ]
        # The traits that the providers of the unsuffixed group have to bring together.
        self.collected: Sequence[AnyOf] = next(
            (group.required for group in request.groups if not group.is_suffixed), ()
        )

    def _demands_of(self, group: RequestGroup) -> list[Demand]:
        tree_id = None if group.in_tree is None else self.trees[group.in_tree]
        if group.is_suffixed:
            return [Demand(group, group.resources, tree_id)]
        return [Demand(group, {name: group.resources[name]}, tree_id) for name in group.resources]

    def _contended(self) -> frozenset[str]:
        # Exclusive demands never meet on a place, so among them a class is not contended.
        askers: collections.Counter[str] = collections.Counter()
        for demand, exclusive in zip(self.demands, self.exclusive, strict=True):
            askers.update(dict.fromkeys(demand.amounts, 1 if exclusive else len(self.demands)))
        return frozenset(name for name, count in askers.items() if count > len(self.demands))

    def _constraints(self) -> list[frozenset[int]]:
        numbers = {demand.group.suffix: number for number, demand in enumerate(self.demands)}
        sets = (
            frozenset(numbers[suffix] for suffix in suffixes)
            for suffixes in self.request.same_subtree
        )
        return list(dict.fromkeys(demands for demands in sets if len(demands) > 1))

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
            if demand.tree_id is not None and not self._may_be_shared(demand)
        ]
        return set.intersection(*confining) if confining else None

    def _may_be_shared(self, demand: Demand) -> bool:
        tree: Tree = self.snapshot.tree(demand.tree_id)  # type: ignore[arg-type]
        return demand.is_suffixed and tree.shape.has_sharing

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
