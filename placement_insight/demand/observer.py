# SPDX-License-Identifier: Apache-2.0
"""The observer of searches without candidates."""

from placement.http.searches import Finding, Miss
from placement_insight.demand.keeper import UnmetDemand
from placement_insight.failures import Failures
from placement_insight.search.condition import Verdict
from placement_insight.search.empty_search import Explanation, explain_empty

NOT_EXPLAINED = Explanation(
    Verdict.UNKNOWN, 'too many searches found nothing at a time to look at each'
)


class MissObserver:
    """Explains searches without candidates, and collects them if unmet demand is recorded."""

    def __init__(self, unmet_demand: UnmetDemand | None, failures: Failures) -> None:
        self._unmet_demand = unmet_demand
        self._failures = failures

    def __call__(self, miss: Miss) -> Finding | None:
        """Return the reason for a miss; None after a defect, which is logged and counted."""
        try:
            explanation = explained(miss)
            if self._unmet_demand is not None:
                self._unmet_demand.add(miss.request, explanation, miss.origin)
        except Exception:
            self._failures.unexpected('Explaining a search')
            return None
        return Finding(explanation.verdict.value, explanation.line)


def explained(miss: Miss) -> Explanation:
    """Return the reason why a search found no candidates, or why it was refused.

    Under load, some searches are not examined (`is_one_of_many`).
    """
    if miss.done is None:
        return Explanation(Verdict.REFUSED, miss.refusal or '')
    return NOT_EXPLAINED if miss.is_one_of_many else explain_empty(miss.done)
