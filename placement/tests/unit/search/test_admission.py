# SPDX-License-Identifier: Apache-2.0
"""Candidates that are not admitted are no part of the result."""

import pytest

from placement.search.candidate import Candidate
from placement.search.candidates import find_candidates
from placement.search.model.request import Strategy
from placement.tests.unit.search.cloud import cloud, parse, provider, who

CLOUD = cloud(*[provider(f'host{number}', VCPU=8) for number in range(6)])


def is_even(candidate: Candidate) -> bool:
    return candidate.providers[0].id % 2 == 0


@pytest.mark.parametrize(
    ('query', 'expected'),
    [
        ('resources=VCPU:1', ['host1', 'host3', 'host5']),
        # The limit is filled.
        ('resources=VCPU:1&limit=2', ['host1', 'host3']),
        ('resources=VCPU:9', []),
    ],
)
def test_others_are_left_out_before_the_limit(query: str, expected: list[str]) -> None:
    result = find_candidates(CLOUD, parse(query), admits=is_even)
    assert who(result) == expected
    assert [one.uuid for one in result.providers] == expected


def test_a_search_ends_at_its_budget_though_none_is_admitted() -> None:
    result = find_candidates(CLOUD, parse('resources=VCPU:1', budget=10), admits=lambda _: False)
    assert (who(result), result.is_cut) == ([], True)


@pytest.mark.parametrize('strategy', Strategy)
def test_a_closed_tree_yields_no_further_candidate(strategy: Strategy) -> None:
    hosts = [
        part
        for n in range(3)
        for part in (
            provider(f'host{n}', VCPU=8),
            *[provider(f'gpu{n}{m}', parent=f'host{n}', VGPU=1) for m in range(4)],
        )
    ]
    seen, closed = [], set[int]()

    def admits(candidate: Candidate) -> bool:
        root = candidate.providers[0].root_id
        seen.append(root)
        if root != 1:
            closed.add(root)
        return root == 1

    asked = parse('resources=VCPU:1,VGPU:1', strategy=strategy)
    result = find_candidates(cloud(*hosts), asked, admits=admits, closed=closed)
    assert who(result) == ['gpu00+host0', 'gpu01+host0', 'gpu02+host0', 'gpu03+host0']
    assert sorted(seen) == [1, 1, 1, 1, 6, 11]
