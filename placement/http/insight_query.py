# SPDX-License-Identifier: Apache-2.0
"""Query parameters that several questions below `/insight` have (specification: insight)."""

from __future__ import annotations

import datetime
import urllib.parse
from collections.abc import Mapping
from typing import NamedTuple

from placement import errors
from placement.http import candidate_query
from placement.http.microversion import Api
from placement.http.querystring import MAX_LENGTH, Query
from placement.http.request import Request, checked_query
from placement.schemas.insight import PAGE_LIMIT
from placement.search.insight.capacity_answer import Page
from placement.search.model.request import CandidateRequest


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


def parse_page_of_roots(query: Query) -> Page | None:
    """The page of rows by tree that a query asks for; None where it asks for no rows."""
    if 'by' not in query:
        return None
    return Page(page_limit(query), (query.last('marker') or '').lower())


def parse_requests(request: Request) -> dict[str, CandidateRequest]:
    """The requests of a body, by their names.

    Raises `errors.BadRequest`, which names the request, for a query that is malformed, and
    `errors.InvalidQuery` where all of them together are longer than one query may be: to read
    them is work that no budget counts.
    """
    texts = request.validated_body('insight.capacities')['requests']
    length = sum(map(len, texts.values()))
    if length > MAX_LENGTH:
        raise errors.InvalidQuery(
            reason=f'the queries have {length} characters, more than {MAX_LENGTH}'
        )
    return parse_named_queries(request.api, texts)


def parse_named_queries(api: Api, texts: Mapping[str, str]) -> dict[str, CandidateRequest]:
    """The requests that queries ask for, by their names.

    Raises `errors.BadRequest`, which names the request, for a query that is malformed.
    """
    requests = {}
    for name, text in texts.items():
        with errors.reported_as(errors.BadRequest, errors.BadRequest, prefix=f'Request {name}: '):
            query = checked_query(api, 'allocation_candidates.list', _parameters(text))
            requests[name] = candidate_query.parse(api, query)
    return requests


def _parameters(text: str) -> list[tuple[str, str]]:
    try:
        return urllib.parse.parse_qsl(text, keep_blank_values=True, errors='strict')
    except ValueError as error:
        raise errors.InvalidQuery(reason=error) from error


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
