# SPDX-License-Identifier: Apache-2.0
"""What was searched for in vain, as the database has it (specification: insight)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.engine.transactions import Row
from placement.db.statements import unmet_demand as statements


class Page(NamedTuple):
    """Some rows, whether others follow, and how often each verdict was, not of this page alone."""

    rows: Sequence[Row]
    has_more: bool
    sums: Mapping[str, int]


@db.reader
def list_demands(
    context: RequestContext,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> Page:
    """What was searched for since a time, the newest kind first; one row for all who ask alike."""
    rows = statements.list_demands(context.connection, since, before_id, limit + 1)
    sums = statements.sum_demands(context.connection, since)
    return Page(rows[:limit], len(rows) > limit, sums)


@db.reader
def list_searches(
    context: RequestContext,
    global_request_id: str,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> Page:
    """The searches of one request of a client since a time, the last one first."""
    rows = statements.list_searches(
        context.connection, global_request_id, since, before_id, limit + 1
    )
    return Page(rows[:limit], len(rows) > limit, {})
