# SPDX-License-Identifier: Apache-2.0
"""Candidates that would take promised room, against counts by trying every claim."""

import dataclasses
import random
from unittest import mock

import pytest

from placement.search.candidate import Candidate
from placement.search.candidates import Result, SearchDone, find_candidates
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.thorough import THOROUGH
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider, who
from placement_insight.search import promised_room
from placement_insight.search.empty_search import Verdict, explain_empty
from placement_insight.search.promised_room import (
    GuardedOffer,
    PromisedRoom,
    guards_of,
    is_exempt,
    refusal_of,
)

BIG = parse('resources=VCPU:4,MEMORY_MB:40&required=!COMPUTE_STATUS_DISABLED')
HOSTS = cloud(*[provider(f'cn{n}', VCPU=8, MEMORY_MB=100) for n in range(3)])


def fail() -> None:
    pytest.fail('the offer has failed')


def offer_for(
    snapshot: Snapshot, asked: CandidateRequest, *promises: tuple[CandidateRequest, int]
) -> GuardedOffer:
    rooms = [
        (f'p{number}', count, PromisedRoom(request))
        for number, (request, count) in enumerate(promises)
    ]
    return GuardedOffer(snapshot, guards_of(snapshot, asked, rooms), mock.Mock(), fail)


def offered(
    snapshot: Snapshot, query: str, count: int, promised: CandidateRequest = BIG
) -> Result:
    asked = parse(query)
    offer = offer_for(snapshot, asked, (promised, count))
    return find_candidates(snapshot, asked, admits=offer.admits)


def claimed(snapshot: Snapshot, candidate: Candidate) -> Snapshot:
    return snapshot.with_used(
        {one.id: one.used_after(amounts) for one, amounts in candidate.allocations.items()}
    )


def count_of(
    snapshot: Snapshot, request: CandidateRequest, known: dict[object, int] | None = None
) -> int:
    """The largest number of consumers over all orders of claims."""
    known = {} if known is None else known
    state = tuple(one.used for one in snapshot)
    if state not in known:
        candidates = find_candidates(snapshot, request).candidates
        known[state] = max(
            (1 + count_of(claimed(snapshot, one), request, known) for one in candidates),
            default=0,
        )
    return known[state]


def random_cloud(draw: random.Random) -> Snapshot:
    def inventory(total: int) -> dict[str, float]:
        return {'total': total, 'used': draw.randrange(total + 2)}

    providers = []
    for number in range(draw.randint(1, 3)):
        host, traits = f'cn{number}', draw.choice(['', '', 'COMPUTE_STATUS_DISABLED', 'FAST'])
        if draw.random() < 0.5:
            providers.append(
                provider(host, traits=traits, VCPU=inventory(8), MEMORY_MB=inventory(8))
            )
            continue
        providers.append(provider(host, traits=traits, MEMORY_MB=inventory(8)))
        providers += [
            provider(
                f'{host}_{node}', parent=host, traits=draw.choice(['', 'FAST']), VCPU=inventory(4)
            )
            for node in range(draw.randint(1, 2))
        ]
    return cloud(*providers)


PROMISED = (
    'resources=VCPU:2,MEMORY_MB:2',
    'resources=VCPU:3,MEMORY_MB:1&required=!COMPUTE_STATUS_DISABLED',
    'resources=VCPU:1,MEMORY_MB:4&required=FAST',
)
ASKED = ('resources=VCPU:1', 'resources=MEMORY_MB:3', 'resources=VCPU:1,MEMORY_MB:1',
         'resources1=VCPU:1&resources2=VCPU:1&group_policy=none')  # fmt: skip


@pytest.mark.parametrize('seed', range(400 if THOROUGH else 100))
def test_exactly_those_that_take_promised_room_are_withheld(seed: int) -> None:
    draw = random.Random(seed)
    snapshot, promised = random_cloud(draw), parse(draw.choice(PROMISED))
    if refusal_of(promised, snapshot):
        return
    asked, count = parse(draw.choice(ASKED)), draw.randint(1, 5)
    known: dict[object, int] = {}
    before = count_of(snapshot, promised, known)
    assert PromisedRoom(promised).of_all(snapshot)[0] == before

    def breaks(candidate: Candidate) -> bool:
        after = count_of(claimed(snapshot, candidate), promised, known)
        return after < before and after < count

    offer = offer_for(snapshot, asked, (promised, count))
    every = find_candidates(snapshot, asked).candidates
    kept = find_candidates(snapshot, asked, admits=offer.admits, closed=offer.closed).candidates
    assert [one.identity for one in kept] == [one.identity for one in every if not breaks(one)]
    roots = {one.providers[0].root_id for one in every if breaks(one)}
    assert sum(offer.withheld.values()) == len(roots)


