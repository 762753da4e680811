# SPDX-License-Identifier: Apache-2.0
"""Moves that empty trees, made as nova makes them."""

import random
from collections.abc import Mapping, Sequence

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider
from placement.tests.unit.search.test_oracle import AGGREGATES, examples
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.domains import Domain
from placement_insight.search.what_if.drain import Drain, DrainPlan, Move, moves_at_once
from placement_insight.search.what_if.filling import Filling
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.queues import Order
from placement_insight.search.what_if.relocation import Relocation, Terms
from placement_insight.search.what_if.scenario import Held
from placement_insight.search.what_if.survival import Survival
from placement_insight.tests.unit.search.what_if.consumers import (
    Inhabited,
    held_of,
    host,
    inhabited,
    lose,
    places,
    pool,
    used_less,
    vcpus,
    without,
)

WITHIN = frozenset(AGGREGATES)


def plan_for(
    snapshot: Snapshot,
    holders: Mapping[str, Held],
    roots: frozenset[int] | None,
    terms: Terms | None = None,
) -> DrainPlan:
    work = SlicedWork(pause=lambda: None)
    return Drain(Relocation(snapshot, terms or Terms(), work), holders, roots).plan()


class Nova:
    """A cloud in which consumers move: a migration takes over what each holds, then it claims."""

    def __init__(self, snapshot: Snapshot, held: Mapping[str, Held]) -> None:
        self.snapshot = snapshot
        self.held = held

    def begin(self, move: Move) -> bool:
        """Claim the new place while the old one is held; False if refused."""
        used = {}
        for provider_id, amounts in move.holds.items():
            record = self.snapshot.provider(provider_id)
            for name, amount in amounts.items():
                capacity, before = record.inventory(name)
                if capacity.refusal(amount, before):
                    return False
            used[provider_id] = record.used_after(amounts)
        self.snapshot = self.snapshot.with_used(used)
        return True

    def replace(self, move: Move) -> bool:
        """Claim the new place in exchange for the old one; False if refused."""
        before = self.snapshot
        self.end(move)
        used = {}
        for provider_id, amounts in move.holds.items():
            record = self.snapshot.provider(provider_id)
            used[provider_id] = record.used_after(amounts)
            for name in amounts:
                total, (capacity, was) = (
                    used[provider_id][name],
                    before.provider(provider_id).inventory(name),
                )
                if capacity.unit_refusal(amounts[name]) or not capacity.allows_total(total, was):
                    return False
        self.snapshot = self.snapshot.with_used(used)
        return True

    def end(self, move: Move) -> None:
        """Release what the migration holds."""
        self.snapshot = self.snapshot.with_used(
            {
                provider_id: self.snapshot.provider(provider_id).used_after(
                    {name: -amount for name, amount in amounts.items()}
                )
                for provider_id, amounts in self.held[move.consumer].items()
            }
        )


def assert_can_be_made(
    snapshot: Snapshot, held: Mapping[str, Held], moves: Sequence[Move], at_once: int
) -> None:
    """In any order, and this number in parallel."""
    choose = random.Random(1)
    for size in {1, at_once} if at_once else ():
        for _ in range(3):
            nova, order = Nova(snapshot, held), choose.sample(moves, len(moves))
            while order:
                under_way, order = order[:size], order[size:]
                assert all(map(nova.begin, under_way))
                for move in under_way:
                    nova.end(move)


@examples(400)
@hypothesis.given(inhabited())
def test_moves_of_a_drain_can_be_made_in_any_order(given: Inhabited) -> None:
    snapshot, roots = Snapshot.of(given.rows), sorted({row.root_id or 0 for row in given.rows})
    for drained in [*(frozenset([root]) for root in roots), frozenset(roots[:2])]:
        held = held_of(given.consumers, given.rows, drained)
        plan = plan_for(snapshot, held, drained, Terms(within=WITHIN))
        assert_can_be_made(snapshot, held, plan.moves, plan.at_once)
        assert {move.target.id for move in plan.moves}.isdisjoint(drained)
        moved = [move.consumer for move in plan.moves]
        unplaced = [each.lacking.consumer for each in plan.unplaced]
        assert sorted([*moved, *unplaced]) == sorted(held)
        assert all(each.lacking.words or each.lacking.explanation for each in plan.unplaced)
        # What survives can be drained.
        work = SlicedWork(pause=lambda: None)
        loss = lose(Survival(snapshot, work=work), Domain('', drained), held)
        assert not (loss.survives and unplaced)
        assert len(moved) >= (loss.placed or 0)


