# SPDX-License-Identifier: Apache-2.0
"""A nogood holds for the partial assignments that have the same left to do, and for no others."""

from unittest import mock

from placement.search.model.provider import ProviderRow
from placement.search.model.snapshot import Snapshot
from placement.search.solver import plan
from placement.tests.unit.search.cloud import SHARING, parse, provider, rows_of
from placement.tests.unit.search.oracle import Cloud, solve
from placement.tests.unit.search.test_oracle import ask


def check(query: str, *providers: dict, ids: str = '', **options: object) -> None:
    """Compare a search that solves each tree as a problem of its own with the oracle.

    The providers whose names are in `ids` have ids in that order.
    """
    rows, request = _renumbered(list(rows_of(*providers)), ids.split()), parse(query, **options)
    expected = set(solve(Cloud(rows), request))
    assert expected
    with mock.patch.object(plan, 'FEW', 0):
        assert set(ask(Snapshot.of(rows), request)) == expected


def _renumbered(rows: list[ProviderRow], names: list[str]) -> list[ProviderRow]:
    ids = {row.id: names.index(row.uuid) + 1 if names else row.id for row in rows}
    return [
        row._replace(
            id=ids[row.id], root_id=ids[row.root_id or 0], parent_id=ids.get(row.parent_id or 0)
        )
        for row in rows
    ]


def test_nogood_tells_which_traits_were_brought_before() -> None:
    check(
        'resources=B:2,C:1,D:2&required=T1,T2,T3',
        provider('cn'),
        provider('p1', parent='cn', A=4, B=4, C=4, D=3, traits='T1 T3'),
        provider('p2', parent='cn', A=2, D=2),
        provider('p3', parent='cn', C=4, A=2, B=3, D=3, traits='T1'),
        provider('p4', parent='cn', D=4, B=3, traits='T1 T2'),
    )


def test_nogood_tells_of_which_trees_a_provider_was_used() -> None:
    check(
        'resources_0=D:2&resources_1=A:1&resources=B:1&group_policy=isolate',
        provider('cn', A=2, B=1, aggregates='X'),
        provider('p1', parent='cn', C=3, D=2),
        provider('p2', parent='cn', B=2, D=3),
        provider('pool', A=1, C=3, traits=SHARING, aggregates='X'),
        provider('child', parent='pool', D=2, traits=SHARING, aggregates='X'),
        single_provider_per_tree=True,
    )


def test_nogood_tells_which_slots_were_taken() -> None:
    check(
        'resources_1=VF:1&required_1=E&resources_2=VF:1&required_2=A&resources_3=VF:1&required_3=C'
        '&group_policy=isolate',
        provider('cn'),
        provider('p1', parent='cn', VF=9, traits='A C'),
        provider('p2', parent='cn', VF=9, traits='A'),
        provider('p3', parent='cn', VF=9, traits='C E'),
    )


def test_nogood_tells_where_the_top_of_a_subtree_is() -> None:
    check(
        'resources_D=VF:1&required_D=D&resources_A=X:1&resources_C=VF:1&same_subtree=_A,_C'
        '&group_policy=none',
        provider('cn'),
        provider('numa1', parent='cn', VF=1, traits='D'),
        provider('numa2', parent='cn', VF=1),
        provider('p1', parent='numa1', X=1),
        provider('p2', parent='numa2', X=1),
    )


def test_nogood_tells_if_the_top_of_a_subtree_is_taken() -> None:
    check(
        'resources_D=VF:1&required_D=D&resources_A=X:1&required_B=B&resources_C=VF:1'
        '&same_subtree=_A,_B,_C&group_policy=none',
        provider('cn'),
        provider('numa', parent='cn', VF=1, X=1, traits='D'),
        provider('p1', parent='numa', X=1),
        provider('p2', parent='numa', traits='B'),
        provider('p3', parent='numa', VF=1),
        ids='cn p1 p2 p3 numa',
    )


def test_nogood_tells_which_traits_a_slot_brings() -> None:
    """Search two hosts that differ in which children are full."""
    check(
        'resources=A:1,B:1&required=T1,T2,T3',
        *[
            one
            for host, full in enumerate(['T2 T3', 'T3'])
            for one in (
                provider(f'cn{host}'),
                provider(f'a1_{host}', parent=f'cn{host}', A=1, traits='T1'),
                provider(f'a2_{host}', parent=f'cn{host}', A=1, traits='T2'),
                *[
                    provider(
                        f'b{number}_{host}',
                        parent=f'cn{host}',
                        traits=traits,
                        B={'total': 1, 'used': int(traits == full)},
                    )
                    for number, traits in enumerate(('T2 T3', 'T3'))
                ],
            )
        ],
    )