def test_room_is_counted_again_after_claims_and_changes() -> None:
    room, snapshot = PromisedRoom(BIG), HOSTS
    assert room.of_all(snapshot) == (6, 2)
    snapshot = snapshot.with_used({2: {'VCPU': 5}})
    assert room.of_all(snapshot) == (4, 2)
    (row,) = (one.as_row() for one in snapshot if one.uuid == 'cn0')
    snapshot = snapshot.with_changes([row._replace(traits=['COMPUTE_STATUS_DISABLED'])])
    assert room.of_all(snapshot) == (2, 2)
    assert room.of_all(snapshot.with_changes([], [1, 2, 3])) == (0, 0)


@pytest.mark.parametrize(
    ('count', 'expected'),
    [
        (4, ['cn0', 'cn1', 'cn2']),
        # One more claim leaves five.
        (5, ['cn0', 'cn1', 'cn2']),
        (6, []),
        # What is left of a broken promise.
        (7, []),
    ],
)
def test_candidates_are_withheld_below_the_number(count: int, expected: list[str]) -> None:
    assert who(offered(HOSTS, 'resources=VCPU:1', count)) == expected


def test_what_takes_no_room_is_offered() -> None:
    nearly_full = HOSTS.with_used({1: {'VCPU': 5}, 2: {'VCPU': 6}, 3: {'VCPU': 3}})
    # Two processors more cost no consumer of four, but on the third host.
    assert who(offered(nearly_full, 'resources=VCPU:2', 1)) == ['cn0', 'cn1']


def test_those_to_whom_the_room_is_promised_get_it() -> None:
    assert who(offered(HOSTS, 'resources=VCPU:4,MEMORY_MB:40', 6)) == ['cn0', 'cn1', 'cn2']
    assert is_exempt(parse('resources=VCPU:8,MEMORY_MB:40,DISK_GB:1'), BIG)
    assert not is_exempt(parse('resources=VCPU:8'), BIG)
    # The amounts of two groups together are not those of a server of the promise.
    assert not is_exempt(parse('resources=VCPU:4&resources1=MEMORY_MB:40'), BIG)
    fast = parse('resources=VCPU:4,MEMORY_MB:40&required=FAST&member_of=agg')
    assert not is_exempt(parse('resources=VCPU:4,MEMORY_MB:40&required=FAST'), fast)
    assert not is_exempt(parse('resources=VCPU:4,MEMORY_MB:40&member_of=agg'), fast)
    assert is_exempt(parse('resources=VCPU:4,MEMORY_MB:40&member_of=agg&required=FAST,X'), fast)
    any_of = parse('resources=VCPU:4,MEMORY_MB:40&required=in:FAST,FASTER')
    assert is_exempt(parse('resources=VCPU:4,MEMORY_MB:40&required=FASTER'), any_of)
    assert not is_exempt(parse('resources=VCPU:4,MEMORY_MB:40&required=in:FAST,SLOW'), any_of)
    at_root = parse('resources=VCPU:4,MEMORY_MB:40&root_required=FAST')
    assert not is_exempt(parse('resources=VCPU:4,MEMORY_MB:40&required=FAST'), at_root)
    assert is_exempt(parse('resources=VCPU:4,MEMORY_MB:40&root_required=FAST'), at_root)


def test_hosts_whose_room_would_be_withheld_are_counted() -> None:
    room = PromisedRoom(BIG)
    snapshot = HOSTS.with_used({1: {'VCPU': 3}, 2: {'VCPU': 8}})
    held = {promised: room.held_trees(snapshot, promised) for promised in range(5)}
    # Room for one, none and two.
    assert held == {0: 0, 1: 0, 2: 1, 3: 2, 4: 2}


def test_any_of_several_promises_withholds() -> None:
    asked = parse('resources=VCPU:1')
    small = parse('resources=VCPU:2,MEMORY_MB:1')
    offer = offer_for(HOSTS, asked, (BIG, 1), (small, 12))
    assert not find_candidates(HOSTS, asked, admits=offer.admits).candidates
    assert offer.by_promise == {'p1': 3}


