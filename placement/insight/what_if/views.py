# SPDX-License-Identifier: Apache-2.0
"""The outcome of a scenario, and of the loss of domains, as JSON (specification: insight)."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.insight.explain.views import Names, provider
from placement.insight.paging import members
from placement.search.insight.summary import summary
from placement.search.model.provider import Provider
from placement.search.what_if.left import Left
from placement.search.what_if.scenario import Scenario, StepOutcome
from placement.search.what_if.survival import DomainLoss, Homeless

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


def uuids_in_losses(losses: Iterable[DomainLoss]) -> set[str]:
    """The providers that the words for what is lacking mention."""
    explanations = [each.explanation for loss in losses for each in loss.homeless]
    return {uuid for answer in explanations if answer for uuid in answer.disabled.roots}


def loss(outcome: DomainLoss, domain_names: Names, names: Names) -> dict[str, Any]:
    """The outcome of the loss of a domain."""
    known = outcome.known_requests
    return {
        **members(outcome, 'domain'),
        # Files spell uuids in any way.
        'name': domain_names.get(outcome.domain) or domain_names.get(outcome.domain.lower()),
        **members(outcome, 'consumers'),
        'known': {'requests': known, 'amounts': outcome.consumers - known},
        **members(outcome, 'in_several_trees', 'placed', 'placed_alike', 'survives'),
        'exact': outcome.is_exact,
        'lacking': _sums(outcome.lacking),
        'homeless': [
            {'consumer': homeless.consumer, 'lacks': _lacks(homeless, names)}
            for homeless in outcome.homeless
        ],
    }


def left(requests: Iterable[str], counted: Mapping[str, Left]) -> dict[str, Any] | None:
    """How often requests still fit after the worst of the domains; null where it is not known."""
    if not counted:
        return None
    return {name: counted[name]._asdict() for name in requests}


def _sums(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amounts[name] for name in sorted(amounts)}


def _lacks(homeless: Homeless, names: Names) -> str:
    explanation = homeless.explanation
    explained = '' if explanation is None else summary(explanation, names)
    return f'{explained} {homeless.words}'.strip()
