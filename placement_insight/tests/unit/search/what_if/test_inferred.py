# SPDX-License-Identifier: Apache-2.0
"""Needs that are inferred from what consumers hold."""

import hypothesis

from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import cloud, provider
from placement.tests.unit.search.oracle import Cloud, solve
from placement.tests.unit.search.test_oracle import examples, questions
from placement_insight.search.what_if.inferred import Inference
from placement_insight.tests.unit.search.what_if.consumers import pool


@examples(800)
@hypothesis.given(questions())
def test_what_was_claimed_fits_the_very_place_it_came_from(question: tuple) -> None:
    rows, request = question
    snapshot = Snapshot.of(rows)
    ids = {row.uuid: row.id for row in rows}
    for found, anchors in list(solve(Cloud(rows), request).items())[:20]:
        held: dict[int, dict[str, int]] = {}
        for uuid, name, amount in found.allocations:
            held.setdefault(ids[uuid], {})[name] = amount
        for anchor in anchors:
            lost = {ids[anchor]}
            inside = {i for i in held if snapshot.provider(i).root_id in lost}
            inferred = Inference(snapshot).of(
                held, lost, snapshot.provider(ids[anchor]).aggregates
            )
            shares = any(snapshot.provider(i).kind.profile.is_sharing for i in inside)
            assert (inferred.by_amounts is None) is shares
            if not inside or inferred.by_amounts is None or inferred.alike is None:
                continue
            there = {item for item in found.allocations if ids[item[0]] in inside}
            for need in (inferred.by_amounts, inferred.alike):
                assert need.admits(snapshot.tree(ids[anchor]))
                assert there in [one.allocations for one in solve(Cloud(rows), need.request)]


HOSTS = cloud(
    provider('host', traits='FAST COMPUTE_STATUS_DISABLED', aggregates='az1 room', VCPU=8),
    provider('numa', 'host', traits='NUMA', MEMORY_MB=64),
    pool(),
    provider('other', aggregates='az2', VCPU=8),
)
HELD = {1: {'VCPU': 2}, 2: {'MEMORY_MB': 16}, 3: {'DISK_GB': 10}}


def test_what_is_held_of_roots_and_of_others_makes_groups() -> None:
    need = Inference(HOSTS).of(HELD, {1}).by_amounts
    assert need is not None
    assert [(g.suffix, g.resources, g.required) for g in need.request.groups] == [
        ('', {'VCPU': 2}, ()),
        ('_1', {'MEMORY_MB': 16}, ()),
    ]
    assert need.request.root_forbidden == {'COMPUTE_STATUS_DISABLED'}
    assert not need.request.isolate
    assert need.reaches == {frozenset({'room'})}


def test_an_alike_tree_has_the_traits_and_the_zone() -> None:
    need = Inference(HOSTS).of(HELD, {1}, frozenset({'az1', 'az2'})).alike
    assert need is not None
    assert [g.required for g in need.request.groups] == [
        (frozenset({'FAST'}),),
        (frozenset({'NUMA'}),),
    ]
    assert need.within == {'az1'}


def test_equal_needs_are_one_object() -> None:
    inference = Inference(HOSTS)
    first, second = (inference.of(dict(HELD), {1}) for _ in range(2))
    assert first.by_amounts is second.by_amounts
    assert first.by_amounts is not first.alike


def test_who_holds_of_a_lost_pool_has_no_need() -> None:
    assert Inference(HOSTS).of(HELD, {3}) == (None, None)


def test_pools_are_no_trees_of_their_own() -> None:
    inference = Inference(HOSTS)
    assert inference.homes(HELD) == {1}
    assert inference.homes({1: {'VCPU': 1}, 4: {'VCPU': 1}}) == {1, 4}