def test_nothing_is_looked_at_with_more_to_spare_than_a_tree_holds() -> None:
    rooms = [('p', 4, PromisedRoom(BIG))]
    assert guards_of(HOSTS, parse('resources=VCPU:1'), rooms) == []
    rooms = [('p', 5, PromisedRoom(BIG))]
    assert len(guards_of(HOSTS, parse('resources=VCPU:1'), rooms)) == 1


def test_the_limit_is_filled_with_what_is_offered() -> None:
    snapshot = cloud(
        *[provider(f'cn{n}', VCPU=8, MEMORY_MB=100) for n in range(3)],
        *[provider(f'odd{n}', VCPU=3, MEMORY_MB=100) for n in range(3)],
    )
    result = offered(snapshot, 'resources=VCPU:1&limit=3', 6)
    assert who(result) == ['odd0', 'odd1', 'odd2']


def test_candidates_are_offered_once_the_steps_are_spent() -> None:
    asked = parse('resources=VCPU:1')
    # The first two are alike.
    snapshot = HOSTS.with_used({3: {'VCPU': 4}})
    with mock.patch.object(promised_room, 'MAX_STEPS', 4):
        undecided = mock.Mock()
        guards = guards_of(snapshot, asked, [('p', 5, PromisedRoom(BIG))])
        offer = GuardedOffer(snapshot, guards, undecided, fail)
        assert who(find_candidates(snapshot, asked, admits=offer.admits)) == ['cn2']
    assert undecided.call_count == 1
    assert offer.withheld == {'promise p': 2}


def test_alike_hosts_are_decided_once() -> None:
    snapshot = cloud(*[provider(f'cn{n}', VCPU=8, MEMORY_MB=100) for n in range(20)])
    with mock.patch.object(promised_room, 'MAX_STEPS', 30):
        assert who(offered(snapshot, 'resources=VCPU:1', 40)) == []


def with_devices(*nodes: str) -> Snapshot:
    """Three hosts of sixteen devices, with room for one consumer on each node."""
    return cloud(
        *[
            one
            for number in range(3)
            for one in (
                provider(f'cn{number}', parent=None, DISK_GB=10),
                *[
                    provider(f'cn{number}_{node}', f'cn{number}', VCPU=4, MEMORY_MB=40)
                    for node in nodes
                ],
                *[provider(f'cn{number}_gpu{gpu}', f'cn{number}', VGPU=1) for gpu in range(16)],
            )
        ]
    )


MANY = (
    'resources=VCPU:1&resources1=VGPU:1&resources2=VGPU:1&resources3=VGPU:1&group_policy=isolate'
)


def test_a_withheld_host_with_many_devices_is_left_at_once() -> None:
    snapshot, asked = with_devices('a'), parse(MANY)
    offer = offer_for(snapshot, asked, (BIG, 3))
    result = find_candidates(snapshot, asked, admits=offer.admits, closed=offer.closed)
    assert (len(result.candidates), result.is_cut, offer.by_promise) == (0, False, {'p0': 3})
    assert result.work < 1_000
    offered = offer_for(snapshot, asked, (BIG, 2))
    assert len(find_candidates(snapshot, asked).candidates) == len(
        find_candidates(snapshot, asked, admits=offered.admits, closed=offered.closed).candidates
    )


def test_withheld_candidates_are_not_looked_at_for_ever() -> None:
    snapshot, asked = with_devices('a', 'b'), parse(MANY)
    with mock.patch.object(promised_room, 'MAX_STEPS', 1_000):
        offer = offer_for(snapshot, asked, (BIG, 6))
        result = find_candidates(snapshot, asked, admits=offer.admits, closed=offer.closed)
    assert (len(result.candidates), offer.by_promise) == (0, {'p0': 3})
    assert result.work < 10_000


def test_candidates_are_offered_after_a_defect() -> None:
    asked, failed = parse('resources=VCPU:1'), mock.Mock()
    guards = guards_of(HOSTS, asked, [('p', 6, PromisedRoom(BIG))])
    offer = GuardedOffer(HOSTS, guards, fail, failed)
    with mock.patch.object(PromisedRoom, 'of_tree', side_effect=ZeroDivisionError):
        assert len(find_candidates(HOSTS, asked, admits=offer.admits).candidates) == 3
    failed.assert_called_once_with()


