# SPDX-License-Identifier: Apache-2.0
"""The anchors of a request, and the order in which they yield their candidates.

Blocks of trees that cannot serve the request are skipped in one step. Breadth-first makes two
passes. The first takes one candidate of each tree, and defers a tree that raises `TreeDeferred`
because its search takes long. The second takes one more of each in turn, the deferred trees last,
and searches these to the end. So a hard tree delays no other. Specification:
allocation_candidates, "Terms of the search", "Limits, order and randomisation".
"""

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence

from placement.search.candidate import Candidate
from placement.search.model.block import Block
from placement.search.model.provider import Provider
from placement.search.model.tree import Structure, Tree
from placement.search.solver.backtracking import TreeDeferred
from placement.search.solver.plan import Plan, SharedDomains, suits_root
from placement.search.solver.search import BlockFilter, Search
from placement.search.solver.work import BoundedCache

# Maximum number of cached plans, and of cached structures; most clouds have fewer.
MAX_PLANS = 2048

# In the key of a plan that applies to trees with any root.
ANY_ROOT = -1

# A plan, its tree, and True if a provider that does not share has to serve a group there.
Anchor = tuple[Plan, Tree, bool]


def trees_to_search(search: Search) -> Iterator[Tree]:
    """The trees that may have candidates, in the order of the request.

    Either the trees that `in_tree` names, or all trees of the blocks in which one may serve.
    """
    if search.resolved.names_missing_tree:
        return iter(())
    if search.only_roots is not None:
        trees = [search.snapshot.tree(root_id) for root_id in sorted(search.only_roots)]
        if search.random:
            search.random.shuffle(trees)
        return iter(trees)
    every = itertools.chain.from_iterable(block.trees.values() for block in _blocks(search))
    return _drawn(list(every), search.random) if search.random else every


def _blocks(search: Search) -> Iterator[Block]:
    """The blocks in which some tree may serve the request.

    :raises BudgetSpent: the budget is spent
    """
    block_filter = BlockFilter(search)
    for block in search.snapshot.blocks.values():
        if block_filter.admits(block):
            yield block
        else:
            search.trees_examined += len(block.trees)
            search.work.check()


def _drawn(trees: list[Tree], generator: random.Random) -> Iterator[Tree]:
    """These trees in random order, drawn one at a time."""
    for last in range(len(trees) - 1, -1, -1):
        chosen = generator.randrange(last + 1)
        trees[chosen], trees[last] = trees[last], trees[chosen]
        yield trees[last]


def anchors_among(trees: Iterable[Tree], search: Search) -> Iterator[Anchor]:
    """The trees whose plan may have candidates.

    :raises BudgetSpent: the budget is spent
    """
    plans, shared_domains = Plans(search), set[SharedDomains]()

    def is_known(domains: SharedDomains) -> bool:
        """True if an earlier anchor yields the candidates of sharing providers alone.

        It does if the same sharing providers can serve each provider request there.
        """
        if not all(domains) or domains in shared_domains:
            return True
        shared_domains.add(domains)
        return False

    spend, plan_for = search.work.spend, plans.plan_for
    for tree in trees:
        search.trees_examined += 1
        spend(2 + len(tree.members))
        plan = plan_for(tree)
        if plan.is_infeasible:
            continue
        needs_member = plan.may_be_all_shared and is_known(plan.shared_domains(tree))
        if plan.uses_members or not needs_member:
            yield plan, tree, needs_member


def depth_first(trees: Iterable[Anchor]) -> Iterator[Candidate]:
    """All candidates of the first tree, then of the next."""
    for plan, tree, needs_member in trees:
        yield from plan.candidates(tree, needs_member)


def breadth_first(trees: Iterable[Anchor]) -> Iterator[Candidate]:
    """One candidate of each tree in turn.

    Trees are opened lazily, so it holds at most one for each candidate yielded, and the deferred
    ones.
    """
    begun: list[Iterator[Candidate]] = []
    deferred: list[Iterator[Candidate]] = []
    for plan, tree, needs_member in trees:
        candidates = plan.candidates(tree, needs_member, is_first_pass=True)
        try:
            candidate = next(candidates, None)
        except TreeDeferred:
            deferred.append(plan.candidates(tree, needs_member))
            continue
        if candidate is not None:
            yield candidate
            begun.append(candidates)
    yield from _in_turn([*begun, *deferred])


def _in_turn(trees: Sequence[Iterator[Candidate]]) -> Iterator[Candidate]:
    while trees:
        not_ended = []
        for candidates in trees:
            for candidate in candidates:
                yield candidate
                not_ended.append(candidates)
                break
        trees = not_ended


class Plans:
    """The plans of a search, each for all trees whose profiles match the request alike.

    Trees of different structures share a plan if they differ only in traits, classes and
    aggregates that the request does not name.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.named_roots = search.resolved.named_roots
        # By structure, or by the key of alike pools.
        self._by_structure: BoundedCache[object, Plan] = BoundedCache(MAX_PLANS)
        self._by_answers: BoundedCache[object, Plan] = BoundedCache(MAX_PLANS)

    def plan_for(self, tree: Tree) -> Plan:
        """The plan of this tree.

        A tree that `in_tree` names, or that has sharing members, has a plan of its own. Alike
        pools (see `pool_key`) share the plan of the first, which already yields the candidates of
        the others; a thousand pools would otherwise need a thousand plans of a thousand slots.
        """
        structure = tree.shape.structure
        is_named = tree.root_id in self.named_roots
        key = self.pool_key(structure) if structure.has_sharing else structure
        plan = None if is_named or key is None else self._by_structure.get(key)
        if plan is None:
            stands_for_itself = is_named or structure.has_sharing
            plan = self._plan(tree, tree.root_id if stands_for_itself else ANY_ROOT)
            if not is_named and key is not None:
                self._by_structure.add(key, plan)
        return plan

    def pool_key(self, structure: Structure) -> object:
        """Key of the trees that consist of one sharing provider and have the same candidates.

        These are trees in the same aggregates. None for any other tree.
        """
        if len(structure.profiles) > 1:
            return None
        return (structure.aggregates, suits_root(self.search, structure))

    def _plan(self, tree: Tree, root_id: int) -> Plan:
        structure = tree.shape.structure
        sharing = self.search.snapshot.sharing_with(tree)
        self.search.work.spent += len(sharing)
        key = (root_id, *self._answers(structure, sharing))
        plan = self._by_answers.get(key)
        if plan is None:
            plan = Plan(self.search, structure, sharing, tree.root_id)
            self._by_answers.add(key, plan)
        return plan

    def _answers(self, structure: Structure, sharing: Sequence[Provider]) -> tuple[object, ...]:
        """The parts of a structure that the request depends on; key of its plan."""
        search = self.search
        return (
            tuple([search.answer(profile) for profile in structure.profiles]),
            structure.parents if search.resolved.constraints or search.is_ordered else None,
            # Usage of these classes opens no device, even if the request does not name them.
            tuple(map(search.spread_positions, structure.profiles)) if search.is_ordered else None,
            tuple([provider.id for provider in sharing]),
            # The aggregates of the root span the tree for the unsuffixed group.
            search.failed_as_root(structure.profiles[0]),
        )
