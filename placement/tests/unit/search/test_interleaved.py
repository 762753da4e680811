# SPDX-License-Identifier: Apache-2.0
"""Neighbouring hosts with different aggregates and traits, which share bounds.

Held against the oracle, on fresh snapshots and on changed ones whose bounds are partly known.
"""

from unittest import mock

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.candidates import find_candidates
from placement.search.model import block
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import cloud, provider, search
from placement.tests.unit.search.oracle import Cloud, solve
from placement.tests.unit.search.test_oracle import ask, examples

CLASSES = ('VCPU', 'DISK_GB')
NAMES = st.lists(st.sampled_from(['A', 'B', 'C', 'AB', '']), min_size=1, max_size=4)
USED = st.lists(st.integers(0, 5), min_size=1, max_size=7)
WANTED = st.lists(st.sampled_from(['A', 'B', 'AC']).map(frozenset), max_size=2).map(tuple)
BARRED = st.sampled_from(['', '', '', 'A', 'C']).map(frozenset)


@st.composite
def interleaved_rows(draw: st.DrawFn) -> list[ProviderRow]:
    """Hosts in two blocks that have aggregates, traits and usage in turn; one in so many has its
    disk in a child."""
    aggregates, traits, used = draw(NAMES), draw(NAMES), draw(USED)
    nested_each = draw(st.sampled_from([100, 2, 5]))
    rows = []
    for number in range(16):
        # Ids are spread over two blocks.
        root = number * 8 + 1
        inventories = {
            name: InventoryRow(4, used=used[(number + position) % len(used)])
            for position, name in enumerate(CLASSES)
        }
        host = ProviderRow(
            root,
            f'host{number}',
            None,
            root,
            inventories,
            frozenset(traits[number % len(traits)]),
            frozenset(aggregates[number % len(aggregates)]),
        )
        if number % nested_each == 1:
            disk = {'DISK_GB': inventories.pop('DISK_GB')}
            rows.append(ProviderRow(root + 1, f'disk{number}', root, root, disk))
        rows.append(host)
    return rows


@st.composite
def requests(draw: st.DrawFn) -> CandidateRequest:
    """One unsuffixed group or one of its own, for one class or both."""
    group = RequestGroup(
        suffix=draw(st.sampled_from(['', '_N'])),
        resources=dict.fromkeys(draw(st.sampled_from([CLASSES, *[(n,) for n in CLASSES]])), 2),
        required=draw(WANTED),
        forbidden=draw(BARRED),
        member_of=draw(WANTED),
        forbidden_aggregates=draw(BARRED),
    )
    return CandidateRequest((group,))


@examples(400)
@hypothesis.given(interleaved_rows(), requests())
def test_every_candidate_among_interleaved_hosts_is_found(
    rows: list[ProviderRow], request: CandidateRequest
) -> None:
    found = ask(Snapshot.of(rows), request)
    assert len(found) == len(set(found))
    assert set(found) == set(solve(Cloud(rows), request))


@examples(200)
@hypothesis.given(
    interleaved_rows(), interleaved_rows(), st.lists(requests(), min_size=2, max_size=3)
)
def test_known_bounds_change_neither_answers_nor_work(
    before: list[ProviderRow], after: list[ProviderRow], requests: list[CandidateRequest]
) -> None:
    """Change a snapshot after searches: answers and work equal those of a new snapshot."""
    snapshot = Snapshot.of(before)
    for request in requests:
        find_candidates(snapshot, request)
    gone = {row.id for row in before} - {row.id for row in after}
    # One block changes altogether, of the other only what is used where that is all.
    used = {
        row.id: {name: one.used for name, one in row.inventories.items()}
        for row in after
        if row.id not in gone and snapshot.has_provider(row.id)
    }
    snapshot = snapshot.with_used(used)
    for request in requests:
        find_candidates(snapshot, request)
    snapshot = snapshot.with_changes(after, gone)
    for request in requests:
        known = find_candidates(snapshot, request)
        fresh = find_candidates(Snapshot.of(after), request)
        assert ask(snapshot, request) == ask(Snapshot.of(after), request)
        assert known.work == fresh.work


@pytest.mark.parametrize(
    ('query', 'full'),
    [
        ('resources=VCPU:5&member_of=Z0', {0}),
        ('resources_N=VCPU:5&member_of_N=Z0', {0}),
        ('resources_N=VCPU:5&required_N=T0', {0}),
        ('resources=VCPU:5&required=!T1,!T2,!T3', {0, 4, 5}),
        ('resources=VCPU:5&member_of=!in:Z1,Z2,Z3', {0, 4, 5}),
    ],
)
def test_wanted_hosts_that_are_full_are_passed_over_beside_others_with_room(
    query: str, full: set[int]
) -> None:
    hosts = [
        provider(
            f'host{n}',
            traits=f'T{n % 6}',
            aggregates=f'Z{n % 6}',
            VCPU={'total': 8, 'used': 4 if n % 6 in full else 0},
        )
        for n in range(640)
    ]
    result = search(cloud(*hosts), query)
    assert not result.candidates
    # Hosts are judged by their profiles, block by block.
    assert result.work < 640


def test_root_in_an_aggregate_spans_children_that_are_not() -> None:
    hosts = [
        one
        for n in range(70)
        for one in (
            provider(f'cn{n}', aggregates='A' if n == 69 else 'B'),
            provider(f'numa{n}', parent=f'cn{n}', VCPU=8),
        )
    ]
    found = search(cloud(*hosts), 'resources=VCPU:1&member_of=A')
    assert [one.uuid for one in found.providers] == ['cn69', 'numa69']
    assert not search(cloud(*hosts), 'resources_N=VCPU:1&member_of_N=A').candidates
    nowhere = search(cloud(*hosts[:-2]), 'resources=VCPU:1&member_of=A')
    assert not nowhere.candidates
    # Blocks without such a root are passed over.
    assert nowhere.work < 70


def test_search_looks_for_room_only_where_and_of_what_it_asks() -> None:
    hosts = [provider(f'host{n}', VCPU=8 + n, DISK_GB=9, FPGA=1) for n in range(1, 640)]
    snapshot = cloud(*hosts)
    with mock.patch.object(block, '_rooms', side_effect=block._rooms) as looked:
        assert search(snapshot, 'resources=VCPU:1,DISK_GB:1', limit=1).candidates
        # Two classes in the first block.
        assert looked.call_count == 2
        assert search(snapshot, 'resources=VCPU:1,DISK_GB:1', limit=1).candidates
        assert looked.call_count == 2
        claimed = snapshot.with_used({1: {'VCPU': 1}, 639: {'VCPU': 1}})
        assert search(claimed, 'resources=VCPU:1,DISK_GB:1', limit=1).candidates
        assert looked.call_count == 4
        # One class, and what no host can have is not looked for as if nothing were used again.
        assert not search(snapshot, 'resources=VCPU:9999').candidates
        assert looked.call_count <= 4 + 2 * len(snapshot.blocks)
