# SPDX-License-Identifier: Apache-2.0
"""Searches in vain, as the database has them (specification: insight)."""

import datetime
from collections.abc import Mapping

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.engine.transactions import Row
from placement.insight.demand import statements
from placement.insight.pages import Page


@db.brief_reader
def list_demands(
    context: RequestContext,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> tuple[Page[Row], Mapping[str, int]]:
    """List what was searched for since a time, the newest kind first, one row for all alike.

    With it comes how often each verdict was, on all pages.
    """
    rows = statements.list_demands(context.connection, since, before_id, limit + 1)
    sums = statements.sum_demands(context.connection, since)
    return Page.of(rows, limit), sums


@db.brief_reader
def list_searches(
    context: RequestContext,
    global_request_id: str,
    since: datetime.datetime | None,
    before_id: int | None,
    limit: int,
) -> Page[Row]:
    """The searches of one request of a client since a time, the last one first."""
    rows = statements.list_searches(
        context.connection, global_request_id, since, before_id, limit + 1
    )
    return Page.of(rows, limit)
