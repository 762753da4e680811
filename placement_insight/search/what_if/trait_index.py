# SPDX-License-Identifier: Apache-2.0
"""Index of the trees of a snapshot by the traits of their members, for rare traits."""

from array import array
from collections import defaultdict

from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Structure, Tree
from placement_insight.search.sliced_work import SlicedWork

# If more than this part of the trees has the traits, the index is of no use.
FEW = 1 / 8

# Number of structures that are compared with the traits of a request in one step.
STRUCTURES_PER_STEP = 8


class TraitIndex:
    """Finds the few trees that may have all required traits of a request.

    Trees of one structure have the same traits. Those of sharing providers may serve any tree, so
    they are ignored.
    """

    def __init__(self, snapshot: Snapshot, work: SlicedWork) -> None:
        self._work = work
        self._trees: dict[Structure, list[Tree]] = defaultdict(list)
        for block in snapshot.blocks.values():
            for tree in block.trees.values():
                self._trees[tree.shape.structure].append(tree)
            work.count(len(block.trees))
        self._structures = list(self._trees)
        # The numbers of the structures with each trait.
        self._having: dict[str, array[int]] = {}
        for number, structure in enumerate(self._structures):
            traits = _traits_of(structure)
            for name in traits:
                self._having.setdefault(name, array('L')).append(number)
            work.count(1 + len(traits) // STRUCTURES_PER_STEP)
        self._shared = frozenset[str]().union(
            *[provider.traits for provider in snapshot.sharing_providers]
        )
        self._most = FEW * sum(map(len, self._trees.values()))

    def few_for(self, request: CandidateRequest) -> list[Tree] | None:
        """Return the trees with the required traits, in the order of the snapshot.

        None if these are more than few.
        """
        wanted = {name for group in request.groups for names in group.required
                  if len(names) == 1 for name in names}  # fmt: skip
        wanted = (wanted | request.root_required) - self._shared
        if not wanted:
            return None
        rarest = min([self._having.get(name, ()) for name in sorted(wanted)], key=len)
        self._work.count(1 + len(rarest) // STRUCTURES_PER_STEP)
        suited = [s for s in map(self._structures.__getitem__, rarest) if wanted <= _traits_of(s)]
        if sum(len(self._trees[structure]) for structure in suited) > self._most:
            return None
        trees = [tree for structure in suited for tree in self._trees[structure]]
        return sorted(trees, key=lambda tree: tree.root_id)


def _traits_of(structure: Structure) -> frozenset[str]:
    if len(structure.profiles) == 1:
        return structure.profiles[0].traits
    return frozenset[str]().union(*[profile.traits for profile in structure.profiles])
