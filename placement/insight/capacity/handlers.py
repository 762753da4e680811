# SPDX-License-Identifier: Apache-2.0
"""Capacities of requests (specification: insight)."""

from collections.abc import Mapping
from typing import Any

from placement import errors
from placement.http import candidate_query
from placement.http.microversion import Api
from placement.http.querystring import unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.explain.handlers import SCENARIO, list_names
from placement.insight.explain.views import Names, provider
from placement.insight.handlers import aggregate_names
from placement.insight.paging import PAGE_LIMIT_TEXT, links_with, members, page_limit
from placement.insight.what_if import scenarios, schemas
from placement.insight.what_if import views as what_if
from placement.objects.allocation_candidate import check_names, snapshot_for
from placement.policies import rules
from placement.schemas import common
from placement.search.insight.capacity import (
    AggregateCapacity,
    RequestCapacity,
    RowPage,
    TreeCapacity,
    capacities_of,
    capacity_of,
)
from placement.search.insight.closed_form import Count
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot

# Beside the query of a search for candidates.
CAPACITY: common.Schema = {
    'by': {'type': 'string', 'enum': ['root', 'aggregate']},
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
            schemas.QUERY,
            minProperties=1,
            maxProperties=MAX_REQUESTS,
        ),
        'scenario': SCENARIO,
    },
    required=('requests',),
)


def parse_named_queries(api: Api, texts: Mapping[str, str]) -> dict[str, CandidateRequest]:
    """The requests that queries ask for, by their names.

    Raises `errors.BadRequest`, which names the request, for a query that is malformed.
    """
    requests = {}
    for name, text in texts.items():
        with errors.reported_as(errors.BadRequest, prefix=f'Request {name}: '):
            requests[name] = candidate_query.parse_text(api, text)
    return requests


def capacity(request: Request) -> Reply:
    """Show how many consumers of a request could be claimed, in all and by tree or aggregate."""
    request.authorise(rules.SHOW_CAPACITY)
    with request.context.insight.question('capacity'):
        query = request.validated_query('insight.capacity')
        wanted = candidate_query.parse(request.api, query)
        by, marker = query.last('by'), query.last('marker') or ''
        # Aggregates are kept as they were spelled.
        page = RowPage(page_limit(query), marker if by == 'aggregate' else marker.lower())
        with unknown_names_reported():
            snapshot = snapshot_for(request.context, wanted)
        counted = capacity_of(
            snapshot,
            wanted,
            by_root=page if by == 'root' else None,
            by_aggregate=page if by == 'aggregate' else None,
        )
        names = list_names(request.context, [row.root for row in counted.trees or ()])
        named = {} if counted.aggregates is None else aggregate_names(request)
    view = _view(counted) | _rows(counted, names, named)
    following = {'marker': counted.last} if counted.has_more else {}
    return Reply(view | links_with(request, 'capacity', query, following))


def capacities(request: Request) -> Reply:
    """Show how often each of several requests would fit at one moment, or after a scenario."""
    request.authorise(rules.SHOW_CAPACITY)
    context = request.context
    with context.insight.question('capacity'):
        body = request.validated_body('insight.capacities')
        candidate_query.check_lengths(body['requests'].values())
        wanted = parse_named_queries(request.api, body['requests'])
        after = None
        if 'scenario' in body:
            after = scenarios.scenario_of(request, body['scenario'])
        snapshot = context.snapshots.current() if after is None else after.given
        unknown = (errors.ResourceClassNotFound, errors.TraitNotFound)
        for name, search in wanted.items():
            prefix = f'Request {name}: '
            with errors.reported_as(errors.BadRequest, *unknown, prefix=prefix):
                check_names(context, search, snapshot)
        if after is None:
            return Reply({'capacities': _capacities(snapshot, wanted)})
        names = {**list_names(context, what_if.uuids_in(after)), **after.names}
        return Reply(
            {
                'capacities': _capacities(after.snapshot, wanted),
                'before': _capacities(after.given, wanted),
                **what_if.scenario(after, names),
            }
        )


def _capacities(snapshot: Snapshot, wanted: Mapping[str, CandidateRequest]) -> dict[str, Any]:
    return {name: _view(counted) for name, counted in capacities_of(snapshot, wanted).items()}


def _view(counted: RequestCapacity) -> dict[str, Any]:
    """The counts of a request, without rows."""
    names = ('resource_class', 'capacity', 'used', 'free', 'usable')
    return {
        **_counts(counted),
        'exact': counted.is_exact,
        'fragmentation': [members(part, *names) for part in counted.fragmentation],
    }


def _rows(counted: RequestCapacity, names: Names, named: Mapping[str, str]) -> dict[str, Any]:
    """The counts of each tree, or in each aggregate, for itself; null where none were asked
    for."""

    def aggregate(uuid: str | None) -> dict[str, str | None] | None:
        if uuid is None:
            return None
        return {'uuid': uuid, 'name': named.get(uuid.lower())}

    trees, aggregates = counted.trees, counted.aggregates
    return {
        'trees': trees and [{'root': provider(row.root, names)} | _counts(row) for row in trees],
        'aggregates': aggregates
        and [{'aggregate': aggregate(row.aggregate)} | _counts(row) for row in aggregates],
        'note': counted.note,
    }


def _counts(row: RequestCapacity | TreeCapacity | AggregateCapacity) -> dict[str, Any]:
    return {'now': _count(row.now), 'if_empty': _count(row.if_empty)}


def _count(count: Count) -> dict[str, int]:
    return members(count, 'at_least', 'at_most')
