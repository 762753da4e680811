# SPDX-License-Identifier: Apache-2.0
"""The explanation of a search that finds nothing."""

from placement.search.candidates import SearchDone, find_candidates
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.tests.unit.search.cloud import parse
from placement_insight.search.empty_search import Explanation, explain_empty


def explained(snapshot: Snapshot, query: str, **options: object) -> Explanation:
    """Why the query finds nothing."""
    found = find_explanation(snapshot, parse(query, **options))
    assert found is not None
    return found


def find_explanation(snapshot: Snapshot, request: CandidateRequest) -> Explanation | None:
    """Why a request finds nothing, None where it finds something."""
    done = SearchDone(snapshot, request, find_candidates(snapshot, request), 0.0)
    return None if done.result.candidates else explain_empty(done, pause=lambda: None)
