# SPDX-License-Identifier: Apache-2.0
"""Failures that a cloud can take (specification: insight, "POST /insight/survival")."""

from collections.abc import Mapping
from typing import Any

from placement import errors
from placement.http import candidate_query
from placement.http.reply import Reply
from placement.http.request import Request
from placement.insight.capacity.handlers import parse_named_queries
from placement.insight.explain.handlers import SCENARIO, list_names
from placement.insight.names.handlers import aggregate_names
from placement.insight.paging import PAGE_LIMIT_TEXT, links_with, page_limit
from placement.insight.what_if import schemas, views
from placement.insight.what_if.pages import DomainPage, read_page
from placement.objects.allocation_candidate import check_names
from placement.policies import rules
from placement.schemas import common
from placement.search.insight.sliced_work import SlicedWork
from placement.search.model.request import CandidateRequest
from placement.search.what_if.inferred import Need
from placement.search.what_if.survival import SURVIVAL_BUDGET, Survival, Terms

SURVIVAL_QUERY = common.a_query(
    {
        'only': {'type': 'string', 'enum': ['failing']},
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': {'type': 'string', 'minLength': 1, 'maxLength': 255},
    }
)
SURVIVAL = schemas.survival(SCENARIO)


def survival(request: Request) -> Reply:
    """Show which failures the cloud can take: whether all find places who lose their trees."""
    request.authorise(rules.SHOW_SURVIVAL)
    context = request.context
    with context.insight.question('survival'):
        query = request.validated_query('insight.survival')
        body = request.validated_body('insight.survival')
        requests = _parse_requests(request, body)
        asked = _asked(body, requests)
        apart = [frozenset(consumers) for consumers in body.get('apart', ())]
        others = frozenset[str]().union(*apart)
        if len(others) > schemas.MAX_CONSUMERS:
            raise errors.BadRequest(
                f'apart names {len(others)} consumers, more than {schemas.MAX_CONSUMERS}.'
            )
        page = read_page(request, body, query.last('marker') or '', page_limit(query), others)
        _check_names(request, requests, page)
        terms = Terms(
            asked,
            frozenset(body.get('ignore', ())),
            frozenset(body.get('within', ())),
            apart,
            page.homes,
        )
        asking = Survival(page.after.snapshot, terms, SlicedWork(SURVIVAL_BUDGET), requests)
        losses = [asking.loss(each, page.holders[each.name]) for each in page.domains.items]
        shown = [loss for loss in losses if 'only' not in query or not loss.survives]
        each = body['lose'].get('each')
        mentioned = views.uuids_in_losses(shown) | views.uuids_in(page.after)
        if each == 'root':
            mentioned |= {loss.domain for loss in shown}
        names = {**list_names(context, mentioned), **page.after.names}
        domain_names = aggregate_names(request) if each == 'aggregate' else names
    view: dict[str, Any] = {
        'domains': [views.loss(loss, domain_names, names) for loss in shown],
        'examined': len(losses),
        'left': views.left(requests, asking.left),
    }
    if 'scenario' in body:
        view |= views.scenario(page.after, names)
    following = {'marker': losses[-1].domain} if page.domains.has_more else {}
    return Reply(view | links_with(request, 'survival', query, following))


def _parse_requests(request: Request, body: Mapping[str, Any]) -> dict[str, CandidateRequest]:
    texts = body.get('requests', {})
    candidate_query.check_lengths(texts.values())
    return parse_named_queries(request.api, texts)


def _asked(body: Mapping[str, Any], requests: Mapping[str, CandidateRequest]) -> dict[str, Need]:
    """The needs of consumers of which it is known what they asked for.

    Raises `errors.BadRequest` for a request that is not there, or a consumer that asked for two.
    """
    asked = dict[str, Need]()
    for name, consumers in body.get('asked', {}).items():
        if name not in requests:
            raise errors.BadRequest(f'asked names request {name!r}, which is not in requests.')
        twice = sorted(asked.keys() & consumers)
        if twice:
            raise errors.BadRequest(f'asked has consumer {twice[0]} in more than one request.')
        asked |= dict.fromkeys(consumers, Need(requests[name]))
    return asked


def _check_names(
    request: Request, requests: Mapping[str, CandidateRequest], page: DomainPage
) -> None:
    """Raise `errors.BadRequest`, which names the request, for unknown traits and classes."""
    unknown = (errors.ResourceClassNotFound, errors.TraitNotFound)
    for name, wanted in requests.items():
        with errors.reported_as(errors.BadRequest, *unknown, prefix=f'Request {name}: '):
            check_names(request.context, wanted, page.after.given)
