# SPDX-License-Identifier: Apache-2.0
"""A snapshot and its successors."""

import random
import weakref
from collections.abc import Iterator

import hypothesis
from hypothesis import strategies as st

from placement.search.model.block import BLOCK_BITS
from placement.search.model.capacity import Capacity
from placement.search.model.kind import InternPool
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.search.model.tree import Tree
from placement.tests.unit.search.cloud import (
    cloud,
    contents,
    provider,
    rows_in,
    rows_of,
    search,
    who,
)
from placement.tests.unit.search.test_oracle import choose_cloud


@hypothesis.given(st.randoms(use_true_random=False))
def test_a_successor_with_other_usage_equals_a_fresh_snapshot(chance: random.Random) -> None:
    rows = {row.id: row for row in choose_cloud(chance.choice)}
    before, old_rows = Snapshot.of(rows.values()), dict(rows)
    used = {}
    for one in chance.sample(sorted(rows), chance.randint(0, len(rows))):
        # There may be allocations of what a provider has no inventory of; nobody can see those.
        amounts = {name: chance.randint(1, 3) for name in ('VCPU', 'DISK_GB', 'FPGA')}
        used[one] = {name: amounts[name] for name in amounts if chance.random() < 0.7}
        inventories = {
            name: inventory._replace(used=used[one].get(name, 0))
            for name, inventory in rows[one].inventories.items()
        }
        rows[one] = rows[one]._replace(inventories=inventories)

    after, fresh = before.with_used(used), Snapshot.of(rows.values())
    assert contents(after) == contents(fresh)
    assert [tree.usage for tree in trees(after)] == [tree.usage for tree in trees(fresh)]
    assert [tree.shape for tree in trees(after)] == [tree.shape for tree in trees(before)]
    for one, row in rows.items():
        assert after.find_by_uuid(row.uuid) is after.provider(one)
        if old_rows[one] == row:
            assert after.provider(one) is before.provider(one)
    assert contents(before) == contents(Snapshot.of(old_rows.values()))
    assert (after is before) == (rows == old_rows)


def trees(snapshot: Snapshot) -> list[Tree]:
    return [tree for block in snapshot.blocks.values() for tree in block.trees.values()]


def many(count: int) -> list[ProviderRow]:
    return list(rows_of(*[provider(f'cn{number}', VCPU=8) for number in range(1, count + 1)]))


def test_a_change_shares_all_blocks_but_its_own() -> None:
    rows = many(1000)
    before = Snapshot.of(rows)
    after = before.with_changes([rows[0]._replace(traits=['T'])])
    different = [
        number for number, block in before.blocks.items() if block is not after.blocks[number]
    ]
    assert different == [1 >> BLOCK_BITS]
    untouched = [one for one in before.blocks[0].trees if one != 1]
    assert all(before.tree(one) is after.tree(one) for one in untouched)


def test_other_usage_shares_all_trees_but_its_own() -> None:
    before = Snapshot.of(many(1000))
    after = before.with_used({1: {'VCPU': 3}, 999: {'VCPU': 4}})
    different = [
        old.root_id for old, new in zip(trees(before), trees(after), strict=True) if old is not new
    ]
    assert different == [1, 999]
    changed = {1 >> BLOCK_BITS, 999 >> BLOCK_BITS}
    assert all(
        (number in changed) == (block is not after.blocks[number])
        for number, block in before.blocks.items()
    )


def test_alike_providers_share_their_kind() -> None:
    snapshot = Snapshot.of(many(100))
    assert len({one.kind for one in snapshot}) == 1
    assert len({snapshot.tree(one.id).shape for one in snapshot}) == 1


def test_providers_that_use_the_same_share_the_amounts() -> None:
    inventories = ({'VCPU': InventoryRow(800, used=400 + number % 2)} for number in range(100))
    snapshot = Snapshot.of(
        ProviderRow(number, f'p{number}', inventories=inventory)
        for number, inventory in enumerate(inventories, 1)
    )
    assert len({id(one.used) for one in snapshot}) == 2


class Inventories(dict[str, InventoryRow]):
    """Inventories that accept weak references."""


def test_snapshot_releases_each_row_before_it_reads_the_next() -> None:
    held: list[weakref.ref[Inventories]] = []

    def rows() -> Iterator[ProviderRow]:
        for number in range(1, 5):
            inventories = Inventories(VCPU=InventoryRow(8))
            held.append(weakref.ref(inventories))
            yield ProviderRow(number, f'p{number}', 1 if number > 1 else None, 1, inventories)
            assert all(reference() is None for reference in held[:-1])

    assert len(Snapshot.of(rows())) == 4


def test_search_ends_where_parents_form_a_circle() -> None:
    vcpu = {'VCPU': InventoryRow(8)}
    snapshot = Snapshot.of([ProviderRow(1, 'p1', 2, 1), ProviderRow(2, 'p2', 1, 1, vcpu)])
    query = 'resources_A=VCPU:1&resources_B=VCPU:1&same_subtree=_A,_B&group_policy='
    assert who(search(snapshot, query + 'none')) == ['p2']
    assert who(search(snapshot, query + 'isolate')) == []


def test_provider_is_there_whose_root_is_in_another_tree() -> None:
    """Load rows of concurrent writers: one gives a root a parent, one adds a child to it."""
    vcpu = {'VCPU': InventoryRow(8)}
    snapshot = Snapshot.of(
        [
            ProviderRow(1, 'new root', None, 1),
            ProviderRow(2, 'former root', 1, 1),
            ProviderRow(3, 'child', 2, 2, vcpu),
            ProviderRow(4, 'another child', 2, 2, vcpu),
        ]
    )
    assert [snapshot.provider(number).uuid for number in (2, 3, 4)] == [
        'former root',
        'child',
        'another child',
    ]
    assert who(search(snapshot, 'resources=VCPU:1')) == ['another child', 'child']
    used = snapshot.with_used({3: {'VCPU': 8}})
    assert who(search(used, 'resources=VCPU:1')) == ['another child']
    assert len(snapshot.with_changes([], [3])) == 3


def test_pool_forgets_values_that_no_snapshot_holds() -> None:
    pool = InternPool()
    kept = [pool.shared(Capacity, total) for total in range(100)]
    for total in range(100, 30_000):
        pool.shared(Capacity, total)
    assert len(pool) <= 10_000
    assert all(pool.shared(Capacity, one.total) is one for one in kept)


def test_snapshot_knows_which_names_are_in_use() -> None:
    before = cloud(
        provider('cn1', traits='FAST', VCPU=8), provider('cn2', traits='FAST BIG', FPGA=1)
    )
    after = before.with_changes([rows_in(before)[2]._replace(traits=[], inventories={})])
    assert before.has_trait('BIG')
    assert before.has_class('FPGA')
    assert after.has_trait('FAST')
    assert not after.has_trait('BIG')
    assert not after.has_class('FPGA')
    assert not after.with_changes([], [1]).has_trait('FAST')
