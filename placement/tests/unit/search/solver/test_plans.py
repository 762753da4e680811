# SPDX-License-Identifier: Apache-2.0
"""Trees share a plan only if it is the same for all of them."""

from placement.search.solver.feasibility import Feasibility
from placement.search.solver.work import Work
from placement.tests.unit.search.cloud import SHARING, cloud, parse, provider, search, who


def test_alike_members_with_other_parents_have_plans_of_their_own() -> None:
    hosts = [
        one
        for host, node in ((1, 0), (2, 1))
        for one in (
            provider(f'cn{host}'),
            provider(f'cn{host}_numa0', parent=f'cn{host}', VCPU=8),
            provider(f'cn{host}_numa1', parent=f'cn{host}'),
            provider(f'cn{host}_pf', parent=f'cn{host}_numa{node}', VF=8),
        )
    ]
    query = 'resources_N=VCPU:1&resources_P=VF:1&same_subtree=_N,_P&group_policy=none'
    assert who(search(cloud(*hosts), query)) == ['cn1_numa0+cn1_pf']


def test_roots_with_other_traits_have_plans_of_their_own() -> None:
    snapshot = cloud(provider('cn1', VCPU=8), provider('cn2', VCPU=8, traits='GOLD'))
    assert who(search(snapshot, 'resources=VCPU:1&root_required=GOLD')) == ['cn2']
    assert who(search(snapshot, 'resources=VCPU:1&root_required=!GOLD')) == ['cn1']


def test_tree_that_is_named_has_a_plan_of_its_own() -> None:
    pools = [provider(f'ss{n}', DISK_GB=9, traits=SHARING, aggregates=f'Z{n}') for n in range(3)]
    assert who(search(cloud(*pools), 'resources_1=DISK_GB:1&in_tree_1=ss1')) == ['ss1']


def test_unsuffixed_group_with_in_tree_uses_no_pool_of_another_tree() -> None:
    snapshot = cloud(
        provider('cn', DISK_GB=9, aggregates='A'),
        provider('ss', DISK_GB=9, traits=SHARING, aggregates='A'),
    )
    for query, fits in (
        ('resources=DISK_GB:1&in_tree=ss', False),
        ('resources_1=DISK_GB:1&in_tree_1=ss', True),
    ):
        feasibility = Feasibility(snapshot, parse(query), Work())
        assert feasibility.fits(snapshot.tree(1)) is fits
