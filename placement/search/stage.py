# SPDX-License-Identifier: Apache-2.0
"""Where the demands of a request may be served: the places of one shape of tree.

Places are numbered: first the members of the tree, then the outsiders, which are the sharing
providers of other trees that have this one as an anchor.  Contract: allocation_candidates.md 4.
"""

from collections.abc import Sequence

from placement.search.provider import Kind, Provider
from placement.search.snapshot import Snapshot
from placement.search.tree import Tree, Uses


class Stage:
    """The places of trees of one shape.

    Who the outsiders are does not depend on the tree, nor does what they use: `outside_uses`,
    which is nothing where usage is to be ignored.
    """

    __slots__ = ('kinds', 'outside_uses', 'outsiders', 'shape', 'size', 'snapshot')

    def __init__(self, snapshot: Snapshot, tree: Tree, ignores_usage: bool) -> None:
        self.snapshot = snapshot
        self.shape = tree.shape
        self.size = len(tree.shape.kinds)
        self.outsiders = [
            provider
            for provider in snapshot.sharing_with(tree.shape.aggregates)
            if provider.root_id != tree.root_id
        ]
        self.outside_uses = [
            (0,) * len(provider.used) if ignores_usage else provider.used
            for provider in self.outsiders
        ]
        self.kinds: Sequence[Kind] = (
            *tree.shape.kinds,
            *[provider.kind for provider in self.outsiders],
        )

    def outsider(self, place: int) -> Provider | None:
        """The provider at a place, if it is the same for every tree."""
        return None if place < self.size else self.outsiders[place - self.size]

    def room(self, place: int, resource_class: str, uses: Uses | None) -> int:
        """How much of a class a candidate may take there, where members use this much, or
        nothing."""
        kind = self.kinds[place]
        position = kind.position[resource_class]
        used = 0
        if place >= self.size:
            used = self.outside_uses[place - self.size][position]
        elif uses:
            used = uses[place][position]
        return kind.capacities[position].room(used)

    def homes(self) -> list[int]:
        """The tree of each place, as a number."""
        # Any number that is no id will do for the tree itself.
        return [-1] * self.size + [outsider.root_id for outsider in self.outsiders]

    def lineage(self, place: int) -> frozenset[int]:
        """The places that are this one or an ancestor of it."""
        outsider = self.outsider(place)
        if outsider is None:
            return self.shape.lineages[place]
        tree = self.snapshot.tree(outsider.root_id)
        above = tree.shape.lineages[tree.members.index(outsider)]
        ids = {tree.members[position].id for position in above}
        return frozenset(
            number for number, other in enumerate(self.outsiders, self.size) if other.id in ids
        )
