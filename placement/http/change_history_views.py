# SPDX-License-Identifier: Apache-2.0
"""The history of changes as JSON (specification: insight, "GET /insight/history")."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from placement.http import insight_views, views


def changes(rows: Iterable[Any]) -> dict[str, Any]:
    """Rows of the history, in the order given."""
    return {'history': [_change(row) for row in rows]}


def _change(row: Any) -> dict[str, Any]:
    return {
        'at': insight_views.time_text(row.at),
        'request_id': row.request_id,
        'global_request_id': row.global_request_id,
        'caller': {
            'user_id': row.caller_user_id,
            'user_name': row.caller_user_name,
            'project_id': row.caller_project_id,
        },
        'action': row.action,
        'kind': row.kind,
        'uuid': row.uuid,
        'project_id': row.project_id,
        'user_id': row.user_id,
        'generation': row.generation,
        'state': None if row.state is None else _state(row.state),
    }


def _state(text: str) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(text)
    if 'consumer_type' in state:
        state['consumer_type'] = state['consumer_type'] or views.UNKNOWN_TYPE
    return state
