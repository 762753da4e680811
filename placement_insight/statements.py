# SPDX-License-Identifier: Apache-2.0
"""Parts of SQL statements that read pages of numbered rows, the newest first."""

import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa


class RowPage(NamedTuple):
    """A page of rows, the newest first: those since a time, with ids below `before_id`.

    `since` is UTC without time zone. None in both means all rows.
    """

    since: datetime.datetime | None
    before_id: int | None
    limit: int

    def of(
        self, statement: sa.Select[Any], row_id: sa.Column[int], at: sa.Column[datetime.datetime]
    ) -> sa.Select[Any]:
        """Return the statement limited to this page, given the columns of id and time."""
        if self.before_id is not None:
            statement = statement.where(row_id < self.before_id)
        return with_since(statement, at, self.since).order_by(row_id.desc()).limit(self.limit)


def with_since(
    statement: sa.Select[Any], at: sa.Column[datetime.datetime], since: datetime.datetime | None
) -> sa.Select[Any]:
    """Return the statement limited to rows since a time, all of them with None."""
    return statement if since is None else statement.where(at >= since)
