# SPDX-License-Identifier: Apache-2.0
"""Pages of the lists below `/insight`: their parameters, elements and links."""

import dataclasses
import datetime
import urllib.parse
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, Self, TypeVar

from placement import errors
from placement.feed.follower import FollowerToken
from placement.http.querystring import Query
from placement.http.request import Request
from placement.schemas import common

# A page has so many elements unless a request says otherwise, and 1,000 at most.
PAGE_LIMIT = 100
PAGE_LIMIT_TEXT: common.Schema = {'type': 'string', 'pattern': '^([1-9][0-9]{0,2}|1000)$'}
# The number of a row. Larger ones than any row has are no error.
ROW_NUMBER: common.Schema = {'type': 'string', 'pattern': '^[0-9]{1,18}$'}
REQUEST_ID: common.Schema = {
    'type': 'string',
    'pattern': '^req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$',
}


def page_limit(query: Query) -> int:
    """How many elements a page may have."""
    return int(query.last('page_limit') or PAGE_LIMIT)


def parse_row_marker(query: Query) -> int | None:
    """The id of the last row before a page; None for the first page."""
    marker = query.last('marker')
    return None if marker is None else int(marker)


def parse_time(query: Query, name: str) -> datetime.datetime | None:
    """The time of a parameter, UTC without time zone; without a zone of its own it is in UTC.

    Raises `errors.InvalidQuery` for a time that does not exist.
    """
    text = query.last(name)
    if text is None:
        return None
    try:
        time = datetime.datetime.fromisoformat(text)
        if time.tzinfo is not None:
            time = time.astimezone(datetime.UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise errors.InvalidQuery(reason=f'{name}={text}: {error}') from error
    return time


Listed = TypeVar('Listed')


@dataclasses.dataclass(frozen=True, slots=True)
class Page(Generic[Listed]):
    """A part of a list, and whether there is more of it.

    `token` is that of the change feed at the moment of the first page of providers.
    """

    items: Sequence[Listed]
    has_more: bool
    token: FollowerToken | None = None

    @classmethod
    def of(cls, rows: Sequence[Listed], limit: int) -> Self:
        """The first `limit` of some rows, of which one more was asked for."""
        return cls(rows[:limit], len(rows) > limit)


def links(
    request: Request, name: str, query: Query, page: Page[Any], marker: str = 'id'
) -> dict[str, Any]:
    """The link to the next page of a question, behind the last element's attribute `marker`."""
    last = attrgetter(marker)(page.items[-1]) if page.has_more else None
    return links_with(request, name, query, {} if last is None else {'marker': str(last)})


def links_with(
    request: Request, name: str, query: Query, altered: Mapping[str, str]
) -> dict[str, Any]:
    """The link to the next page, whose query has these values; none where there are none."""
    if not altered:
        return {'links': []}
    parameters = [*((key, value) for key, value in query if key not in altered)]
    parameters += altered.items()
    encoded = urllib.parse.urlencode(parameters, safe=':,!')
    return {'links': [{'rel': 'next', 'href': f'{path_of(request, name)}?{encoded}'}]}


def members(record: Any, *names: str) -> dict[str, Any]:
    """Some attributes of a record, by their names."""
    return {name: getattr(record, name) for name in names}


def path_of(request: Request, name: str) -> str:
    """The path of a question."""
    return f'{request.mount_point}/insight/{name}'


def time_text(time: datetime.datetime) -> str:
    """A time of the database, UTC without time zone, as clients see it."""
    return f'{time.isoformat(timespec="seconds")}Z'
