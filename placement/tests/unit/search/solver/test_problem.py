# SPDX-License-Identifier: Apache-2.0
"""The order of decisions: the hardest first, the variables of a subtree one after the other."""

from placement.search.solver.problem import Problem, Variable, decision_order


def order_of(*variables: Variable, subtrees: tuple[frozenset[int], ...] = ()) -> list[int]:
    return list(decision_order(Problem(variables, {}, subtrees=subtrees)))


def variable(slots: int, weight: float = 0.5, alike: int = 0, covers: bool = False) -> Variable:
    covered = {0: 1} if covers else {}
    return Variable(range(slots), weight=weight, alike=alike, covers=covered)


def test_variables_that_cover_traits_come_before_those_with_fewer_slots() -> None:
    assert order_of(variable(2), variable(5, covers=True), variable(1)) == [1, 2, 0]


def test_fewer_slots_come_before_larger_amounts() -> None:
    assert order_of(variable(3, weight=0.9), variable(2, weight=0.1)) == [1, 0]


def test_larger_amounts_come_before_smaller_ones() -> None:
    assert order_of(variable(3, 0.2), variable(3, 0.9), variable(3, 0.5)) == [1, 2, 0]


def test_variables_that_ask_for_the_same_follow_each_other() -> None:
    asked = [variable(3, alike=number) for number in (0, 1, 0, 1, 0)]
    assert order_of(*asked) == [0, 2, 4, 1, 3]


def test_variables_of_a_subtree_follow_each_other_with_those_of_subtrees_they_are_in() -> None:
    sizes = [1, 2, 3, 8, 9, 7]
    subtrees = (frozenset([0, 4]), frozenset([3, 4]), frozenset([1, 5]))
    asked = [variable(size) for size in sizes]
    assert order_of(*asked, subtrees=subtrees) == [0, 4, 3, 1, 5, 2]
