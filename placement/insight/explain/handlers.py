# SPDX-License-Identifier: Apache-2.0
"""Explanations and capacities of requests (specification: insight).

Both are pure functions (`placement.search.insight`) of a fresh snapshot.
"""

from collections.abc import Collection, Mapping, Set
from typing import Any

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import providers
from placement.http import candidate_query
from placement.http.microversion import Api
from placement.http.querystring import unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.explain import views
from placement.insight.handlers import aggregate_names
from placement.insight.paging import PAGE_LIMIT_TEXT, links_with, page_limit
from placement.insight.what_if import scenarios, schemas
from placement.insight.what_if import views as what_if
from placement.insight.what_if.statements import list_named
from placement.objects.allocation_candidate import check_names, snapshot_for
from placement.schemas import common
from placement.search.insight.capacity import RowPage, capacities_of, capacity_of
from placement.search.insight.explain import explain_request
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.what_if.scenario import Scenario

# Beside the query of a search for candidates.
EXPLAIN: common.Schema = {'provider': schemas.UUID_OR_NAME}

EXPLAIN_AFTER = common.an_object(
    {'query': schemas.QUERY, 'scenario': schemas.SCENARIO} | EXPLAIN,
    required=('query', 'scenario'),
)

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
        snapshot = snapshot_for(context, wanted)
    provider = _uuid_of(context, snapshot, query.last('provider'))
    explanation = explain_request(snapshot, wanted, provider=provider)
    names = list_names(context, views.uuids_in(explanation))
    return Reply(views.explanation(explanation, names))


def explain_after(request: Request) -> Reply:
    """Explain a request in the cloud as it would be after the steps of a scenario."""
    context = request.context
    body = request.validated_body('insight.explain_after')
    wanted = candidate_query.parse_text(request.api, body['query'])
    named = body.get('provider')
    after = scenarios.scenario_of(request, body['scenario'], named)
    with unknown_names_reported():
        check_names(context, wanted, after.given)
    provider = None if named is None else scenarios.uuid_of(after, named)
    explanation = explain_request(after.snapshot, wanted, provider=provider)
    names = names_after(request, after, views.uuids_in(explanation))
    return Reply(views.explanation(explanation, names) | what_if.scenario(after, names))


def parse_named_queries(api: Api, texts: Mapping[str, str]) -> dict[str, CandidateRequest]:
    """The requests that queries ask for, by their names.

    Raises `errors.BadRequest`, which names the request, for a query that is malformed.
    """
    requests = {}
    for name, text in texts.items():
        with errors.reported_as(errors.BadRequest, prefix=f'Request {name}: '):
            requests[name] = candidate_query.parse_text(api, text)
    return requests


def parse_requests(request: Request, body: Mapping[str, Any]) -> dict[str, CandidateRequest]:
    """The requests of a body by name. Raises `errors.BadRequest`, which names the request."""
    texts = body.get('requests', {})
    candidate_query.check_lengths(texts.values())
    return parse_named_queries(request.api, texts)


def check_requests(
    request: Request, requests: Mapping[str, CandidateRequest], snapshot: Snapshot
) -> None:
    """Raise `errors.BadRequest`, which names the request, for unknown traits and classes."""
    unknown = (errors.ResourceClassNotFound, errors.TraitNotFound)
    for name, wanted in requests.items():
        with errors.reported_as(errors.BadRequest, *unknown, prefix=f'Request {name}: '):
            check_names(request.context, wanted, snapshot)


def capacity(request: Request) -> Reply:
    """Show how many consumers of a request could be claimed, in all and by tree or aggregate."""
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
    names = list_names(request.context, [row.uuid for row in counted.trees or ()])
    named = {} if counted.aggregates is None else aggregate_names(request)
    view = views.capacity(counted) | views.capacity_rows(counted, names, named)
    following = {'marker': counted.last} if counted.has_more else {}
    return Reply(view | links_with(request, 'capacity', query, following))


def capacities(request: Request) -> Reply:
    """Show how often each of several requests would fit at one moment, or after a scenario."""
    body = request.validated_body('insight.capacities')
    wanted = parse_requests(request, body)
    after = scenarios.scenario_of(request, body['scenario']) if 'scenario' in body else None
    snapshot = request.context.snapshots.current() if after is None else after.given
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


def _capacities(snapshot: Snapshot, wanted: Mapping[str, CandidateRequest]) -> dict[str, Any]:
    return {
        name: views.capacity(counted) for name, counted in capacities_of(snapshot, wanted).items()
    }


def _uuid_of(context: RequestContext, snapshot: Snapshot, provider: str | None) -> str | None:
    """The uuid of a provider that is named by uuid or name; raises `errors.InvalidQuery`."""
    if provider is None or snapshot.find_by_uuid(provider) is not None:
        return provider
    uuid = _find_uuid(context, provider)
    # One that was made since the snapshot was taken has no report yet.
    if uuid is None or snapshot.find_by_uuid(uuid) is None:
        raise errors.InvalidQuery(reason=f'there is no resource provider {provider!r}')
    return uuid


@db.reader
def _find_uuid(context: RequestContext, name: str) -> str | None:
    return next(iter(list_named(context.connection, [name])), None)


@db.reader
def list_names(context: RequestContext, uuids: Collection[str]) -> Mapping[str, str]:
    """The names of providers by uuid; those that are gone meanwhile have none."""
    return providers.list_names(context.connection, uuids) if uuids else {}


def names_after(
    request: Request, after: Scenario, mentioned: Set[str] = frozenset()
) -> dict[str, str]:
    """The names of the providers that an answer mentions, and of those that a scenario does."""
    uuids = mentioned | what_if.uuids_in(after)
    return {**list_names(request.context, uuids), **after.names}
