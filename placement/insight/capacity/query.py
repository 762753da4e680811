# SPDX-License-Identifier: Apache-2.0
"""Requests whose capacity is asked for (specification: insight)."""

import urllib.parse
from collections.abc import Mapping

from placement import errors
from placement.http import candidate_query
from placement.http.microversion import Api
from placement.http.querystring import MAX_LENGTH, Query
from placement.http.request import Request, checked_query
from placement.insight.pages import page_limit
from placement.search.insight.capacity import RootPage
from placement.search.model.request import CandidateRequest


def parse_page_of_roots(query: Query) -> RootPage | None:
    """The page of rows by tree that a query asks for; None where it asks for no rows."""
    if 'by' not in query:
        return None
    return RootPage(page_limit(query), (query.last('marker') or '').lower())


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
