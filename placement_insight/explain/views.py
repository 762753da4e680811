# SPDX-License-Identifier: Apache-2.0
"""The explanation and the capacity of a request as JSON (specification: insight)."""

from collections.abc import Iterable, Mapping

from placement.search.model.request import GROUP_PARAMETERS, AnyOf
from placement_insight.paging import members
from placement_insight.search.capacity import CapacityRow, RequestCapacity
from placement_insight.search.condition import Condition
from placement_insight.search.explanation import (
    FunnelStep,
    GroupFunnel,
    RequestExplanation,
    Shortfall,
    SubtreeReport,
    TreeReport,
)
from placement_insight.search.sentences import (
    cause,
    relaxation_words,
    summary,
    words_in_group,
    words_of,
)

# Names of providers by uuid.
Names = Mapping[str, str]


def uuids_in(explained: RequestExplanation) -> set[str]:
    """Return the uuids of the providers that an explanation mentions."""
    reports = [*explained.nearest, *([explained.provider] if explained.provider else ())]
    return {
        *(report.root for report in reports),
        *(report.subtree.top for report in reports if report.subtree),
        *(shortfall.provider.uuid for report in reports for shortfall in report.missing),
        *explained.disabled.roots,
    }


def explanation(explained: RequestExplanation, names: Names) -> dict[str, object]:
    """Return an explanation, with the names of the providers that it mentions."""
    return {
        'verdict': explained.verdict.value,
        'summary': summary(explained, names),
        'cause': cause(explained),
        **members(explained, 'trees_fitting', 'examined', 'of'),
        'groups': [_group(group) for group in explained.groups],
        'combination': [_step(step) for step in explained.combination],
        'nearest': [_report(report, names) for report in explained.nearest],
        'disabled': {
            'trees': explained.disabled.trees,
            'roots': [provider(uuid, names) for uuid in explained.disabled.roots],
        },
        'relaxations': [
            {
                'words': relaxation_words(relaxation),
                'conditions': [_of_request(condition) for condition in relaxation.conditions],
                **members(relaxation, 'trees', 'largest'),
                'amounts': [
                    {'amount': size, 'trees': trees} for size, trees in relaxation.amounts
                ],
            }
            for relaxation in explained.relaxations
        ],
        'provider': None if explained.provider is None else _report(explained.provider, names),
    }


def withheld(shown: Mapping[str, object], by_promise: Mapping[str, int]) -> dict[str, object]:
    """Return the hosts that promises withhold from the request, also in the summary."""
    words = [
        f'Promise {name} withholds {trees} {"host" if trees == 1 else "hosts"}.'
        for name, trees in by_promise.items()
    ]
    return {
        'summary': ' '.join([str(shown['summary']), *words]),
        'withheld': [{'promise': name, 'hosts': trees} for name, trees in by_promise.items()],
    }


def _group(funnel: GroupFunnel) -> dict[str, object]:
    """Return a group with the conditions as they were parsed, and its funnel."""
    group = funnel.group
    return {
        'suffix': group.suffix,
        'resources': dict(group.resources),
        **{field: _names(getattr(group, field)) for field in (p.field for p in GROUP_PARAMETERS)},
        'in_tree': group.in_tree,
        'funnel': [_step(step) for step in funnel.steps],
    }


def _names(names: Iterable[str] | Iterable[AnyOf]) -> list[object]:
    """Return names in order, or for sets of alternatives a list of names each."""
    if isinstance(names, frozenset):
        return sorted(names)
    return [sorted(any_of) for any_of in names]


def _condition(condition: Condition) -> dict[str, object]:
    return {
        'words': words_of(condition),
        'reason': condition.reason,
        'names': list(condition.names),
        **members(condition, 'asked', 'largest', 'most_free'),
    }


def _of_request(condition: Condition) -> dict[str, object]:
    """Return a condition whose sentence includes the group."""
    return _condition(condition) | {'words': words_in_group(condition), 'suffix': condition.suffix}


def _step(step: FunnelStep) -> dict[str, object]:
    counts = members(step, 'trees_before', 'trees_after', 'only')
    return {'condition': _condition(step.condition)} | counts


def _report(report: TreeReport, names: Names) -> dict[str, object]:
    return {
        'root': provider(report.root, names),
        'verdict': report.verdict.value,
        'disabled': report.is_disabled,
        'failed': [_of_request(condition) for condition in report.failed],
        'subtree': None if report.subtree is None else _subtree(report.subtree, names),
        'missing': [_shortfall(shortfall, names) for shortfall in report.missing],
    }


def _subtree(subtree: SubtreeReport, names: Names) -> dict[str, object]:
    return {
        'provider': provider(subtree.top, names),
        'failed': [_of_request(condition) for condition in subtree.failed],
    }


def _shortfall(shortfall: Shortfall, names: Names) -> dict[str, object]:
    condition = shortfall.condition
    capacity, used = shortfall.provider.inventory(condition.names[0])
    return {
        'provider': provider(shortfall.provider.uuid, names),
        'suffix': condition.suffix or '',
        'resource_class': condition.names[0],
        'asked': condition.asked,
        # Negative while the provider is over capacity.
        'free': capacity.ceiling - used,
        'capacity': capacity.reported_capacity,
        'used': used,
        **members(capacity, 'total', 'reserved', 'min_unit', 'max_unit', 'step_size'),
        'reason': condition.reason,
    }


def provider(uuid: str, names: Names) -> dict[str, str | None]:
    """Return a provider with uuid and name; the name is null if it was deleted meanwhile."""
    return {'uuid': uuid, 'name': names.get(uuid)}


def capacity(counted: RequestCapacity) -> dict[str, object]:
    """Return the counts of a request, without rows by tree or aggregate."""
    return {
        **_counts(counted),
        'exact': counted.is_exact,
        'fragmentation': [part._asdict() for part in counted.fragmentation],
    }


def capacity_rows(
    counted: RequestCapacity, names: Names, named: Mapping[str, str]
) -> dict[str, object]:
    """Return the counts of each tree, or in each aggregate; null if not asked for."""

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


def _counts(row: RequestCapacity | CapacityRow) -> dict[str, object]:
    return {'now': row.now._asdict(), 'if_empty': row.if_empty._asdict()}
