# SPDX-License-Identifier: Apache-2.0
"""A nogood holds for the partial assignments that have the same left to do, and for no others."""

from unittest import mock

from placement.search.model.snapshot import Snapshot
from placement.search.solver import plan
from placement.tests.unit.search.cloud import SHARING, parse, provider, rows_of
from placement.tests.unit.search.oracle import Cloud, solve
from placement.tests.unit.search.test_oracle import ask


def check(query: str, *providers: dict, **options: object) -> None:
    """Compare what a search finds, with every tree a problem of its own, with the oracle."""
    rows, request = list(rows_of(*providers)), parse(query, **options)
    expected = set(solve(Cloud(rows), request))
    assert expected
    with mock.patch.object(plan, 'FEW', 0):
        assert set(ask(Snapshot.of(rows), request)) == expected


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
