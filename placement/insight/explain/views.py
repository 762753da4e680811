# SPDX-License-Identifier: Apache-2.0
"""The explanation and the capacity of a request as JSON (specification: insight)."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.insight.paging import members
from placement.search.insight.capacity import CapacityRow, RequestCapacity
from placement.search.insight.closed_form import Count
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
from placement.search.model.request import GROUP_PARAMETERS, AnyOf

# By uuid.
Names = Mapping[str, str]


def uuids_in(explained: RequestExplanation) -> set[str]:
    """The providers that an explanation mentions."""
    reports = [*explained.nearest, *([explained.provider] if explained.provider else ())]
    return {
        *(report.root for report in reports),
        *(report.subtree.top for report in reports if report.subtree),
        *(shortfall.provider.uuid for report in reports for shortfall in report.missing),
        *explained.disabled.roots,
    }


def explanation(explained: RequestExplanation, names: Names) -> dict[str, Any]:
    """An explanation, with the names of the providers that it mentions."""
    return {
        'verdict': explained.verdict.value,
        'summary': summary(explained, names),
        **members(explained, 'trees_fitting', 'examined', 'of'),
        'groups': [_group(group) for group in explained.groups],
        'combination': [_step(step) for step in explained.combination],
        'nearest': [_report(report, names) for report in explained.nearest],
        'disabled': {
            'trees': explained.disabled.count,
            'roots': [provider(uuid, names) for uuid in explained.disabled.roots],
        },
        'relaxations': [
            {
                'conditions': [_of_request(condition) for condition in relaxation.conditions],
                **members(relaxation, 'trees', 'largest'),
                'amounts': [
                    {'amount': size, 'trees': trees} for size, trees in relaxation.amounts
                ],
            }
            for relaxation in explained.relaxations
        ],
        'pairs': {'examined': explained.pairs_examined, 'of': explained.pairs_of},
        'provider': None if explained.provider is None else _report(explained.provider, names),
    }


def _group(funnel: GroupFunnel) -> dict[str, Any]:
    """A group as it was understood; one name of each list of `required` and `member_of`."""
    group = funnel.group
    return {
        'suffix': group.suffix,
        'resources': dict(group.resources),
        **{field: _names(getattr(group, field)) for field in (p.field for p in GROUP_PARAMETERS)},
        'in_tree': group.in_tree,
        'funnel': [_step(step) for step in funnel.steps],
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
        **members(condition, 'asked', 'largest', 'most_free'),
    }


def _of_request(condition: Condition) -> dict[str, Any]:
    """A condition, its words with those of the group."""
    return _condition(condition) | {'words': condition.full_words, 'suffix': condition.suffix}


def _step(step: FunnelStep) -> dict[str, Any]:
    names = ('trees_before', 'trees_after', 'only', 'providers_before', 'providers_after')
    return {'condition': _condition(step.condition)} | members(step, *names)


def _report(report: TreeReport, names: Names) -> dict[str, Any]:
    return {
        'root': provider(report.root, names),
        'verdict': report.verdict.value,
        'disabled': report.is_disabled,
        'failed': [_of_request(condition) for condition in report.failed],
        'subtree': None if report.subtree is None else _subtree(report.subtree, names),
        'missing': [_shortfall(shortfall, names) for shortfall in report.missing],
    }


def _subtree(subtree: SubtreeReport, names: Names) -> dict[str, Any]:
    return {
        'provider': provider(subtree.top, names),
        'failed': [_of_request(condition) for condition in subtree.failed],
    }


def _shortfall(shortfall: Shortfall, names: Names) -> dict[str, Any]:
    condition, (capacity, used) = shortfall.condition, shortfall.inventory
    return {
        'provider': provider(shortfall.provider.uuid, names),
        'suffix': condition.suffix or '',
        'resource_class': condition.names[0],
        'asked': condition.asked,
        'free': shortfall.free,
        'capacity': capacity.reported_capacity,
        'used': used,
        **members(capacity, 'total', 'reserved', 'min_unit', 'max_unit', 'step_size'),
        'reason': condition.reason,
    }


def provider(uuid: str, names: Names) -> dict[str, str | None]:
    """A provider by uuid and name; the name of one that is gone meanwhile is not known."""
    return {'uuid': uuid, 'name': names.get(uuid)}


def capacity(counted: RequestCapacity) -> dict[str, Any]:
    """The counts of a request, without rows."""
    names = ('resource_class', 'capacity', 'used', 'free', 'usable')
    return {
        **_counts(counted),
        'exact': counted.is_exact,
        'fragmentation': [members(part, *names) for part in counted.fragmentation],
    }


def capacity_rows(
    counted: RequestCapacity, names: Names, named: Mapping[str, str]
) -> dict[str, Any]:
    """The counts of each tree, or in each aggregate, for itself; null where none were asked
    for."""

    def aggregate(uuid: str) -> dict[str, str | None] | None:
        if not uuid:
            return None
        return {'uuid': uuid, 'name': named.get(uuid.lower())}

    trees, aggregates = counted.trees, counted.aggregates
    return {
        'trees': trees and [{'root': provider(row.uuid, names)} | _counts(row) for row in trees],
        'aggregates': aggregates
        and [{'aggregate': aggregate(row.uuid)} | _counts(row) for row in aggregates],
        'note': counted.note,
    }


def _counts(row: RequestCapacity | CapacityRow) -> dict[str, Any]:
    return {'now': _count(row.now), 'if_empty': _count(row.if_empty)}


def _count(count: Count) -> dict[str, int]:
    return members(count, 'at_least', 'at_most')
