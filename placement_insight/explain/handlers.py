# SPDX-License-Identifier: Apache-2.0
"""Explanations and capacities of requests (specification: insight).

Both are pure functions (`placement_insight.search`) of a fresh snapshot.
"""

import dataclasses
from collections.abc import Collection, Mapping, Set
from typing import Any

from placement import errors
from placement.context import RequestContext
from placement.db.mode import Mode
from placement.db.statements import providers
from placement.db.transaction import in_transaction
from placement.http import candidate_query
from placement.http.querystring import unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request
from placement.objects.allocation_candidate import check_names, snapshot_for
from placement.schemas import common
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement_insight import query_text
from placement_insight.explain import views
from placement_insight.handlers import aggregate_names
from placement_insight.paging import PAGE_LIMIT_TEXT, links_with, page_limit
from placement_insight.questions import Insight
from placement_insight.search.capacity import Requests, RowPage, capacities_of, capacity_of
from placement_insight.search.explain import explain_request
from placement_insight.search.what_if.scenario import Scenario
from placement_insight.what_if import scenarios, schemas
from placement_insight.what_if import views as what_if
from placement_insight.what_if.statements import list_named

# Maximum number of steps to find the hosts that promises withhold.
WITHHELD_STEPS = 200_000

# Parameters in addition to those of a search for candidates.
EXPLAIN: common.Schema = {'provider': common.UUID_OR_NAME}

EXPLAIN_AFTER = common.an_object(
    {'query': schemas.QUERY, 'scenario': schemas.SCENARIO} | EXPLAIN,
    required=('query', 'scenario'),
)

# Parameters in addition to those of a search for candidates.
CAPACITY: common.Schema = {
    'by': {'type': 'string', 'enum': ['root', 'aggregate']},
    'page_limit': PAGE_LIMIT_TEXT,
    'marker': common.UUID_AS_SPELLED,
}

CAPACITIES = common.an_object(
    {
        'requests': schemas.REQUESTS | {'minProperties': 1},
        'scenario': schemas.SCENARIO,
    },
    required=('requests',),
)


def explain(request: Request) -> Reply:
    """Explain why a request finds no allocation candidates, or where it does not fit."""
    context = request.context
    query = request.validated_query('insight.explain')
    wanted = candidate_query.parse(request.api, query)
    with unknown_names_reported():
        snapshot = snapshot_for(context, request.service.snapshots, wanted)
    provider = _uuid_of(context, snapshot, query.last('provider'))
    explanation = explain_request(snapshot, wanted, provider=provider)
    names = list_names(context, views.uuids_in(explanation))
    shown = views.explanation(explanation, names)
    return Reply(shown | views.withheld(shown, _withheld(request, snapshot, wanted)))


def _withheld(request: Request, snapshot: Snapshot, wanted: CandidateRequest) -> Mapping[str, int]:
    """Return the number of hosts that each promise withholds from a request."""
    service = request.service
    keeping = service.part(Insight).keeping
    if keeping is None:
        return {}
    bounded = dataclasses.replace(wanted, limit=None, budget=WITHHELD_STEPS)
    return keeping.withheld(service.snapshots, snapshot, bounded)


def explain_after(request: Request) -> Reply:
    """Explain a request in the cloud after the steps of a scenario."""
    context = request.context
    body = request.validated_body('insight.explain_after')
    wanted = query_text.parse_text(request.api, body['query'])
    named = body.get('provider')
    after = scenarios.scenario_of(request, body['scenario'], named)
    with unknown_names_reported():
        check_names(context, wanted, after.given)
    provider = None if named is None else scenarios.uuid_of(after, named)
    explanation = explain_request(after.snapshot, wanted, provider=provider)
    names = names_after(request, after, views.uuids_in(explanation))
    shown = views.explanation(explanation, names)
    withheld = views.withheld(shown, _withheld(request, after.snapshot, wanted))
    return Reply(shown | withheld | what_if.scenario(after, names))


