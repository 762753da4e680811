# SPDX-License-Identifier: Apache-2.0
"""Verdicts in odd clouds, and explanations after changes of the cloud."""

import random

import hypothesis
import pytest
from hypothesis import strategies as st

from placement.search.candidates import find_candidates
from placement.search.model.provider import ProviderRow
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search import test_odd_clouds as odd
from placement.tests.unit.search.oracle import Cloud, solve
from placement.tests.unit.search.test_interleaved import interleaved_rows, requests
from placement.tests.unit.search.test_oracle import examples
from placement_insight.search.condition import Verdict
from placement_insight.tests.unit.search.explained import find_explanation


@pytest.mark.parametrize('batch', range(odd.BATCHES))
def test_odd_clouds_have_the_verdict_of_the_oracle(batch: int) -> None:
    for seed, rows, request in odd.questions(batch):
        is_found = bool(solve(Cloud(rows), request))
        with odd.forgetful(random.Random(seed)):
            explanation = find_explanation(Snapshot.of(rows), request)
        assert (explanation is None) == is_found, seed
        unused = Cloud(rows).unused()
        if explanation and odd.combinations(unused, request) <= odd.MOST_COMBINATIONS:
            expected = Verdict.FULL if solve(unused, request) else Verdict.INFEASIBLE
            assert explanation.verdict is expected, seed


@examples(200)
@hypothesis.given(
    interleaved_rows(), interleaved_rows(), st.lists(requests(), min_size=2, max_size=3)
)
def test_explanations_after_a_change_are_those_of_a_fresh_snapshot(
    before: list[ProviderRow], after: list[ProviderRow], asked: list[CandidateRequest]
) -> None:
    snapshot = Snapshot.of(before)
    for request in asked:
        find_candidates(snapshot, request)
    changed = snapshot.with_changes(after, {row.id for row in before} - {row.id for row in after})

    for request in asked:
        assert find_explanation(changed, request) == find_explanation(Snapshot.of(after), request)
