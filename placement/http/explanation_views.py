# SPDX-License-Identifier: Apache-2.0
"""The explanation of a request as JSON (specification: insight)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from placement.search.explanation import Condition
from placement.search.insight.explain_answer import (
    FunnelStep,
    GroupCondition,
    GroupFunnel,
    RequestExplanation,
    Shortfall,
    TreeReport,
)
from placement.search.model.request import AnyOf, RequestGroup

# By uuid.
Names = Mapping[str, str]


def uuids_in(found: RequestExplanation) -> set[str]:
    """The providers that an explanation mentions."""
    reports = [*found.nearest, *([found.provider] if found.provider else ())]
    return {report.root for report in reports} | {
        one.provider for report in reports for one in report.missing
    }


def explanation(found: RequestExplanation, names: Names) -> dict[str, Any]:
    """An explanation, with the names of the providers that it mentions."""
    return {
        'verdict': found.verdict.value,
        'summary': found.summary,
        'trees_fitting': found.trees_fitting,
        'examined': found.examined,
        'of': found.of,
        'groups': [_group(one) for one in found.groups],
        'combination': [_step(one) for one in found.combination],
        'nearest': [_report(one, names) for one in found.nearest],
        'relaxations': [
            {
                'conditions': [_of_group(condition) for condition in one.conditions],
                'trees': one.trees,
                'largest': one.largest,
            }
            for one in found.relaxations
        ],
        'pairs': {'examined': found.pairs_examined, 'of': found.pairs_of},
        'provider': None if found.provider is None else _report(found.provider, names),
    }


def _group(one: GroupFunnel) -> dict[str, Any]:
    return _request_group(one.group) | {'funnel': [_step(step) for step in one.steps]}


def _request_group(group: RequestGroup) -> dict[str, Any]:
    """A group as it was understood; one name of each list of `required` and `member_of`."""
    return {
        'suffix': group.suffix,
        'resources': dict(group.resources),
        'required': _alternatives(group.required),
        'forbidden': sorted(group.forbidden),
        'member_of': _alternatives(group.member_of),
        'forbidden_aggregates': sorted(group.forbidden_aggregates),
        'in_tree': group.in_tree,
    }


def _alternatives(sets: Iterable[AnyOf]) -> list[list[str]]:
    return [sorted(names) for names in sets]


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        'words': condition.words,
        'reason': condition.reason.value.removesuffix(':'),
        'names': list(condition.names),
        'asked': condition.asked,
        'largest': condition.largest,
        'most_free': condition.most_free,
    }


def _of_group(one: GroupCondition) -> dict[str, Any]:
    """A condition, its words with those of the group."""
    return _condition(one.condition) | {'words': one.words, 'suffix': one.suffix}


def _step(step: FunnelStep) -> dict[str, Any]:
    return {
        'condition': _condition(step.condition),
        'trees_before': step.trees_before,
        'trees_after': step.trees_after,
        'only': step.only,
        'providers_before': step.providers_before,
        'providers_after': step.providers_after,
    }


def _report(report: TreeReport, names: Names) -> dict[str, Any]:
    return {
        'root': provider(report.root, names),
        'verdict': report.verdict.value,
        'failed': [_of_group(one) for one in report.failed],
        'missing': [_shortfall(one, names) for one in report.missing],
    }


def _shortfall(one: Shortfall, names: Names) -> dict[str, Any]:
    return {
        'provider': provider(one.provider, names),
        'suffix': one.suffix,
        'resource_class': one.resource_class,
        'asked': one.asked,
        'free': one.free,
        'capacity': one.capacity,
        'used': one.used,
        'total': one.total,
        'reserved': one.reserved,
        'min_unit': one.min_unit,
        'max_unit': one.max_unit,
        'step_size': one.step_size,
        'reason': one.reason,
    }


def provider(uuid: str, names: Names) -> dict[str, str | None]:
    """A provider by uuid and name; the name of one that is gone meanwhile is not known."""
    return {'uuid': uuid, 'name': names.get(uuid)}
