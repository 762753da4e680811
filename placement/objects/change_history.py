# SPDX-License-Identifier: Apache-2.0
"""Who changed what, as the database has it (specification: insight)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.engine.transactions import Row
from placement.db.statements import change_history as statements
from placement.db.statements.change_history import Filters


class Page(NamedTuple):
    """Some rows of the history, the newest first, and whether others follow."""

    rows: Sequence[Row]
    has_more: bool


@db.reader
def list_changes(
    context: RequestContext, filters: Filters, before_id: int | None, limit: int
) -> Page:
    """The rows that meet every filter, from below an id on where one is given."""
    rows = statements.list_rows(context.connection, filters, before_id, limit + 1)
    return Page(rows[:limit], len(rows) > limit)