@examples(1_000)
@hypothesis.given(inhabited(most=4, pools=True))
def test_what_was_asked_for_takes_of_pools_what_nobody_else_gets(given: Inhabited) -> None:
    snapshot, roots = Snapshot.of(given.rows), sorted({row.root_id or 0 for row in given.rows})
    asked = {name: Need(wanted) for name, wanted in given.asked.items()}
    for drained in map(frozenset[int], ([root] for root in roots)):
        held = held_of(given.consumers, given.rows, drained)
        plan = plan_for(snapshot, held, drained, Terms(asked))
        assert_can_be_made(snapshot, held, plan.moves, plan.at_once)
        nova = Nova(snapshot, held)
        assert all(map(nova.replace, random.Random(1).sample(plan.moves, len(plan.moves))))
        for lacking, *_ in plan.unplaced:
            if lacking.words or lacking.consumer not in asked:
                continue
            of_pools = {
                row.id: held[lacking.consumer][row.id]
                for row in given.rows
                if row.id in held[lacking.consumer] and SHARING in row.traits
            }
            left = used_less(without(given.rows, drained), of_pools, at_most_full=True)
            assert not places(left, asked[lacking.consumer])


@examples(200)
@hypothesis.given(inhabited(), st.booleans())
def test_consumers_that_leave_their_trees_can_do_so_in_any_order(
    given: Inhabited, apart: bool
) -> None:
    snapshot, held = Snapshot.of(given.rows), given.consumers
    together = (frozenset(held),) if apart and len(held) > 1 else ()
    relocation = Relocation(snapshot, Terms(apart=together, held=held), SlicedWork())
    plan = Drain(relocation, held, None).plan()
    assert_can_be_made(snapshot, held, plan.moves, plan.at_once)
    homes = {consumer: relocation.inference.homes(held[consumer]) for consumer in held}
    for move in plan.moves:
        assert move.target.id not in homes[move.consumer]
        assert {source.id for source in move.sources} == homes[move.consumer]
    targets = [move.target.id for move in plan.moves]
    if together:
        assert len(targets) == len(set(targets))
        assert not homes or set(targets).isdisjoint(frozenset().union(*homes.values()))


def targets(plan: DrainPlan) -> dict[str, str]:
    return {move.consumer: move.target.uuid for move in plan.moves}


def test_the_place_with_most_room_left_is_taken() -> None:
    snapshot = cloud(host('old', 4), host('a', 6), host('b', 4), host('c', 8, total=32))
    plan = plan_for(snapshot, vcpus(1, 2, 2), frozenset([1]))
    assert targets(plan) == {'c0': 'c', 'c1': 'c'}
    assert [(each.root.uuid, *each[1:]) for each in plan.fullest] == [('c', 'VCPU', 12, 32)]
    assert plan.at_once == 2


def test_who_would_be_left_over_is_tried_packed() -> None:
    snapshot = cloud(host('old', 8), host('a', 4), host('b', 2))
    held = vcpus(1, 3, 3, 1, 3)
    plan = plan_for(snapshot, held, frozenset([1]))
    assert len(plan.moves) == 4
    assert not plan.unplaced


@pytest.mark.parametrize(
    ('only', 'free', 'totals', 'amounts'),
    [
        (Order.ROOMIEST, [8, 2, 9], [12, 8, 12], [3, 6, 4, 1, 3]),
        (Order.FIRST, [8, 5, 1], [12, 8, 8], [3, 2, 1, 4, 4]),
        (Order.FULLEST, [9, 8], [12, 16], [5, 6, 4]),
    ],
)
def test_each_order_of_trees_is_tried(
    only: Order, free: list[int], totals: list[int], amounts: list[int]
) -> None:
    """All find a place in that order alone, in drains and after a loss."""
    sizes = zip(free, totals, strict=True)
    hosts = [host(f'h{n}', total - left, total) for n, (left, total) in enumerate(sizes)]
    snapshot = cloud(host('old', sum(amounts), 40), *hosts)
    held = vcpus(1, *amounts)
    plan = plan_for(snapshot, held, frozenset([1]))
    assert (len(plan.moves), plan.unplaced) == (len(amounts), [])
    assert lose(Survival(snapshot), Domain('', frozenset([1])), held).survives
    relocation = Relocation(snapshot, Terms(), SlicedWork())
    places, skipped = relocation.rest({1})
    needs = relocation.needs(held, {1}, frozenset())
    complete = [
        order
        for order in Order
        if not relocation.place(Filling(places, skipped, order), needs.by_amounts, needs).unplaced
    ]
    assert complete == [only]


def test_a_place_that_is_alike_is_taken_first() -> None:
    snapshot = cloud(
        host('old', 4, traits='SSD', aggregates='az1'),
        host('empty', aggregates='az1'),
        host('other zone', traits='SSD', aggregates='az2'),
        host('alike', 4, traits='SSD', aggregates='az1'),
    )
    terms = Terms(within=frozenset(['az1', 'az2']))
    plan = plan_for(snapshot, vcpus(1, 4, 4), frozenset([1]), terms)
    assert [(move.target.uuid, move.is_alike) for move in plan.moves] == [
        ('alike', True),
        ('empty', False),
    ]