def parse_requests(request: Request, body: Mapping[str, Any]) -> dict[str, CandidateRequest]:
    """Parse the requests of a body by name.

    :raises errors.BadRequest: a query is malformed; the message names the request
    :raises errors.InvalidQuery: the queries are too long together
    """
    texts = body.get('requests', {})
    query_text.check_lengths(texts.values())
    return query_text.parse_named(request.api, texts)


def check_requests(request: Request, requests: Requests, snapshot: Snapshot) -> None:
    """Check that all classes and traits of requests exist.

    :raises errors.BadRequest: one does not; the message names the request
    """
    unknown = (errors.ResourceClassNotFound, errors.TraitNotFound)
    for name, wanted in requests.items():
        with errors.reported_as(errors.BadRequest, *unknown, prefix=f'Request {name}: '):
            check_names(request.context, wanted, snapshot)


def capacity(request: Request) -> Reply:
    """Show how many consumers of a request could be claimed, in all and by tree or aggregate."""
    query = request.validated_query('insight.capacity')
    wanted = candidate_query.parse(request.api, query)
    by, marker = query.last('by'), query.last('marker') or ''
    # Aggregates keep the spelling of clients; uuids of providers are in lower case.
    page = RowPage(page_limit(query), marker if by == 'aggregate' else marker.lower())
    with unknown_names_reported():
        snapshot = snapshot_for(request.context, request.service.snapshots, wanted)
    counted = capacity_of(
        snapshot,
        wanted,
        by_root=page if by == 'root' else None,
        by_aggregate=page if by == 'aggregate' else None,
    )
    names = list_names(request.context, [row.uuid for row in counted.trees or ()])
    named = {} if counted.aggregates is None else aggregate_names(request)
    view = views.capacity(counted) | views.capacity_rows(counted, names, named)
    following = {'marker': counted.last} if counted.has_more else {}
    return Reply(view | links_with(request, 'capacity', query, following))


def capacities(request: Request) -> Reply:
    """Show how many times each of several requests would fit, now or after a scenario."""
    body = request.validated_body('insight.capacities')
    wanted = parse_requests(request, body)
    after = scenarios.scenario_of(request, body['scenario']) if 'scenario' in body else None
    snapshot = request.service.snapshots.current() if after is None else after.given
    check_requests(request, wanted, snapshot)
    if after is None:
        return Reply({'capacities': _capacities(snapshot, wanted)})
    names = names_after(request, after)
    return Reply(
        {
            'capacities': _capacities(after.snapshot, wanted),
            'before': _capacities(after.given, wanted),
            **what_if.scenario(after, names),
        }
    )


def _capacities(snapshot: Snapshot, wanted: Requests) -> dict[str, Any]:
    return {
        name: views.capacity(counted) for name, counted in capacities_of(snapshot, wanted).items()
    }


def _uuid_of(context: RequestContext, snapshot: Snapshot, provider: str | None) -> str | None:
    """Return the uuid of a provider given by uuid or name.

    :raises errors.InvalidQuery: there is no such provider
    """
    if provider is None or snapshot.find_by_uuid(provider) is not None:
        return provider
    uuid = _find_uuid(context, provider)
    # A provider created after the snapshot was taken has no report yet.
    if uuid is None or snapshot.find_by_uuid(uuid) is None:
        raise errors.InvalidQuery(reason=f'there is no resource provider {provider!r}')
    return uuid


@in_transaction(Mode.READ)
def _find_uuid(context: RequestContext, name: str) -> str | None:
    return next(iter(list_named(context.connection, {name})), None)


@in_transaction(Mode.READ)
def list_names(context: RequestContext, uuids: Collection[str]) -> Mapping[str, str]:
    """Return the names of providers by uuid; one deleted meanwhile is missing."""
    return providers.list_names(context.connection, uuids) if uuids else {}


def names_after(
    request: Request, after: Scenario, mentioned: Set[str] = frozenset()
) -> dict[str, str]:
    """Return the names, by uuid, of the providers mentioned by an answer and by its scenario."""
    uuids = mentioned | what_if.uuids_in(after)
    return {**list_names(request.context, uuids), **after.names}
