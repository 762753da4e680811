# SPDX-License-Identifier: Apache-2.0
"""Where the demands of a request may be served: the places of one shape of tree.

Places are numbered: first the members of the tree, then the outsiders, which are the sharing
providers of other trees that have this one as an anchor.  Specification: allocation_candidates,
"Terms of the search".
"""

from collections.abc import Sequence

from placement.search.model.provider import Kind, Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree, Uses


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

    def parents(self) -> list[int]:
        """The place above each place, or -1: for outsiders, the nearest outsider above."""
        places = {one.id: self.size + number for number, one in enumerate(self.outsiders)}
        return [*self.shape.parents, *[self._above(one, places) for one in self.outsiders]]

    def _above(self, outsider: Provider, places: dict[int, int]) -> int:
        tree = self.snapshot.tree(outsider.root_id)
        position = tree.members.index(outsider)
        # No further than there are members, in case the rows hold a circle.
        for _ in tree.members:
            position = tree.shape.parents[position]
            if position < 0:
                break
            if tree.members[position].id in places:
                return places[tree.members[position].id]
        return -1
