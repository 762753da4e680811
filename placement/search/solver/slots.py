# SPDX-License-Identifier: Apache-2.0
"""The slots of a tree, and which of them can serve a provider request.

Every provider that can be used with the tree as anchor has a slot: first the members of the tree,
then the sharing providers of other trees that share with it. The domain of a provider request
consists of the slots whose profile can serve it; amounts are compared tree by tree.
Specification:
allocation_candidates, "Terms of the search", "What can satisfy one group".
"""

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence

from placement.search.model.kind import ProviderKind
from placement.search.model.provider import Provider
from placement.search.model.tree import Ancestry, Structure, Tree, UsedAmounts
from placement.search.solver.resolved_request import Demand, ProviderRequest, fits
from placement.search.solver.search import Answer, Search

# The provider in each slot of a tree, its kind, and its usage.
Occupants = tuple[Sequence[Provider], Sequence[ProviderKind], UsedAmounts]

# Slots that can serve a provider request, each with the amounts by position.
Domain = Mapping[int, Demand]


class Slots:
    """The slots of trees that have the same structure and the same sharing providers.

    `profiles`, `trees`, `parents` and `ancestry` describe each slot. The tree is -1 for members,
    the id of the root for others. The parent of a sharing provider is its nearest ancestor with a
    slot. `structure` is that of the members.
    """

    # No __slots__: cached properties are kept in the dictionary, and there is one for each plan.
    def __init__(self, search: Search, structure: Structure, sharing: Sequence[Provider]) -> None:
        self._search = search
        self.structure = structure
        self._size = len(structure.profiles)
        self._sharing = tuple(sharing)
        self._sharing_kinds = tuple([provider.kind for provider in sharing])
        self._sharing_usage: UsedAmounts = tuple(map(search.used_of, sharing))
        self.profiles = structure.profiles + tuple([kind.profile for kind in self._sharing_kinds])
        self.trees = [-1] * self._size + [provider.root_id for provider in sharing]

    @property
    def has_sharing(self) -> bool:
        """True if providers of other trees have slots."""
        return bool(self._sharing)

    def occupants(self, tree: Tree) -> Occupants:
        """The occupants of the slots of a tree."""
        usage = self._search.usage_of(tree)
        if not self._sharing:
            return tree.members, tree.shape.kinds, usage
        return (
            tree.members + self._sharing,
            tree.shape.kinds + self._sharing_kinds,
            usage + self._sharing_usage,
        )

    def room(self, slot: int, resource_class: str, occupants: Occupants | None) -> int:
        """Maximum amount of a class that one candidate may take from a slot.

        Without occupants, the room of members is unlimited.
        """
        position = self.profiles[slot].position[resource_class]
        if occupants is not None:
            _, kinds, usage = occupants
        elif slot < self._size:
            return sys.maxsize
        else:
            slot, kinds, usage = slot - self._size, self._sharing_kinds, self._sharing_usage
        return kinds[slot].capacities[position].room(usage[slot][position])

    def domains(self, root_id: int) -> list[Domain]:
        """For each distinct provider request, its domain in the tree with this root."""
        search = self._search
        answers = [search.answer(profile) for profile in self.profiles]
        search.work.spent += len(answers) * len(search.distinct)
        failed_by_root = search.failed_as_root(self.profiles[0])
        return [
            dict(self._domain(request, number, answers, failed_by_root, root_id))
            for number, request in enumerate(search.distinct)
        ]

    def _domain(
        self,
        request: ProviderRequest,
        number: int,
        answers: Sequence[Answer],
        failed_by_root: int,
        root_id: int,
    ) -> Iterator[tuple[int, Demand]]:
        for slot, answer in enumerate(answers):
            demand = answer.demands[number]
            if demand is None:
                continue
            is_member = slot < self._size
            own_root = root_id if is_member else self.trees[slot]
            failures = request.failures(answer.failed, failed_by_root, own_root, is_member)
            if 0 in failures and (is_member or self._has_room(slot - self._size, demand)):
                yield slot, demand

    def _has_room(self, number: int, demand: Demand) -> bool:
        """True if a sharing provider has room for a request."""
        capacities = self._sharing_kinds[number].capacities
        return fits(demand, capacities, self._sharing_usage[number])

    @functools.cached_property
    def parents(self) -> Sequence[int]:
        """The slot of each slot's parent, or -1."""
        if not self._sharing:
            return self.structure.parents
        snapshot, size = self._search.snapshot, self._size
        positions: dict[int, dict[int, int]] = {}
        for slot, provider in enumerate(self._sharing, size):
            position = snapshot.tree(provider.root_id).position(provider.id)
            positions.setdefault(provider.root_id, {})[position] = slot
        parents = [-1] * len(self._sharing)
        for root_id, of_tree in positions.items():
            structure = snapshot.tree(root_id).shape.structure
            for slot, parent in _parents_among(of_tree, structure):
                parents[slot - size] = parent
        return [*self.structure.parents, *parents]

    @functools.cached_property
    def ancestry(self) -> Ancestry:
        """The slots above each slot."""
        return Ancestry(self.parents) if self._sharing else self.structure.ancestry


def _parents_among(slots: Mapping[int, int], structure: Structure) -> Iterator[tuple[int, int]]:
    """Each of these slots, by position in its tree, with the nearest of them above it, or -1."""
    nearest = [-1] * len(structure.parents)
    for position in reversed(structure.ancestry.upwards):
        parent = structure.parents[position]
        above = -1 if parent < 0 else slots.get(parent, nearest[parent])
        nearest[position] = above
        if position in slots:
            yield slots[position], above
