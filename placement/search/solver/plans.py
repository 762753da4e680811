# SPDX-License-Identifier: Apache-2.0
"""The plans of a search: one for all trees whose members have the same roles.

Trees of different structures share a plan where they differ in what the request does not ask for:
other traits, other classes, aggregates that nobody names.
"""

from collections.abc import Sequence

from placement.search.model.provider import Provider
from placement.search.model.tree import Structure, Tree
from placement.search.solver.bounded_cache import BoundedCache
from placement.search.solver.candidates_of_tree import CandidatesOfTree
from placement.search.solver.plan import Plan
from placement.search.solver.search_state import Search
from placement.search.solver.slots import sharing_with

# How many plans, and how many structures with a known plan, are remembered at a time; a cloud has
# fewer, as a rule.
MAX_PLANS = 2048

# In the key of a plan that is good for every tree whose members have the same roles.
ANY_ROOT = -1


class Plans:
    """Makes the plan of a tree, or finds it."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._named_roots = search.resolved.named_roots
        self._by_structure: BoundedCache[Structure, CandidatesOfTree] = BoundedCache(MAX_PLANS)
        self._by_roles: BoundedCache[object, CandidatesOfTree] = BoundedCache(MAX_PLANS)
        self._of_pools: BoundedCache[object, CandidatesOfTree] = BoundedCache(MAX_PLANS)
        self._sharing: BoundedCache[frozenset[str], Sequence[Provider]] = BoundedCache(MAX_PLANS)

    def candidates_of(self, tree: Tree) -> CandidatesOfTree:
        """What finds the candidates of this tree."""
        structure = tree.shape.structure
        if tree.root_id in self._named_roots:
            return self._plan(tree, structure, tree.root_id)
        if structure.has_sharing:
            # This tree stands for itself: its own sharing providers are no other tree's.
            pool_key = self.pool_key(structure)
            if pool_key is None:
                return self._plan(tree, structure, tree.root_id)
            return self._plan_of_pools(tree, structure, pool_key)
        planned = self._by_structure.get(structure)
        if planned is None:
            planned = self._plan(tree, structure, ANY_ROOT)
            self._by_structure.add(structure, planned)
        return planned

    def pool_key(self, structure: Structure) -> object:
        """Equal for trees that consist of one sharing provider and have the same candidates, which
        are those of all that share in the same aggregates; None for any other tree."""
        if len(structure.profiles) > 1:
            return None
        request, root = self.search.request, structure.profiles[0]
        return (
            structure.aggregates,
            request.root_required <= root.traits,
            request.root_forbidden.isdisjoint(root.traits),
        )

    def _plan_of_pools(
        self, tree: Tree, structure: Structure, pool_key: object
    ) -> CandidatesOfTree:
        """The plan of the first tree with this key.

        It has the slots of that tree only. The others need none: whatever they could offer was
        offered there, and a thousand pools would need a thousand slots each.
        """
        planned = self._of_pools.get(pool_key)
        if planned is None:
            planned = self._plan(tree, structure, tree.root_id)
            self._of_pools.add(pool_key, planned)
        return planned

    def _plan(self, tree: Tree, structure: Structure, root_id: int) -> CandidatesOfTree:
        sharing = self._sharing_with(tree)
        key = (root_id, self._key(structure, sharing))
        planned = self._by_roles.get(key)
        if planned is None:
            planned = CandidatesOfTree(Plan(self.search, structure, sharing, tree.root_id))
            forgotten = self._by_roles.add(key, planned)
            if forgotten is not None:
                forgotten.plan.settle()
        return planned

    def _sharing_with(self, tree: Tree) -> Sequence[Provider]:
        """The sharing providers of other trees that have this one as an anchor, by id."""
        structure, work = tree.shape.structure, self.search.work
        # A tree that shares something itself is among those that share with it.
        known = None if structure.has_sharing else self._sharing.get(structure.aggregates)
        if known is None:
            known = tuple(sharing_with(self.search.snapshot, tree))
            work.spent += len(known)
            if not structure.has_sharing:
                self._sharing.add(structure.aggregates, known)
        return known

    def settle(self) -> None:
        """Add to the tally what the plans refused in the trees they were made for."""
        for planned in self._by_roles.values():
            planned.plan.settle()

    def _key(self, structure: Structure, sharing: Sequence[Provider]) -> tuple[object, ...]:
        """Equal for structures that a plan has in common."""
        search, root = self.search, structure.profiles[0]
        request = search.request
        return (
            tuple([search.role(profile) for profile in structure.profiles]),
            structure.parents if search.resolved.constraints else None,
            tuple([provider.id for provider in sharing]),
            request.root_required <= root.traits,
            request.root_forbidden.isdisjoint(root.traits),
            # The aggregates of the root span the tree for the unsuffixed group.
            tuple(
                [
                    (one.is_within(root.aggregates), one.is_barred_from(root.aggregates))
                    for one in search.resolved.provider_requests
                    if not one.is_suffixed
                ]
            ),
        )
