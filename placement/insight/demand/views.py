# SPDX-License-Identifier: Apache-2.0
"""Searches in vain as JSON (specification: insight, "GET /insight/unmet_demand")."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from placement.insight.pages import time_text

# Verdicts of searches that found nothing.
VERDICTS = ('full', 'infeasible', 'unknown')


def demands(rows: Iterable[Any], sums: Mapping[str, int]) -> dict[str, Any]:
    """Kinds of searches in vain, and how often each verdict was."""
    shown = [
        _demand(row, row.query, (row.first_at, row.last_at), row.times, row.request_ids.split())
        for row in rows
    ]
    return {
        'unmet_demand': shown,
        'sums': {verdict: sums.get(verdict, 0) for verdict in VERDICTS},
    }


def searches(rows: Iterable[Any]) -> dict[str, Any]:
    """Searches one by one, each in the shape of a demand of one search."""
    return {'unmet_demand': [_search(row) for row in rows]}


def _search(row: Any) -> dict[str, Any]:
    query = '&'.join(filter(None, (row.query, row.trees)))
    demand = _demand(row, query, (row.at, row.at), 1, [row.global_request_id])
    return demand | {'request_id': row.request_id}


def _demand(
    row: Any,
    query: str,
    period: tuple[datetime.datetime, datetime.datetime],
    times: int,
    request_ids: Sequence[str],
) -> dict[str, Any]:
    first_at, last_at = period
    return {
        'query': query,
        'names_tree': bool(row.names_tree),
        'microversion': row.microversion,
        'verdict': row.verdict,
        'reason': row.reason,
        'first_at': time_text(first_at),
        'last_at': time_text(last_at),
        'times': times,
        'request_ids': request_ids,
    }
