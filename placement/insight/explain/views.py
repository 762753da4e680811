# SPDX-License-Identifier: Apache-2.0
"""The explanation of a request as JSON (specification: insight)."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.search.insight.condition import Condition
from placement.search.insight.explanation import (
    FunnelStep,
    GroupFunnel,
    RequestExplanation,
    Shortfall,
    SubtreeReport,
    TreeReport,
)
from placement.search.insight.summary import summary
from placement.search.model.request import GROUP_PARAMETERS, AnyOf, RequestGroup

# By uuid.
Names = Mapping[str, str]


def uuids_in(found: RequestExplanation) -> set[str]:
    """The providers that an explanation mentions."""
    reports = [*found.nearest, *([found.provider] if found.provider else ())]
    return {
        *(report.root for report in reports),
        *(report.subtree.top for report in reports if report.subtree),
        *(one.provider.uuid for report in reports for one in report.missing),
        *found.disabled.roots,
    }


def explanation(found: RequestExplanation, names: Names) -> dict[str, Any]:
    """An explanation, with the names of the providers that it mentions."""
    return {
        'verdict': found.verdict.value,
        'summary': summary(found, names),
        'trees_fitting': found.trees_fitting,
        'examined': found.examined,
        'of': found.of,
        'groups': [_group(one) for one in found.groups],
        'combination': [_step(one) for one in found.combination],
        'nearest': [_report(one, names) for one in found.nearest],
        'disabled': {
            'trees': found.disabled.count,
            'roots': [provider(uuid, names) for uuid in found.disabled.roots],
        },
        'relaxations': [
            {
                'conditions': [_of_request(condition) for condition in one.conditions],
                'trees': one.trees,
                'largest': one.largest,
                'amounts': [{'amount': size, 'trees': trees} for size, trees in one.amounts],
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
        **{one.field: _names(getattr(group, one.field)) for one in GROUP_PARAMETERS},
        'in_tree': group.in_tree,
    }


def _names(names: Iterable[str] | Iterable[AnyOf]) -> list[Any]:
    """Names in order, or a list of names for each set of alternatives."""
    if isinstance(names, frozenset):
        return sorted(names)
    return [sorted(any_of) for any_of in names]


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        'words': condition.words,
        'reason': condition.reason.removesuffix(':'),
        'names': list(condition.names),
        'asked': condition.asked,
        'largest': condition.largest,
        'most_free': condition.most_free,
    }


def _of_request(condition: Condition) -> dict[str, Any]:
    """A condition, its words with those of the group."""
    return _condition(condition) | {'words': condition.full_words, 'suffix': condition.suffix}


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
        'disabled': report.is_disabled,
        'failed': [_of_request(one) for one in report.failed],
        'subtree': None if report.subtree is None else _subtree(report.subtree, names),
        'missing': [_shortfall(one, names) for one in report.missing],
    }


def _subtree(subtree: SubtreeReport, names: Names) -> dict[str, Any]:
    return {
        'provider': provider(subtree.top, names),
        'failed': [_of_request(one) for one in subtree.failed],
    }


def _shortfall(one: Shortfall, names: Names) -> dict[str, Any]:
    capacity = one.capacity
    return {
        'provider': provider(one.provider.uuid, names),
        'suffix': one.suffix,
        'resource_class': one.resource_class,
        'asked': one.asked,
        'free': one.free,
        'capacity': capacity.reported_capacity,
        'used': one.used,
        'total': capacity.total,
        'reserved': capacity.reserved,
        'min_unit': capacity.min_unit,
        'max_unit': capacity.max_unit,
        'step_size': capacity.step_size,
        'reason': one.reason,
    }


def provider(uuid: str, names: Names) -> dict[str, str | None]:
    """A provider by uuid and name; the name of one that is gone meanwhile is not known."""
    return {'uuid': uuid, 'name': names.get(uuid)}
