# SPDX-License-Identifier: Apache-2.0
"""Consumers that are placed one after another."""

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import UNBOUNDED, BudgetSpent
from placement.tests.unit.search.cloud import cloud, contents, parse, provider
from placement.tests.unit.search.oracle import claimed
from placement.tests.unit.search.test_oracle import examples, questions, shown
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.filling import Filling
from placement_insight.search.what_if.inferred import Inference, Need
from placement_insight.search.what_if.places import MAX_SLOTS, Places
from placement_insight.search.what_if.queues import Order, Place
from placement_insight.tests.unit.search.what_if.consumers import places


def places_of(snapshot: Snapshot, budget: int = UNBOUNDED) -> Places:
    return Places(snapshot, SlicedWork(budget, pause=lambda: None))


def filled_with(filling: Filling, need: Need, consumers: int) -> list[Place]:
    """The places of this number of consumers, fewer if one finds none."""
    found: list[Place] = []
    while len(found) < consumers and (place := filling.fill(need)) is not None:
        found.append(place)
    return found


def pairs_of(filled: list[Place]) -> list[object]:
    return [(place.root_id, shown(place.candidate)) for place in filled]


@examples(600)
@hypothesis.given(questions(), st.sampled_from(Order))
def test_each_place_is_free_until_there_is_none(question: tuple, order: Order) -> None:
    rows, request = question
    snapshot, need = Snapshot.of(rows), Need(request)
    before = contents(snapshot)
    filling = Filling(places_of(snapshot), order=order)
    filled = filled_with(filling, need, 4)
    for place in filled:
        assert shown(place.candidate) in places(rows, need)
        rows = claimed(rows, shown(place.candidate))
    assert len(filled) == 4 or not places(rows, need)
    assert contents(filling.snapshot) == contents(Snapshot.of(rows))
    assert contents(snapshot) == before
    by_steps = Filling(places_of(snapshot), order=order)
    again = [by_steps.fill(need) for _ in range(4)]
    assert pairs_of(filled) == pairs_of([place for place in again if place is not None])


@examples(300)
@hypothesis.given(questions())
def test_trees_that_are_skipped_take_nothing(question: tuple) -> None:
    rows, request = question
    snapshot, need = Snapshot.of(rows), Need(request)
    root = rows[0].root_id
    left = [row for row in rows if row.root_id != root]
    if snapshot.tree(root).shape.structure.has_sharing:
        filling = Filling(places_of(snapshot).without({root}))
    else:
        filling = Filling(places_of(snapshot), {root})
    filled = filled_with(filling, need, 3)
    for place in filled:
        assert shown(place.candidate) in places(left, need)
        left = claimed(left, shown(place.candidate))
    assert len(filled) == 3 or not places(left, need)
    assert contents(filling.snapshot) == contents(Snapshot.of(left))


def test_a_barred_tree_takes_others_afterwards() -> None:
    snapshot = cloud(provider('first', VCPU=2), provider('second', VCPU=2))
    filling, need = Filling(places_of(snapshot)), Need(parse('resources=VCPU:1'))
    barred = filling.fill(need, {1})
    assert barred is not None
    assert barred.root_id == 2
    assert [place.root_id for place in filled_with(filling, need, 3)] == [1, 1, 2]


@pytest.mark.parametrize(
    ('order', 'roots'),
    [(Order.FIRST, [1, 1, 2, 3]), (Order.ROOMIEST, [3, 1, 2, 3]), (Order.FULLEST, [2, 1, 1, 3])],
)
def test_the_order_of_trees(order: Order, roots: list[int]) -> None:
    totals = {'first': 4, 'small': 3, 'large': 6}
    snapshot = cloud(*[provider(name, VCPU=total) for name, total in totals.items()])
    filling, need = Filling(places_of(snapshot), order=order), Need(parse('resources=VCPU:2'))
    assert [place.root_id for place in filled_with(filling, need, 4)] == roots


@pytest.mark.parametrize('unit', ['step_size', 'min_unit'])
def test_slots_count_only_where_a_smaller_need_is_served_as_well(unit: str) -> None:
    snapshot = cloud(provider('odd', VCPU={'total': 8, unit: 2}), provider('plain', VCPU=8))
    inference = Inference(snapshot)
    needs = [inference.of({2: {'VCPU': n}}, {2}).by_amounts for n in (1, 4)]
    most = inference.most([need for need in needs if need])
    assert most is not None
    slots = places_of(snapshot).slots(most)
    assert slots.suffice(2, set())
    assert not slots.suffice(3, set())
    assert not slots.suffice(1, {2})


def test_slots_of_one_tree_are_counted_up_to_a_bound() -> None:
    snapshot = cloud(provider('large', VCPU=2_147_483_647))
    need = Inference(snapshot).of({1: {'VCPU': 1}}, {1}).by_amounts
    assert need is not None
    slots = places_of(snapshot, budget=100 * MAX_SLOTS).slots(need)
    assert slots.suffice(MAX_SLOTS, set())
    assert not slots.suffice(MAX_SLOTS + 1, set())


class Asked(frozenset[int]):
    """Root ids that count the look-ups among them."""

    times = 0

    def __contains__(self, root_id: object) -> bool:
        Asked.times += 1
        return super().__contains__(root_id)


def test_trees_that_are_lost_are_passed_over_once_and_counted() -> None:
    """Not for each of the consumers that lose them."""
    snapshot = cloud(*[provider(f'h{n}', VCPU=2) for n in range(100)])
    places_now, need = places_of(snapshot), Need(parse('resources=VCPU:1'))
    lost = Asked(range(1, 100))
    assert all(places_now.fitting(need).has_others(lost) for _ in range(100))
    assert Asked.times < 300
    spent = places_now.work.spent
    assert not places_now.fitting(need).has_others(frozenset(range(1, 101)))
    assert places_now.work.spent >= spent + 100


def test_a_tree_that_was_changed_often_is_noted_once() -> None:
    filling = Filling(places_of(cloud(*[provider(f'h{n}', VCPU=8) for n in range(2)])))
    for root_id in (1, 2, 1, 1):
        filling.take({root_id: {'VCPU': 1}})
    noted = [filling.changed_since(changes) for changes in range(filling.changes + 1)]
    assert noted == [[1, 2], [1, 2], [1], [1], []]


def test_nothing_is_found_once_the_budget_is_spent() -> None:
    snapshot = cloud(*[provider(f'host{n}', VCPU=8) for n in range(200)])
    filling, need = Filling(places_of(snapshot, budget=50)), Need(parse('resources=VCPU:8'))
    for _ in range(2):
        with pytest.raises(BudgetSpent):
            filled_with(filling, need, 200)
