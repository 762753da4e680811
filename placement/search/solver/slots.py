# SPDX-License-Identifier: Apache-2.0
"""The slots of a tree: every provider that can be used with the tree as anchor, numbered.

First the members of the tree, then the sharing providers of other trees that share with it.
Specification:
allocation_candidates, "Terms of the search".
"""

import functools
from collections.abc import Iterator, Mapping, Sequence

from placement.search.model.ancestry import Ancestry
from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree


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
        positions: dict[int, dict[int, int]] = {}
        for number, one in enumerate(self.sharing):
            position = self.snapshot.tree(one.root_id).position(one.id)
            positions.setdefault(one.root_id, {})[position] = self.size + number
        parents = [-1] * len(self.sharing)
        for root_id, of_tree in positions.items():
            structure = self.snapshot.tree(root_id).shape.structure
            for slot, parent in _parents_among(of_tree, structure):
                parents[slot - self.size] = parent
        return [*self.structure.parents, *parents]

    @functools.cached_property
    def ancestry(self) -> Ancestry:
        """Which slots are above which others."""
        return Ancestry(self.parents) if self.sharing else self.structure.ancestry


def _parents_among(slots: Mapping[int, int], structure: Structure) -> Iterator[tuple[int, int]]:
    """Each of these slots of a tree, by position, with the nearest of them above it, or -1."""
    nearest = [-1] * len(structure.parents)
    for position in reversed(structure.ancestry.upwards):
        parent = structure.parents[position]
        above = -1 if parent < 0 else slots.get(parent, nearest[parent])
        nearest[position] = above
        if position in slots:
            yield slots[position], above
