# SPDX-License-Identifier: Apache-2.0
"""Pages of the lists below `/insight`: their parameters, elements and links."""

import datetime
import urllib.parse
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Self, TypeVar

from placement import errors
from placement.http.querystring import Query
from placement.http.request import Request
from placement.schemas import common
from placement_insight.bulk.follower import FollowerToken
from placement_insight.questions import Insight

# Default number of elements of a page; the maximum is 1,000.
PAGE_LIMIT = 100
PAGE_LIMIT_TEXT: common.Schema = {'type': 'string', 'pattern': '^([1-9][0-9]{0,2}|1000)$'}
# The id of a row. An id beyond that of every row is valid.
ROW_NUMBER: common.Schema = {'type': 'string', 'pattern': '^[0-9]{1,18}$'}
CONSUMER_FILTERS: common.Schema = {
    'project_id': common.EXTERNAL_ID,
    'user_id': common.EXTERNAL_ID,
    'type': {'pattern': '^([A-Z0-9_]+|unknown)$'} | common.EXTERNAL_ID,
    'provider': common.UUID,
    'older_than': common.TIME,
    'newer_than': common.TIME,
}
REQUEST_ID: common.Schema = {
    'type': 'string',
    'pattern': '^req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$',
}


def page_limit(query: Query) -> int:
    """Return the maximum number of elements of the page."""
    return int(query.last('page_limit') or PAGE_LIMIT)


def parse_row_marker(query: Query) -> int | None:
    """Parse the id of the last row before the page; None for the first page."""
    marker = query.last('marker')
    return None if marker is None else int(marker)


def parse_time(query: Query, name: str) -> datetime.datetime | None:
    """Parse a time, and return it in UTC without time zone; UTC is the default zone.

    :raises errors.InvalidQuery: the time does not exist, as February 30 does not
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


class Page(NamedTuple, Generic[Listed]):
    """A page of a list; `has_more` is True if another one follows.

    `token` is the position of the change feed at the moment of the first page of providers.
    """

    items: Sequence[Listed]
    has_more: bool
    token: FollowerToken | None = None

    @classmethod
    def of(cls, rows: Sequence[Listed], limit: int) -> Self:
        """Return a page of `limit` rows, given one row more where the list goes on."""
        return cls(rows[:limit], len(rows) > limit)


def links(
    request: Request, name: str, query: Query, page: Page[Any], marker: str = 'id'
) -> dict[str, Any]:
    """Return the link to the next page, which begins after the last element's `marker`."""
    last = attrgetter(marker)(page.items[-1]) if page.has_more else None
    return links_with(request, name, query, {} if last is None else {'marker': str(last)})


def links_with(
    request: Request, name: str, query: Query, altered: Mapping[str, str]
) -> dict[str, Any]:
    """Return the link to the next page, with `altered` values in its query; none if empty."""
    if not altered:
        return {'links': []}
    altered = {**request.service.part(Insight).page_parameters, **altered}
    parameters = [*((key, value) for key, value in query if key not in altered)]
    parameters += altered.items()
    encoded = urllib.parse.urlencode(parameters, safe=':,!')
    return {'links': [{'rel': 'next', 'href': f'{path_of(request, name)}?{encoded}'}]}


def members(record: Any, *names: str) -> dict[str, Any]:
    """Return some attributes of a record by name."""
    return {name: getattr(record, name) for name in names}


def path_of(request: Request, name: str) -> str:
    """Return the path of a question."""
    return f'{request.mount_point}/insight/{name}'


def time_text(time: datetime.datetime) -> str:
    """Return a time of the database, UTC without time zone, in the format of answers."""
    return f'{time.isoformat(timespec="seconds")}Z'
