# SPDX-License-Identifier: Apache-2.0
"""Trees take turns; one in which the first candidate is hard to find delays no other."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

from placement.search.model.tree import Tree
from placement.search.solver.anchors import breadth_first, depth_first
from placement.search.solver.backtracking import TreeDeferred


def tree(*candidates: str, is_hard: bool = False) -> Any:
    """A tree with a plan that finds these candidates."""

    def found(tree: Tree, needs_member: bool, is_first_pass: bool = False) -> Iterator[str]:
        if is_first_pass and is_hard:
            raise TreeDeferred
        yield from candidates

    return mock.Mock(candidates=found), None, False


def test_breadth_first_takes_one_candidate_of_each_tree_in_turn() -> None:
    found: Iterator[Any] = breadth_first(
        [tree('a1', 'a2', 'a3'), tree('b1'), tree(), tree('c1', 'c2')]
    )
    assert list(found) == ['a1', 'b1', 'c1', 'a2', 'c2', 'a3']


def test_depth_first_takes_all_candidates_of_a_tree_first() -> None:
    found: Iterator[Any] = depth_first([tree('a1', 'a2', is_hard=True), tree('b1')])
    assert list(found) == ['a1', 'a2', 'b1']


def test_hard_trees_yield_after_the_others() -> None:
    trees = [tree('a1', 'a2', is_hard=True), tree('b1', 'b2'), tree(is_hard=True), tree('c1')]
    found: Iterator[Any] = breadth_first(trees)
    assert list(found) == ['b1', 'c1', 'b2', 'a1', 'a2']