@pytest.mark.parametrize(
    ('query', 'reason'),
    [
        ('resources1=VCPU:4,MEMORY_MB:40', 'has to have one group without a suffix'),
        ('resources=VCPU:4,MEMORY_MB:40&resources1=DISK_GB:1', 'has to have one group'),
        ('resources=VCPU:4', 'at least two resource classes'),
        ('resources=VCPU:4,MEMORY_MB:40&in_tree=cn0', 'names a tree'),
        ('resources=VCPU:4,DISK_GB:10', 'sharing providers have a resource class'),
        ('resources=VCPU:1,MEMORY_MB:1', 'cn0 has room for 20 when it is empty'),
        ('resources=VCPU:4,VGPU:1&required=A,B', 'gpus have only together the traits'),
    ],
)
def test_a_promise_that_cannot_be_kept_exactly_is_refused(query: str, reason: str) -> None:
    snapshot = cloud(
        provider('cn0', VCPU=20, MEMORY_MB=100),
        provider('pool', DISK_GB=1_000, traits=SHARING, aggregates='agg'),
        provider('gpus', VCPU=8),
        provider('gpu1', parent='gpus', VGPU=1, traits='A'),
        provider('gpu2', parent='gpus', VGPU=1, traits='B'),
    )
    assert reason in (refusal_of(parse(query), snapshot) or '')


def test_pools_of_other_classes_keep_no_promise_from_being_kept() -> None:
    snapshot = cloud(
        provider('cn0', VCPU=8, MEMORY_MB=100, aggregates='agg'),
        provider('pool', DISK_GB=1_000, traits=SHARING, aggregates='agg'),
    )
    assert refusal_of(BIG, snapshot) is None
    assert who(offered(snapshot, 'resources=DISK_GB:10', 2)) == ['pool']
    assert who(offered(snapshot, 'resources=VCPU:1,DISK_GB:10', 2)) == []


def test_a_pool_that_comes_later_ends_the_withholding() -> None:
    """The count of a tree no longer depends on that tree alone."""
    snapshot = cloud(
        provider('cn0', VCPU=8, MEMORY_MB=100, aggregates='agg'),
        provider('pool', MEMORY_MB=1_000, traits=SHARING, aggregates='agg'),
    )
    assert who(offered(snapshot, 'resources=VCPU:1', 2)) == ['cn0']


def test_a_tree_that_cannot_be_counted_is_not_taken_for_full() -> None:
    promised = parse('resources=VCPU:4,MEMORY_MB:40&required=A,B')
    snapshot = cloud(
        provider('cn0', VCPU=8, MEMORY_MB=100, traits='A B'),
        provider('gpus', MEMORY_MB=400),
        provider('gpu1', parent='gpus', VCPU=20, traits='A'),
        provider('gpu2', parent='gpus', VCPU=20, traits='A B'),
    )
    # Two, and five.
    assert count_of(snapshot, promised) == 7
    assert who(offered(snapshot, 'resources=VCPU:1', 3, promised)) == ['cn0', 'gpu1', 'gpu2']
    # At most ten, so that a claim on the other host leaves less than twelve.
    assert who(offered(snapshot, 'resources=VCPU:1', 12, promised)) == ['gpu1', 'gpu2']
    assert PromisedRoom(promised).held_trees(snapshot, 12) == 1


def test_a_promise_without_any_room_is_not_looked_at() -> None:
    full = HOSTS.with_used({1: {'VCPU': 8}, 2: {'VCPU': 8}, 3: {'VCPU': 8}})
    assert guards_of(full, parse('resources=MEMORY_MB:1'), [('p', 6, PromisedRoom(BIG))]) == []


def test_nobody_knows_whether_a_withheld_search_without_steps_is_full() -> None:
    asked = dataclasses.replace(parse('resources=VCPU:1'), budget=10)
    offer = offer_for(HOSTS, asked, (BIG, 6))
    result = find_candidates(HOSTS, asked, admits=offer.admits)
    explanation = explain_empty(SearchDone(HOSTS, asked, result, 0.0, offer.withheld))
    assert result.is_cut
    assert explanation.verdict is Verdict.UNKNOWN
    assert 'promise p0, the search budget was spent' in explanation.reason()