def pooled(pool_used: int) -> Snapshot:
    hosts = host('old', 4, aggregates='room'), host('new', aggregates='room')
    return cloud(*hosts, pool(pool_used))


def test_pools_are_held_twice_on_the_way() -> None:
    disks = (10, 20, 30)
    held: dict[str, Held] = {
        f'c{n}': {1: {'VCPU': 1}, 3: {'DISK_GB': disk}} for n, disk in enumerate(disks)
    }
    plan = {used: plan_for(pooled(used), held, frozenset([1])) for used in (40, 50, 70, 90)}
    assert [each.at_once for each in plan.values()] == [3, 2, 1, 0]
    assert all(len(each.moves) == 3 for each in plan.values())
    assert plan[40].moves[0].holds == {2: {'VCPU': 1}, 3: held[plan[40].moves[0].consumer][3]}


@pytest.mark.parametrize(
    ('disk', 'hold', 'is_possible'),
    [(30, 30, True), (20, 30, True), (40, 30, True), (41, 30, False), (30, None, False)],
)
def test_what_was_asked_for_may_take_what_its_consumer_held_of_a_pool(
    disk: int, hold: int | None, is_possible: bool
) -> None:
    asked = Need(parse(f'resources=VCPU:2,DISK_GB:{disk}'))
    held: dict[str, Held] = {'c': {1: {'VCPU': 2}} | ({3: {'DISK_GB': hold}} if hold else {})}
    plan = plan_for(pooled(60), held, frozenset([1]), Terms(asked={'c': asked}))
    assert plan.moves[0].holds == {2: {'VCPU': 2}, 3: {'DISK_GB': disk}}
    full = plan_for(pooled(90), held, frozenset([1]), Terms(asked={'c': asked}))
    assert len(full.moves) == is_possible
    # Held twice on the way, it has no room.
    assert full.at_once == 0
    loss = Survival(pooled(90), Terms(asked={'c': asked}))
    survives = lose(loss, Domain('', frozenset([1])), held)
    assert survives.survives is is_possible
    assert survives.lacking == ({} if is_possible else {'VCPU': 2, 'DISK_GB': disk})


@pytest.mark.parametrize('amounts', [(20, 11), (10, 31)])
def test_nobody_else_takes_what_a_consumer_gives_back_of_a_pool(
    amounts: tuple[int, int],
) -> None:
    """The first leaves some of a full pool, which the second would need: whoever comes first."""
    held: dict[str, Held] = {
        'c0': {1: {'VCPU': 2}, 3: {'DISK_GB': 30}},
        'c1': {1: {'VCPU': 2}, 3: {'DISK_GB': amounts[1] - 1}},
    }
    asked = {
        f'c{n}': Need(parse(f'resources=VCPU:2&resources_D=DISK_GB:{amount}&group_policy=none'))
        for n, amount in enumerate(amounts)
    }
    plan = plan_for(pooled(100), held, frozenset([1]), Terms(asked))
    assert targets(plan) == {'c0': 'new'}
    loss = lose(Survival(pooled(100), Terms(asked)), Domain('', frozenset([1])), held)
    assert (loss.survives, loss.is_exact) == (True, True)


def test_room_that_moves_leave_does_not_count() -> None:
    """Of a pool that one leaves and another comes to."""
    snapshot = pooled(90)
    changes: list[tuple[Held, Held]] = [
        ({3: {'DISK_GB': 50}}, {}),
        ({}, {3: {'DISK_GB': 20}}),
    ]
    assert moves_at_once(snapshot, changes) == 0


def test_a_pool_is_not_emptied() -> None:
    held: dict[str, Held] = {'c0': {1: {'VCPU': 1}, 3: {'DISK_GB': 10}}}
    plan = plan_for(pooled(10), held, frozenset([3]))
    assert not plan.moves
    assert 'moves do not empty pools' in plan.unplaced[0].lacking.words
    plan = plan_for(pooled(10), {'c': {3: {'DISK_GB': 10}}, 'd': {1: {'VCPU': 1}}}, None)
    assert targets(plan) == {'d': 'new'}
    assert plan.unplaced[0].lacking.words == 'It has no allocations on a tree that it could leave.'


def test_a_tree_without_inventories_is_not_full() -> None:
    """A pool serves what was held of the old tree's own disk; two parts may be too much of it."""
    snapshot = cloud(
        provider('old', aggregates='room', DISK_GB={'total': 9, 'used': 3}),
        provider('bare', aggregates='room'),
        pool(3, 90, max_unit=5),
    )
    plan = plan_for(snapshot, {'c': {1: {'DISK_GB': 3}}}, frozenset([1]))
    assert targets(plan) == {'c': 'bare'}
    assert plan.fullest == []
    plan = plan_for(snapshot, {'c': {1: {'DISK_GB': 3}, 3: {'DISK_GB': 3}}}, frozenset([1]))
    assert not plan.moves
    assert 'more of its pool' in plan.unplaced[0].lacking.words
