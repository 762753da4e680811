# SPDX-License-Identifier: Apache-2.0
"""The slots of a tree: every provider that can be used with the tree as anchor, numbered.

First the members of the tree, then the sharing providers of other trees that share with it.
Specification:
allocation_candidates, "Terms of the search".
"""

import functools
from collections.abc import Sequence

from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree, lineages_of


def sharing_with(snapshot: Snapshot, tree: Tree) -> list[Provider]:
    """The sharing providers of other trees that have this one as an anchor, by id."""
    return [
        provider
        for provider in snapshot.sharing_with(tree.shape.structure.aggregates)
        if provider.root_id != tree.root_id
    ]


class Slots:
    """The slots of trees of one structure.

    `size` is the number of members; from there on slots are of `sharing`, the sharing providers of
    other trees. Who these are does not depend on the tree, nor does what they use:
    `sharing_usage`, which is nothing where usage is to be ignored.
    """

    # No __slots__: cached properties are kept in the dictionary, and there is one for each plan.
    def __init__(
        self,
        snapshot: Snapshot,
        structure: Structure,
        sharing: Sequence[Provider],
        ignores_usage: bool,
    ) -> None:
        self.snapshot = snapshot
        self.structure = structure
        self.size = len(structure.profiles)
        self.sharing = sharing
        self.sharing_usage = [
            (0,) * len(provider.used) if ignores_usage else provider.used for provider in sharing
        ]
        self.profiles: Sequence[Profile] = (
            *structure.profiles,
            *[provider.kind.profile for provider in sharing],
        )

    def sharing_room(self, slot: int, resource_class: str) -> int:
        """How much of a class one candidate may take from a sharing provider of another tree."""
        provider = self.sharing[slot - self.size]
        position = provider.kind.profile.position[resource_class]
        used = self.sharing_usage[slot - self.size][position]
        return provider.kind.capacities[position].room(used)

    def trees(self) -> list[int]:
        """The tree of each slot, as a number."""
        # Any number that is no id will do for the tree itself.
        return [-1] * self.size + [provider.root_id for provider in self.sharing]

    @functools.cached_property
    def parents(self) -> Sequence[int]:
        """The slot of each slot's parent, or -1: for sharing providers of other trees, of the
        nearest ancestor that has a slot."""
        if not self.sharing:
            return self.structure.parents
        slots = {one.id: self.size + number for number, one in enumerate(self.sharing)}
        return [
            *self.structure.parents,
            *[self._nearest_ancestor(one, slots) for one in self.sharing],
        ]

    @functools.cached_property
    def lineages(self) -> list[frozenset[int]]:
        """For each slot, the slots that are itself or an ancestor."""
        return lineages_of(self.parents) if self.sharing else self.structure.lineages

    def _nearest_ancestor(self, provider: Provider, slots: dict[int, int]) -> int:
        tree = self.snapshot.tree(provider.root_id)
        position = tree.members.index(provider)
        # No further than there are members, in case the rows hold a circle.
        for _ in tree.members:
            position = tree.shape.structure.parents[position]
            if position < 0:
                break
            if tree.members[position].id in slots:
                return slots[tree.members[position].id]
        return -1
