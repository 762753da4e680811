# SPDX-License-Identifier: Apache-2.0
"""The questions of operators beside the API, and the names in answers (specification: insight)."""

from collections.abc import Callable, Mapping

from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.paging import path_of
from placement.metrics.named_files import UnusableFile, read_aggregate_names, read_names


def show(request: Request) -> Reply:
    """Show which questions are answered."""
    insight = request.context.insight
    questions = [
        {
            'name': name,
            'enabled': name in insight.enabled,
            'option': option,
            'links': [{'rel': 'self', 'href': path_of(request, name)}],
        }
        for name, option in insight.options.items()
    ]
    counts = {
        'failures': insight.failures.count,
        'dropped': insight.dropped,
        'unrecorded': insight.unrecorded,
    }
    return Reply({'questions': questions} | counts)


def show_names(request: Request) -> Reply:
    """Show the names that the operator gives to aggregates and requests."""
    requests = _read(request, read_names, request.conf.metrics.requests_file)
    return Reply({'aggregates': aggregate_names(request), 'requests': requests})


def aggregate_names(request: Request) -> Mapping[str, str]:
    """The names of aggregates by uuid, where the operator gives them names."""
    return _read(request, read_aggregate_names, request.conf.metrics.aggregate_names_file)


def _read(
    request: Request, read: Callable[[str | None], Mapping[str, str]], path: str | None
) -> Mapping[str, str]:
    """The content of a file; nothing, and one failure more, where it cannot be used."""
    try:
        return read(path)
    except UnusableFile as error:
        request.context.insight.failures.expected('Reading a file of names', str(error))
        return {}
