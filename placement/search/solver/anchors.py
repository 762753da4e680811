# SPDX-License-Identifier: Apache-2.0
"""The trees that a request is laid over, and the order in which they yield their candidates.

Blocks of trees that cannot serve the request are skipped in one step. Breadth-first makes two
passes. The first takes one candidate of each tree, and defers trees in which that is hard:
`TreeDeferred` says so. The second takes one more of each in turn, the deferred trees last, and
searches these to the end. So a hard tree delays no other. Specification:
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

# How many plans, and how many structures with a known plan, are remembered at a time; a cloud has
# fewer, as a rule.
MAX_PLANS = 2048

# In the key of a plan that is good for trees with any root.
ANY_ROOT = -1

# A tree with its plan, and whether somebody has to serve there who is no sharing provider.
Anchor = tuple[Plan, Tree, bool]


class Anchors:
    """The trees that may serve a request, each with its candidates."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._plans = Plans(search)
        self._shared_domains: set[SharedDomains] = set()

    def trees(self) -> Iterator[Anchor]:
        """One tree after the other that may have candidates, in the order the request wants.

        Raises `BudgetSpent`.
        """
        search = self.search
        if search.resolved.names_missing_tree:
            return
        spend, plan_for = search.work.spend, self._plans.plan_for
        for tree in self._trees():
            search.trees_examined += 1
            spend(2 + len(tree.members))
            plan = plan_for(tree)
            if plan.is_infeasible:
                continue
            needs_member = plan.may_be_all_shared and self._is_known(plan.shared_domains(tree))
            if plan.uses_members or not needs_member:
                yield plan, tree, needs_member

    def _is_known(self, domains: SharedDomains) -> bool:
        """Return whether the candidates of sharing providers alone were, or will be, found under
        an anchor before: that is so where the same ones can serve each provider request."""
        if not all(domains) or domains in self._shared_domains:
            return True
        self._shared_domains.add(domains)
        return False

    def _trees(self) -> Iterator[Tree]:
        search, only_roots = self.search, self.search.only_roots
        if only_roots is not None:
            trees = [search.snapshot.tree(root_id) for root_id in sorted(only_roots)]
            if search.random:
                search.random.shuffle(trees)
            return iter(trees)
        every = itertools.chain.from_iterable(block.trees.values() for block in self._blocks())
        return _drawn(list(every), search.random) if search.random else every

    def _blocks(self) -> Iterator[Block]:
        """The blocks in which some tree may serve the request."""
        search, block_filter = self.search, BlockFilter(self.search)
        for block in search.snapshot.blocks.values():
            if block_filter.admits(block):
                yield block
            else:
                search.trees_examined += len(block.trees)
                search.work.check()


def _drawn(trees: list[Tree], generator: random.Random) -> Iterator[Tree]:
    """These trees in random order, each drawn when it is asked for."""
    for last in range(len(trees) - 1, -1, -1):
        chosen = generator.randrange(last + 1)
        trees[chosen], trees[last] = trees[last], trees[chosen]
        yield trees[last]


def depth_first(trees: Iterable[Anchor]) -> Iterator[Candidate]:
    """All candidates of one tree before those of the next."""
    for plan, tree, needs_member in trees:
        yield from plan.candidates(tree, needs_member)


def breadth_first(trees: Iterable[Anchor]) -> Iterator[Candidate]:
    """One candidate of each tree in turn.

    Holds no more trees than it has yielded candidates, and those that were deferred: the next tree
    is opened when it is asked for.
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
    """The plans of a search: one for all trees whose members answer every provider request alike.

    Trees of different structures share a plan where they differ in what the request does not ask
    for: other traits, other classes, aggregates that nobody names.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.named_roots = search.resolved.named_roots
        # By structure, or by the key of alike pools.
        self._by_structure: BoundedCache[object, Plan] = BoundedCache(MAX_PLANS)
        self._by_answers: BoundedCache[object, Plan] = BoundedCache(MAX_PLANS)

    def plan_for(self, tree: Tree) -> Plan:
        """The plan of this tree.

        A tree that is named by `in_tree`, or has sharing providers of its own, stands for itself.
        But of alike pools only the first has a plan, with the slots of that tree: whatever the
        others could offer was offered there, and a thousand pools would need a thousand slots
        each.
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
        """Equal for trees that consist of one sharing provider and have the same candidates, which
        are those of all that share in the same aggregates; None for any other tree."""
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
        """All that matters of a structure to the request: equal for those with a common plan."""
        search, aggregates = self.search, structure.profiles[0].aggregates
        return (
            tuple([search.answer(profile) for profile in structure.profiles]),
            structure.parents if search.resolved.constraints else None,
            tuple([provider.id for provider in sharing]),
            suits_root(search, structure),
            # The aggregates of the root span the tree for the unsuffixed group.
            *[
                (request.is_within(aggregates), request.is_barred_from(aggregates))
                for request in search.distinct
                if not request.is_suffixed
            ],
        )
