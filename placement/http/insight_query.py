# SPDX-License-Identifier: Apache-2.0
"""Query parameters that several questions below `/insight` have (specification: insight)."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from placement import errors
from placement.http.querystring import Query
from placement.schemas.insight import PAGE_LIMIT


class PageOfRows(NamedTuple):
    """How many rows are wanted, and below which id they begin; None for the first page."""

    limit: int
    before_id: int | None


def page_limit(query: Query) -> int:
    """How many elements a page may have."""
    return int(query.last('page_limit') or PAGE_LIMIT)


def parse_page(query: Query) -> PageOfRows:
    """The page of rows that a query asks for; its marker is the id of the last row before."""
    marker = query.last('marker')
    return PageOfRows(page_limit(query), None if marker is None else int(marker))


def parse_since(query: Query) -> datetime.datetime | None:
    """The time `since`, UTC without time zone; without a zone of its own it is in UTC.

    Raises `errors.InvalidQuery` for a time that does not exist.
    """
    text = query.last('since')
    if text is None:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
        if time.tzinfo is not None:
            time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise errors.InvalidQuery(reason=f'since={text}: {error}') from error
    return time
