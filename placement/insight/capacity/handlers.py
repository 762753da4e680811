# SPDX-License-Identifier: Apache-2.0
"""Capacities of requests (specification: insight)."""

import urllib.parse
from collections.abc import Mapping
from typing import Any

from placement import errors
from placement.http import candidate_query
from placement.http.microversion import Api
from placement.http.querystring import MAX_LENGTH, unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request, checked_query
from placement.insight.explain.handlers import list_names
from placement.insight.explain.views import Names, provider
from placement.insight.paging import PAGE_LIMIT_TEXT, links_with, members, page_limit
from placement.objects.allocation_candidate import check_names, snapshot_for
from placement.policies import rules
from placement.schemas import common
from placement.search.insight.capacity import RequestCapacity, RootPage, capacities_of, capacity_of
from placement.search.insight.closed_form import Count
from placement.search.model.request import CandidateRequest

# Beside the query of a search for candidates.
CAPACITY: common.Schema = {
    'by': {'type': 'string', 'enum': ['root']},
    'page_limit': PAGE_LIMIT_TEXT,
    'marker': {'type': 'string', 'format': 'uuid'},
}

# How many requests one question may ask about: each may take a tenth of a second, beside the
# claims, whose budget they share.
MAX_REQUESTS = 100
CAPACITIES = common.an_object(
    {
        'requests': common.keyed_by(
            '^.{1,255}$',
            {'type': 'string', 'minLength': 1, 'maxLength': 65_536},
            minProperties=1,
            maxProperties=MAX_REQUESTS,
        )
    }
)


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
        with errors.reported_as(errors.BadRequest, prefix=f'Request {name}: '):
            query = checked_query(api, 'allocation_candidates.list', _parameters(text))
            requests[name] = candidate_query.parse(api, query)
    return requests


def _parameters(text: str) -> list[tuple[str, str]]:
    try:
        return urllib.parse.parse_qsl(text, keep_blank_values=True, errors='strict')
    except ValueError as error:
        raise errors.InvalidQuery(reason=error) from error


def capacity(request: Request) -> Reply:
    """Show how many consumers of a request could be claimed, in all and by tree."""
    request.authorise(rules.SHOW_CAPACITY)
    with request.context.insight.question('capacity'):
        query = request.validated_query('insight.capacity')
        wanted = candidate_query.parse(request.api, query)
        marker = (query.last('marker') or '').lower()
        page = RootPage(page_limit(query), marker) if 'by' in query else None
        with unknown_names_reported():
            snapshot = snapshot_for(request.context, wanted)
        counted = capacity_of(snapshot, wanted, by_root=page)
        roots = [row.root for row in counted.trees or ()]
        names = list_names(request.context, roots)
    view = _view(counted) | _rows_of_trees(counted, names)
    following = {'marker': roots[-1]} if counted.has_more else {}
    return Reply(view | links_with(request, 'capacity', query, following))


def capacities(request: Request) -> Reply:
    """Show how many consumers of each of several requests could be claimed at one moment."""
    request.authorise(rules.SHOW_CAPACITY)
    with request.context.insight.question('capacity'):
        wanted = parse_requests(request)
        snapshot = request.context.snapshots.current()
        unknown = (errors.ResourceClassNotFound, errors.TraitNotFound)
        for name, search in wanted.items():
            prefix = f'Request {name}: '
            with errors.reported_as(errors.BadRequest, *unknown, prefix=prefix):
                check_names(request.context, search, snapshot)
        counted = capacities_of(snapshot, wanted)
    views = {name: _view(capacity) for name, capacity in counted.items()}
    return Reply({'capacities': views})


def _view(counted: RequestCapacity) -> dict[str, Any]:
    """The counts of a request, without those by tree."""
    names = ('resource_class', 'capacity', 'used', 'free', 'usable')
    return {
        'now': _count(counted.now),
        'if_empty': _count(counted.if_empty),
        'exact': counted.is_exact,
        'fragmentation': [members(part, *names) for part in counted.fragmentation],
    }


def _rows_of_trees(counted: RequestCapacity, names: Names) -> dict[str, Any]:
    """The counts of each tree for itself; null where none were asked for."""
    rows = None
    if counted.trees is not None:
        rows = [
            {
                'root': provider(row.root, names),
                'now': _count(row.now),
                'if_empty': _count(row.if_empty),
            }
            for row in counted.trees
        ]
    return {'trees': rows, 'note': counted.note}


def _count(count: Count) -> dict[str, int]:
    return members(count, 'at_least', 'at_most')
