# SPDX-License-Identifier: Apache-2.0
"""Answers below `/insight` as JSON (specification: insight)."""

from __future__ import annotations

import datetime
import urllib.parse
from collections.abc import Mapping
from typing import Any

from placement.http.querystring import Query
from placement.insight.questions import Insight

# Verdicts of searches that found nothing.
VERDICTS = ('full', 'infeasible', 'unknown')


def questions(insight: Insight, mount_point: str) -> dict[str, Any]:
    """Which questions are answered, and how often this process failed to keep something."""
    questions = [
        {
            'name': name,
            'enabled': name in insight.enabled,
            'option': option,
            'links': [{'rel': 'self', 'href': f'{mount_point}/insight/{name}'}],
        }
        for name, option in insight.options.items()
    ]
    return {
        'questions': questions,
        'failures': insight.failures.count,
        'dropped': insight.dropped,
        'unrecorded': insight.unrecorded,
    }


def demands(found: Any) -> dict[str, Any]:
    """What was searched for in vain, and how often each verdict was."""
    rows = [_demand(row) for row in found.rows]
    return {'unmet_demand': rows, 'sums': {one: found.sums.get(one, 0) for one in VERDICTS}}


def _demand(row: Any) -> dict[str, Any]:
    return {
        'query': row.query,
        'names_tree': bool(row.names_tree),
        'microversion': row.microversion,
        'verdict': row.verdict,
        'reason': row.reason,
        'first_at': time_text(row.first_at),
        'last_at': time_text(row.last_at),
        'times': row.times,
        'request_ids': row.request_ids.split(),
    }


def searches(found: Any) -> dict[str, Any]:
    """Searches one by one, each in the shape of a demand of one search."""
    return {'unmet_demand': [_search(row) for row in found.rows]}


def _search(row: Any) -> dict[str, Any]:
    return {
        'query': '&'.join(filter(None, (row.query, row.trees))),
        'names_tree': bool(row.names_tree),
        'microversion': row.microversion,
        'verdict': row.verdict,
        'reason': row.reason,
        'first_at': time_text(row.at),
        'last_at': time_text(row.at),
        'times': 1,
        'request_ids': [row.global_request_id],
        'request_id': row.request_id,
    }


def links(mount_point: str, path: str, query: Query, marker: object | None) -> dict[str, Any]:
    """The link to the next page, which begins behind the marker; none where that is None."""
    return links_with(mount_point, path, query, {} if marker is None else {'marker': str(marker)})


def links_with(
    mount_point: str, path: str, query: Query, altered: Mapping[str, str]
) -> dict[str, Any]:
    """The link to the next page, whose query has these values; none where there are none."""
    if not altered:
        return {'links': []}
    parameters = [*((name, value) for name, value in query if name not in altered)]
    parameters += altered.items()
    href = f'{mount_point}{path}?{urllib.parse.urlencode(parameters, safe=":,!")}'
    return {'links': [{'rel': 'next', 'href': href}]}


def time_text(time: datetime.datetime) -> str:
    """A time of the database, UTC without time zone, as clients see it."""
    return f'{time.isoformat(timespec="seconds")}Z'
