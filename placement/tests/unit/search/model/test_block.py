# SPDX-License-Identifier: Apache-2.0
"""The bounds of a block: never less than one of its providers or trees has room for."""

from placement.tests.unit.search.cloud import cloud, provider, search, who


def test_room_in_a_tree_is_that_of_its_members_in_sum() -> None:
    snapshot = cloud(
        provider('cn1'),
        provider('pf1', parent='cn1', VF={'total': 8, 'used': 5}),
        provider('pf2', parent='cn1', VF={'total': 8, 'max_unit': 4}),
        provider('cn2', VF={'total': 9, 'used': 9}),
    )
    (block,) = snapshot.blocks.values()
    assert block.room_in_tree('VF') == 3 + 4
    assert block.room_in_tree('VF', ignores_usage=True) == 8 + 4


def test_provider_over_its_capacity_takes_no_room_from_others() -> None:
    snapshot = cloud(
        provider('cn'),
        provider('pf1', parent='cn', VF={'total': 8, 'used': 20}),
        provider('pf2', parent='cn', VF=8),
    )
    query = 'resources_1=VF:4&resources_2=VF:4&group_policy=none'
    assert who(search(snapshot, query)) == ['pf2']


def test_bound_knows_what_any_and_what_all_of_its_providers_have() -> None:
    snapshot = cloud(
        provider('cn1', traits='A B', aggregates='X Y', VCPU={'total': 8, 'used': 3}),
        provider('cn2', traits='B C', aggregates='Y', VCPU={'total': 4, 'used': 0}),
        provider('cn3', DISK_GB=7),
    )
    (block,) = snapshot.blocks.values()
    of_cores, of_disks = block.bounds
    assert of_cores.profile.traits == {'A', 'B', 'C'}
    assert of_cores.common.traits == {'B'}
    assert of_cores.profile.aggregates == {'X', 'Y'}
    assert of_cores.common.aggregates == {'Y'}
    assert (of_cores.room(0), of_cores.room(0, ignores_usage=True)) == (5, 8)
    assert [part.room(0) for part in of_cores.parts] == [5, 4]
    assert of_disks.parts == (of_disks,)


def test_blocks_are_passed_over_where_no_tree_has_room_for_all_groups() -> None:
    hosts = [
        one
        for n in range(100)
        for one in (
            provider(f'cn{n}'),
            provider(f'pf{n}', parent=f'cn{n}', VF={'total': 8, 'used': 3}),
            provider(f'other{n}', parent=f'cn{n}', VF={'total': 8, 'used': 4}),
        )
    ]
    query = 'resources_1=VF:5&resources_2=VF:5&group_policy=none'
    result = search(cloud(*hosts), query)
    assert not result.candidates
    # With nothing used, the first host has room.
    assert result.work < 100
