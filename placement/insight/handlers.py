# SPDX-License-Identifier: Apache-2.0
"""The questions of operators beside the API (specification: insight)."""

from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.paging import path_of
from placement.policies import rules


def show(request: Request) -> Reply:
    """Show which questions are answered."""
    request.authorise(rules.SHOW_INSIGHT)
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
