# SPDX-License-Identifier: Apache-2.0
"""Sums of a tree hide neither an inventory over its capacity nor a disabled member."""

from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import cloud, provider
from placement_insight.search.tree_sums import ClassSum, FullestInventory, TreeSums, sums_of


def sums(snapshot: Snapshot) -> TreeSums:
    return sums_of(snapshot.tree(1))


def test_inventory_over_its_capacity_takes_nothing_from_what_others_have_free() -> None:
    found = sums(
        cloud(
            provider('cn', DISK_GB=100),
            provider('n0', 'cn', VCPU={'total': 8, 'used': 2}),
            provider('n1', 'cn', VCPU={'total': 8, 'reserved': 4, 'used': 6}),
        )
    )

    assert found.resources == {'DISK_GB': ClassSum(100, 0, 100), 'VCPU': ClassSum(12, 8, 6)}
    assert (found.providers, found.over_capacity) == (3, 1)
    assert found.fullest == FullestInventory('n1', 'VCPU', 4, 6)


def test_what_is_used_without_capacity_is_the_fullest() -> None:
    reserved = {'total': 8, 'reserved': 8, 'used': 1}
    found = sums(cloud(provider('cn', VCPU={'total': 1, 'used': 9}, VGPU=reserved)))

    assert found.fullest == FullestInventory('cn', 'VGPU', 0, 1)
    assert found.over_capacity == 2


def test_tree_without_capacity_has_no_fullest_inventory() -> None:
    assert sums(cloud(provider('cn', VCPU={'total': 8, 'reserved': 8}))).fullest is None
    assert sums(cloud(provider('cn'))) == TreeSums(1, 0, 0, {}, None)


def test_disabled_members_are_counted() -> None:
    disabled = 'COMPUTE_STATUS_DISABLED'
    found = sums(cloud(provider('cn', traits=disabled), provider('n0', 'cn', traits=disabled)))

    assert found.disabled == 2
