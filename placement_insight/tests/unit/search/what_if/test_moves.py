# SPDX-License-Identifier: Apache-2.0
"""Given moves, one by one and at once."""

from collections.abc import Iterable, Mapping, Sequence

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.model.snapshot import Snapshot
from placement.search.solver.work import BudgetSpent
from placement.tests.unit.search.cloud import (
    SHARING,
    cloud,
    contents,
    parse,
    provider,
    rows_in,
)
from placement.tests.unit.search.test_oracle import examples
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.drain import Drain
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.moves import Moves, Refused, WantedMove
from placement_insight.search.what_if.relocation import Relocation, Terms
from placement_insight.search.what_if.scenario import Held
from placement_insight.tests.unit.search.what_if.consumers import (
    Inhabited,
    held_of,
    host,
    inhabited,
    pool,
    vcpus,
)


def made(
    snapshot: Snapshot, held: Mapping[str, Held], *wanted: tuple, **flags: bool
) -> tuple[Moves, Refused | None]:
    moves = Moves(snapshot, held, SlicedWork(pause=lambda: None), **flags)
    return moves, moves.make(to(snapshot, *wanted))


def to(snapshot: Snapshot, *wanted: tuple) -> list[WantedMove]:
    return [
        WantedMove(consumer, None if name is None else snapshot.find_by_uuid(name), *need)
        for consumer, name, *need in wanted
    ]


def used(snapshot: Snapshot) -> dict[str, dict[str, int]]:
    return {
        row.uuid: {name: inventory.used for name, inventory in row.inventories.items()}
        for row in rows_in(snapshot).values()
    }


@examples(300)
@hypothesis.given(inhabited(), st.booleans())
def test_a_drain_can_be_verified(given: Inhabited, at_once: bool) -> None:
    """In the order that it tells; at once where pools have room for all."""
    snapshot = Snapshot.of(given.rows)
    roots = frozenset([given.rows[0].root_id or 0])
    held = held_of(given.consumers, given.rows, roots)
    work = SlicedWork(pause=lambda: None)
    plan = Drain(Relocation(snapshot, Terms(), work), held, roots).plan()
    wanted = [WantedMove(move.consumer, move.target, sources=roots) for move in plan.moves]
    before = contents(snapshot)
    moves = Moves(snapshot, held, work, at_once=at_once)
    refused = moves.make(wanted)
    assert contents(snapshot) == before
    if plan.at_once >= (len(wanted) if at_once else min(1, len(wanted))):
        assert refused is None
    if refused is None:
        assert [root.id for root in moves.places.values()] == [
            each.target.id for each in plan.moves
        ]


def roomed(vcpu_used: int, pool_used: int) -> Snapshot:
    hosts = host('a', vcpu_used, aggregates='room'), host('b', aggregates='room')
    return cloud(*hosts, pool(pool_used))


def test_each_move_leaves_room_for_the_next_but_not_at_once() -> None:
    snapshot = cloud(host('a', 8), host('b', 4), host('c'))
    held = {**vcpus(1, 4), 'd0': {2: {'VCPU': 4}}, 'c1': {1: {'VCPU': 4}}}
    swap = ('c0', 'b'), ('c1', 'c'), ('d0', 'a')
    moves, refused = made(snapshot, held, *swap)
    assert refused is None
    assert used(moves.snapshot) == {'a': {'VCPU': 4}, 'b': {'VCPU': 4}, 'c': {'VCPU': 4}}
    moves, refused = made(snapshot, held, *swap, at_once=True)
    assert refused is not None
    assert (refused.number, refused.lacking.consumer) == (3, 'd0')
    assert used(moves.snapshot)['b'] == {'VCPU': 8}


def test_where_no_place_is_told_the_roomiest_is_chosen() -> None:
    snapshot = cloud(host('a', 6), host('b', 5), host('c', 4))
    wanted = [('c0', None), ('c1', None), ('c2', None)]
    moves, refused = made(snapshot, vcpus(1, 2, 2, 2), *wanted)
    assert refused is None
    # What has left the first host makes room for no other that leaves it.
    assert [root.uuid for root in moves.places.values()] == ['c', 'b', 'c']
    _, refused = made(cloud(host('a', 6), host('b', 5)), vcpus(1, 2, 2, 2), *wanted)
    assert refused is not None
    assert refused.number == 2


def test_what_was_left_can_be_chosen() -> None:
    snapshot = cloud(host('a', 8), host('b', 8), host('c'))
    held = {**vcpus(1, 8), 'd0': {2: {'VCPU': 4}}}
    moves, refused = made(snapshot, held, ('c0', 'c'), ('d0', None))
    assert refused is None
    assert {number: root.uuid for number, root in moves.places.items()} == {1: 'c', 2: 'a'}


def test_a_source_over_capacity_can_be_left() -> None:
    snapshot = cloud(host('a', 12), host('b'))
    moves, refused = made(snapshot, vcpus(1, 6, 6), ('c0', 'b'))
    assert refused is None
    assert used(moves.snapshot) == {'a': {'VCPU': 6}, 'b': {'VCPU': 6}}
    _, refused = made(snapshot, vcpus(1, 6, 6), ('c0', 'b'), ('c1', 'b'))
    assert refused is not None


