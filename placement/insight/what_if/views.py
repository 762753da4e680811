# SPDX-License-Identifier: Apache-2.0
"""The outcome of a scenario as JSON (specification: insight, "Scenarios")."""

from typing import Any

from placement.insight.explain.views import Names, provider
from placement.insight.paging import members
from placement.search.insight.summary import summary
from placement.search.model.provider import Provider
from placement.search.what_if.scenario import Scenario, StepOutcome

# How many providers that are over capacity are shown.
MAX_OVER_CAPACITY = 20


def uuids_in(scenario: Scenario) -> set[str]:
    """The providers that are mentioned."""
    explanations = [outcome.explanation for _, outcome in scenario.outcomes]
    return {
        *(over.uuid for over in scenario.over_capacity[:MAX_OVER_CAPACITY]),
        *(uuid for answer in explanations if answer for uuid in answer.disabled.roots),
    }


def scenario(after: Scenario, names: Names) -> dict[str, Any]:
    """A row for each step, and the providers that the steps left over capacity."""
    over = after.over_capacity
    return {
        'scenario': [_row(verb, outcome, names) for verb, outcome in after.outcomes],
        'over_capacity': {
            'count': len(over),
            'providers': [_over(record, names) for record in over[:MAX_OVER_CAPACITY]],
        },
    }


def _row(verb: str, outcome: StepOutcome, names: Names) -> dict[str, Any]:
    explanation = outcome.explanation
    return {
        'step': verb,
        **members(outcome, 'trees', 'consumers', 'gone', 'claimed'),
        'summary': None if explanation is None else summary(explanation, names),
    }


def _over(record: Provider, names: Names) -> dict[str, Any]:
    return provider(record.uuid, names) | {
        'resources': {
            name: {'capacity': capacity.reported_capacity, 'used': used}
            for name, capacity, used in record.inventories
            if used > capacity.ceiling
        }
    }
