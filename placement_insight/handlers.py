# SPDX-License-Identifier: Apache-2.0
"""The list of questions, and the operator's names (specification: insight)."""

from collections.abc import Callable, Mapping

from placement.http.reply import Reply
from placement.http.request import Request
from placement.metrics.named_files import UnusableFile, read_aggregate_names, read_names
from placement_insight.paging import path_of
from placement_insight.questions import Insight


def show(request: Request) -> Reply:
    """Show which questions are answered."""
    insight = request.service.part(Insight)
    questions = [
        {
            'name': name,
            'enabled': name in insight.enabled,
            'option': option,
            'note': insight.note(name),
            'links': [{'rel': 'self', 'href': path_of(request, name)}],
        }
        for name, option in insight.options.items()
    ]
    counts = {
        'failures': insight.failures.count,
        'dropped': insight.unmet_demand.dropped if insight.unmet_demand else 0,
        'unrecorded': insight.change_history.lost if insight.change_history else 0,
    }
    return Reply({'questions': questions, 'max_age': insight.max_age} | counts)


def show_names(request: Request) -> Reply:
    """Show the operator's names for aggregates and requests."""
    requests = _read(request, read_names, request.service.conf.metrics.requests_file)
    return Reply({'aggregates': aggregate_names(request), 'requests': requests})


def aggregate_names(request: Request) -> Mapping[str, str]:
    """Return the operator's names for aggregates, by uuid."""
    return _read(request, read_aggregate_names, request.service.conf.metrics.aggregate_names_file)


def _read(
    request: Request, read: Callable[[str | None], Mapping[str, str]], path: str | None
) -> Mapping[str, str]:
    """Return the content of a file; empty for an unusable file, which is counted as a failure."""
    try:
        return read(path)
    except UnusableFile as error:
        request.service.part(Insight).failures.expected('Reading a file of names', str(error))
        return {}
