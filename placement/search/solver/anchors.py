# SPDX-License-Identifier: Apache-2.0
"""The trees that a request is laid over, one after the other, as far as somebody asks.

Blocks of trees that have nothing to offer are passed over in one step.  Specification:
allocation_candidates, "Terms of the search", "Limits, order and randomisation".
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator

from placement.search.model.block import Block
from placement.search.model.tree import Tree
from placement.search.solver.layout import Candidate
from placement.search.solver.plan import SharedDomains
from placement.search.solver.plans import Plans
from placement.search.solver.search_state import Search


class Anchors:
    """The trees worth a look, each with its candidates."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self._plans = Plans(search)
        self._shared_domains: set[SharedDomains] = set()

    def streams(self) -> Iterator[Iterable[Candidate | None]]:
        """The candidates of one tree after the other, in the order the request wants.

        Each is a tuple where it holds no more than one candidate; else None stands among the
        candidates whenever a slice of work was done. Raises `BudgetSpent`.
        """
        search = self.search
        work, candidates_of = search.work, self._plans.candidates_of
        for tree in self._trees():
            search.trees_examined += 1
            work.spent += 2 + len(tree.members)
            work.check()
            of_tree = candidates_of(tree)
            plan = of_tree.plan
            plan.trees += 1
            if plan.is_infeasible:
                continue
            needs_member = plan.may_be_all_shared and self._is_known(plan.shared_domains(tree))
            if plan.uses_members or not needs_member:
                yield of_tree.of(tree, needs_member)

    def settle(self) -> None:
        """Add to the tally what was refused in the trees looked at."""
        self._plans.settle()

    def _is_known(self, domains: SharedDomains) -> bool:
        """Whether the candidates of sharing providers alone were, or will be, found under an
        anchor before: that is so where the same ones can serve each provider request."""
        if not all(domains) or domains in self._shared_domains:
            return True
        self._shared_domains.add(domains)
        return False

    def _trees(self) -> Iterator[Tree]:
        snapshot, only_roots = self.search.snapshot, self.search.only_roots
        if only_roots is not None:
            trees = [snapshot.tree(root_id) for root_id in sorted(only_roots)]
            if self.search.request.randomize:
                self.search.random.shuffle(trees)
            return iter(trees)
        if self.search.request.randomize:
            return self._drawn(list(self._blocks()))
        return (tree for block in self._blocks() for tree in block.trees.values())

    def _blocks(self) -> Iterator[Block]:
        """The blocks in which some tree may serve the request."""
        search = self.search
        for block in search.snapshot.blocks.values():
            if search.admits(block):
                yield block
            else:
                search.trees_examined += len(block.trees)
                search.work.check()

    def _drawn(self, blocks: list[Block]) -> Iterator[Tree]:
        """All trees of these blocks in random order, each drawn when it is asked for."""
        # As `shuffle` does it, by numbers: `moved` holds what is not at its own number any more.
        ends = list(itertools.accumulate(len(block.trees) for block in blocks))
        moved: dict[int, int] = {}
        for last in range(ends[-1] - 1 if ends else -1, -1, -1):
            chosen = self.search.random.randrange(last + 1)
            number = moved.get(chosen, chosen)
            moved[chosen] = moved.pop(last, last)
            block = bisect.bisect_right(ends, number)
            trees = blocks[block].trees
            start = ends[block] - len(trees)
            yield next(itertools.islice(trees.values(), number - start, None))