@pytest.mark.parametrize(
    ('pool_used', 'flags', 'number'),
    [(60, {}, None), (61, {}, 1), (20, {'at_once': True}, None), (21, {'at_once': True}, 2),
     (100, {'evacuate': True}, None), (100, {'evacuate': True, 'at_once': True}, None)],
)  # fmt: skip
def test_pools_are_held_twice_but_by_evacuations(
    pool_used: int, flags: dict[str, bool], number: int | None
) -> None:
    snapshot = roomed(4, pool_used)
    held: dict[str, Held] = {f'c{n}': {1: {'VCPU': 2}, 3: {'DISK_GB': 40}} for n in range(2)}
    moves, refused = made(snapshot, held, ('c0', 'b'), ('c1', 'b'), **flags)
    assert (refused and refused.number) == number
    if refused:
        assert 'DISK_GB' in refused.lacking.words
    elif flags:
        assert used(moves.snapshot)['a'] == {'VCPU': 4}
    else:
        assert used(moves.snapshot) == {
            'a': {'VCPU': 0},
            'b': {'VCPU': 4},
            'pool': {'DISK_GB': pool_used},
        }


def test_a_consumer_may_become_something_else_in_place() -> None:
    larger = Need(parse('resources=VCPU:5'))
    snapshot = cloud(host('a', 3), host('b', 4))
    moves, refused = made(snapshot, vcpus(1, 3), ('c0', 'a', larger))
    assert refused is None
    assert used(moves.snapshot)['a'] == {'VCPU': 5}
    _, refused = made(cloud(host('a', 4), host('b', 4)), vcpus(1, 4), ('c0', 'a', larger))
    assert refused is not None


@pytest.mark.parametrize(
    ('pool_used', 'evacuate', 'is_possible'),
    [(70, False, True), (71, False, False), (100, True, True), (101, True, True)],
)
def test_what_a_request_takes_of_pools(pool_used: int, evacuate: bool, is_possible: bool) -> None:
    """A write may leave a pool over capacity that makes it no worse."""
    snapshot = roomed(2, pool_used)
    held: dict[str, Held] = {'c': {1: {'VCPU': 2}, 3: {'DISK_GB': 30}}}
    need = Need(parse('resources=VCPU:3,DISK_GB:30'))
    moves, refused = made(snapshot, held, ('c', 'b', need), evacuate=evacuate)
    assert (refused is None) == is_possible
    if is_possible:
        assert used(moves.snapshot)['pool'] == {'DISK_GB': pool_used}
        assert used(moves.snapshot)['a'] == {'VCPU': 2 if evacuate else 0}


@pytest.mark.parametrize(
    ('consumer', 'words'),
    [
        ('nobody', 'It has no allocations.'),
        ('pools', 'It has no allocations on a tree that it could leave.'),
    ],
)
def test_who_cannot_be_moved(consumer: str, words: str) -> None:
    snapshot = cloud(host('a', 2), pool(10))
    _, refused = made(snapshot, {'pools': {2: {'DISK_GB': 10}}}, (consumer, 'a'))
    assert refused is not None
    assert refused.lacking.words == words


def two_pools() -> Snapshot:
    """A host on a full pool, and one with room for a single server on another pool."""
    return cloud(
        host('old', 6, aggregates='room other'),
        host('a', aggregates='room'),
        host('b', 6, aggregates='other'),
        pool(100),
        provider('second', traits=SHARING, aggregates='other', DISK_GB={'total': 90, 'used': 30}),
    )


@pytest.mark.parametrize('evacuate', [True, False])
def test_a_tree_that_refused_is_asked_again_after_a_return(evacuate: bool) -> None:
    """The first server may go nowhere but to b, the second returns what it held of a's pool."""
    need = Need(parse('resources=VCPU:2,DISK_GB:30'))
    held: dict[str, Held] = {
        'c0': {1: {'VCPU': 2}, 5: {'DISK_GB': 30}},
        'c1': {1: {'VCPU': 2}, 4: {'DISK_GB': 30}},
    }
    # Without evacuation the return comes with another move.
    third = [] if evacuate else [('c2', 'a', Need(parse('resources=VCPU:1')))]
    held['c2'] = {1: {'VCPU': 2}, 4: {'DISK_GB': 30}}
    wanted = [('c0', None, need), *third, ('c1', None, need)]
    moves, refused = made(two_pools(), held, *wanted, evacuate=evacuate)
    assert refused is None
    assert [root.uuid for root in moves.places.values()][-1] == 'a'


def test_who_is_refused_goes_on_holding_what_it_held() -> None:
    snapshot = roomed(2, 100)
    held: dict[str, Held] = {'c': {1: {'VCPU': 2}, 3: {'DISK_GB': 30}}}
    need = Need(parse('resources=VCPU:3,DISK_GB:31'))
    moves, refused = made(snapshot, held, ('c', 'b', need), evacuate=True)
    assert refused is not None
    assert used(moves.snapshot) == used(snapshot)


def test_a_new_consumer_may_claim() -> None:
    snapshot = cloud(host('a', 2))
    moves, refused = made(snapshot, {}, ('new', 'a', Need(parse('resources=VCPU:6'))))
    assert refused is None
    assert used(moves.snapshot) == {'a': {'VCPU': 8}}


def test_trees_that_do_not_reach_the_pools_are_refused() -> None:
    snapshot = cloud(host('a', 2, aggregates='room'), host('b'), pool(10))
    held: dict[str, Held] = {'c': {1: {'VCPU': 2}, 3: {'DISK_GB': 10}}}
    for target in ('b', 'pool', None):
        _, refused = made(snapshot, held, ('c', target))
        assert refused is not None
        assert 'reach the pools' in refused.lacking.words or refused.lacking.explanation


def test_many_moves_end_with_the_budget() -> None:
    snapshot = cloud(host('a', 8), host('b'))
    held: Iterable[str] = vcpus(1, 8)
    moves: Sequence[tuple] = [('c0', 'b'), ('c0', 'a')] * 100
    asking = Moves(snapshot, vcpus(1, 8), SlicedWork(100, pause=lambda: None))
    assert list(held) == ['c0']
    with pytest.raises(BudgetSpent):
        asking.make(to(snapshot, *moves))
