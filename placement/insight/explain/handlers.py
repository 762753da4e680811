# SPDX-License-Identifier: Apache-2.0
"""Explanations of requests (specification: insight, "GET /insight/allocation_candidates").

The explanation is a pure function (`placement.search.insight`) of a fresh snapshot.
"""

from collections.abc import Collection, Mapping

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import providers
from placement.http import candidate_query
from placement.http.querystring import unknown_names_reported
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.bulk.handlers import CONSUMER_FILTERS
from placement.insight.explain import views
from placement.insight.what_if import scenarios, schemas
from placement.insight.what_if import views as what_if
from placement.objects.allocation_candidate import check_names, snapshot_for
from placement.policies import rules
from placement.schemas import common
from placement.search.insight.explain import explain_request
from placement.search.model.snapshot import Snapshot

# Beside the query of a search for candidates.
EXPLAIN: common.Schema = {'provider': schemas.UUID_OR_NAME}

SCENARIO = schemas.scenario(CONSUMER_FILTERS)
EXPLAIN_AFTER = common.an_object(
    {'query': schemas.QUERY, 'scenario': SCENARIO} | EXPLAIN, required=('query', 'scenario')
)


def explain(request: Request) -> Reply:
    """Explain why a request finds no allocation candidates, or where it does not fit."""
    request.authorise(rules.EXPLAIN)
    context = request.context
    with context.insight.question('allocation_candidates'):
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
    request.authorise(rules.EXPLAIN)
    context = request.context
    with context.insight.question('allocation_candidates'):
        body = request.validated_body('insight.explain_after')
        wanted = candidate_query.parse_text(request.api, body['query'])
        named = body.get('provider')
        after = scenarios.scenario_of(request, body['scenario'], named)
        with unknown_names_reported():
            check_names(context, wanted, after.given)
        provider = None if named is None else scenarios.uuid_of(after, named)
        explanation = explain_request(after.snapshot, wanted, provider=provider)
        mentioned = views.uuids_in(explanation) | what_if.uuids_in(after)
        names = {**list_names(context, mentioned), **after.names}
    return Reply(views.explanation(explanation, names) | what_if.scenario(after, names))


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
def _find_uuid(context: RequestContext, uuid_or_name: str) -> str | None:
    return providers.find_uuid(context.connection, uuid_or_name)


@db.reader
def list_names(context: RequestContext, uuids: Collection[str]) -> Mapping[str, str]:
    """The names of providers by uuid; those that are gone meanwhile have none."""
    return providers.list_names(context.connection, uuids) if uuids else {}
