# SPDX-License-Identifier: Apache-2.0
"""Sharing providers serve the trees that they share with, wherever their ids lie."""

from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import SHARING, cloud, provider, search, who


def test_alike_hosts_use_the_pools_of_their_own_aggregates() -> None:
    pools = [
        provider(f'pool{aggregate}', DISK_GB=9, traits=SHARING, aggregates=aggregate)
        for aggregate in 'AB'
    ]
    hosts = [
        provider(f'host{aggregate}', VCPU=9, aggregates=aggregate.strip('-'))
        for aggregate in ('A', 'B', '-')
    ]
    result = search(cloud(*pools, *hosts), 'resources=VCPU:1,DISK_GB:1')
    assert who(result) == ['hostA+poolA', 'hostB+poolB']


def test_pool_has_to_be_a_member_itself() -> None:
    outside = provider('outside', DISK_GB=9, traits=SHARING, aggregates='A')
    inside = provider('inside', DISK_GB=9, traits=SHARING, aggregates='A Z')
    host = provider('host', VCPU=9, aggregates='A Z')
    result = search(cloud(outside, inside, host), 'resources=VCPU:1,DISK_GB:1&member_of=Z')
    assert who(result) == ['host+inside']


def test_pool_brings_a_trait_to_hosts_of_another_block_of_ids() -> None:
    rows = [
        ProviderRow(1, 'host', None, 1, {'VCPU': InventoryRow(9)}, (), ('A',)),
        ProviderRow(
            1000, 'pool', None, 1000, {'DISK_GB': InventoryRow(9)}, (SHARING, 'SSD'), ('A',)
        ),
    ]
    snapshot = Snapshot.of(rows)
    assert len(snapshot.blocks) == 2
    assert who(search(snapshot, 'resources=VCPU:1,DISK_GB:1&required=SSD')) == ['host+pool']


def test_shares_of_one_tree_are_a_subtree_whatever_lies_between_them() -> None:
    snapshot = cloud(
        provider('host', VCPU=9, aggregates='A'),
        provider('pool', DISK_GB=9, traits=SHARING, aggregates='A'),
        provider('between', 'pool'),
        provider('card', 'between', FPGA=1, traits=SHARING, aggregates='A'),
    )
    query = 'resources=VCPU:1&resources_D=DISK_GB:1&resources_F=FPGA:1&same_subtree=_D,_F'
    assert who(search(snapshot, f'{query}&group_policy=none')) == ['card+host+pool']


def test_pools_that_some_trees_share_with_others_are_found_once() -> None:
    pools = [
        provider('near', DISK_GB=9, traits=SHARING, aggregates='A'),
        provider('both', DISK_GB=9, traits=SHARING, aggregates='A B'),
    ]
    hosts = [provider(f'host{aggregate}', VCPU=9, aggregates=aggregate) for aggregate in 'AB']
    assert who(search(cloud(*pools, *hosts), 'resources=DISK_GB:1')) == ['both', 'near']
