# SPDX-License-Identifier: Apache-2.0
"""Survival of failures, drains and moves (specification: insight)."""

import dataclasses
from collections.abc import Mapping, Sequence, Set
from typing import Any

from placement import errors
from placement.db.schema.tables import utcnow
from placement.http.reply import Reply
from placement.http.request import Request
from placement.schemas import common
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement_insight.explain.handlers import check_requests, names_after, parse_requests
from placement_insight.handlers import aggregate_names
from placement_insight.paging import PAGE_LIMIT_TEXT, links_with, page_limit, time_text
from placement_insight.questions import Insight
from placement_insight.search.capacity import Requests
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.drain import DRAIN_BUDGET, Drain
from placement_insight.search.what_if.inferred import Need
from placement_insight.search.what_if.moves import MOVES_BUDGET, Moves, WantedMove
from placement_insight.search.what_if.relocation import Relocation, Terms
from placement_insight.search.what_if.scenario import Scenario
from placement_insight.search.what_if.survival import SURVIVAL_BUDGET, Survival
from placement_insight.what_if import schemas, views
from placement_insight.what_if.pages import NO_DOMAINS, DomainPage, Part, read_page
from placement_insight.what_if.scenarios import refusals_reported

SURVIVAL_QUERY = common.a_query(
    {
        'only': {'type': 'string', 'enum': ['failing']},
        'page_limit': PAGE_LIMIT_TEXT,
        'marker': {'type': 'string', 'minLength': 1, 'maxLength': 255},
    }
)


def survival(request: Request) -> Reply:
    """Show which failures the cloud can take: for each domain, where its consumers would fit."""
    query = request.validated_query('insight.survival')
    body = request.validated_body('insight.survival')
    marker = query.last('marker') or ''
    # Names of domains and aggregates keep the spelling of clients; uuids of roots are lower case.
    is_uuid = body['lose'].get('each') == 'root'
    part = Part(body['lose'], marker.lower() if is_uuid else marker, page_limit(query))
    requests, terms, page = _read_question(request, body, part)
    counted = {name: requests[name] for name in requests if name not in body.get('asked', {})}
    asking = Survival(page.after.snapshot, terms, SlicedWork(SURVIVAL_BUDGET), counted)
    losses = [asking.loss(each, page.holders_of) for each in page.domains.items]
    shown = [loss for loss in losses if 'only' not in query or not loss.survives]
    each = body['lose'].get('each')
    mentioned = views.uuids_lacking(of for loss in shown for of in loss.unplaced)
    if each == 'root':
        mentioned |= {loss.domain for loss in shown}
    names = names_after(request, page.after, mentioned)
    domain_names = aggregate_names(request) if each == 'aggregate' else names
    view: dict[str, Any] = {
        'domains': [views.loss(loss, domain_names, names) for loss in asking.work.paused(shown)],
        'examined': len(losses),
        'left': views.left(counted, asking.left),
    }
    if 'scenario' in body:
        view |= views.scenario(page.after, names)
    following = {'marker': losses[-1].domain} if page.domains.has_more else {}
    return Reply(view | links_with(request, 'survival', query, following))


def drain(request: Request) -> Reply:
    """Plan the moves that empty some trees, or that move some consumers elsewhere."""
    body = request.validated_body('insight.drain')
    if ('providers' in body) is ('consumers' in body):
        raise errors.BadRequest('Either providers or consumers are to be drained.')
    at = time_text(request.service.part(Insight).at or utcnow())
    consumers = frozenset(body.get('consumers', ()))
    part = NO_DOMAINS
    if 'providers' in body:
        part = Part({'domains': {'providers': body['providers']}}, called='{}')
    _requests, terms, page = _read_question(request, body, part, consumers)
    with refusals_reported():
        relocation = Relocation(page.after.snapshot, terms, SlicedWork(DRAIN_BUDGET))
        plan = _drain(page, consumers, relocation).plan()
    names = names_after(request, page.after, views.uuids_in_plan(plan))
    view = {
        'at': at,
        **views.plan(plan, page.after.snapshot, names),
        'gone': len(consumers - page.others.keys()),
    }
    return Reply(view | (views.scenario(page.after, names) if 'scenario' in body else {}))


def _read_question(
    request: Request, body: Mapping[str, Any], part: Part, consumers: Set[str] = frozenset()
) -> tuple[Requests, Terms, DomainPage]:
    """Parse the requests and the terms of a body, and read a page of domains and allocations.

    :raises errors.BadRequest: the body names something unknown, or too much; or a consumer has two
        requests
    """
    requests = parse_requests(request, body)
    apart = [frozenset(each) for each in body.get('apart', ())]
    held_apart = frozenset[str]().union(*apart)
    if len(held_apart) > schemas.MAX_CONSUMERS:
        raise errors.BadRequest(
            f'apart names {len(held_apart)} consumers, more than {schemas.MAX_CONSUMERS}.'
        )
    asked = _asked(body, requests)
    page = read_page(request, body.get('scenario', ()), part, consumers | held_apart)
    check_requests(request, requests, page.after.given)
    ignored, within = frozenset(body.get('ignore', ())), frozenset(body.get('within', ()))
    return requests, Terms(asked, ignored, within, apart, page.others), page


def _asked(body: Mapping[str, Any], requests: Requests) -> dict[str, Need]:
    """Return the needs of consumers whose requests the client knows."""
    asked = dict[str, Need]()
    for name, consumers in body.get('asked', {}).items():
        if name not in requests:
            raise errors.BadRequest(f'asked names request {name!r}, which is not in requests.')
        twice = sorted(asked.keys() & consumers)
        if twice:
            raise errors.BadRequest(f'asked has consumer {twice[0]} in more than one request.')
        asked |= dict.fromkeys(consumers, _enabled_need(requests[name]))
    return asked


def _enabled_need(wanted: CandidateRequest) -> Need:
    """Return the need of a request, which excludes disabled hosts."""
    forbidden = wanted.root_forbidden | {DISABLED_TRAIT}
    return Need(dataclasses.replace(wanted, root_forbidden=forbidden))


def _drain(page: DomainPage, consumers: Set[str], relocation: Relocation) -> Drain:
    """Return the drain of the one domain of a page, or of some consumers."""
    held = {each: page.others[each] for each in sorted(consumers & page.others.keys())}
    roots = None
    for domain in page.domains.items:
        held, roots = dict(page.holders_of(domain)), domain.roots
    if len(held) > schemas.MAX_MOVES:
        raise errors.BadRequest(f'More than {schemas.MAX_MOVES} consumers would be moved.')
    return Drain(relocation, held, roots)


def moves(request: Request) -> Reply:
    """Show whether the client's moves are possible."""
    body = request.validated_body('insight.moves')
    at = time_text(request.service.part(Insight).at or utcnow())
    requests = parse_requests(request, body)
    consumers = {move['consumer'] for move in body['moves']}
    flags = bool(body.get('at_once')), bool(body.get('evacuate'))
    if flags[0] and len(consumers) < len(body['moves']):
        raise errors.BadRequest('With at_once, each consumer can be moved but once.')
    named = {name for move in body['moves'] for name in (move['to'], *move.get('from', ()))}
    page = read_page(request, body.get('scenario', ()), NO_DOMAINS, consumers, named - {None})
    after = page.after
    check_requests(request, requests, after.given)
    wanted = _wanted_moves(after, body['moves'], requests)
    made = Moves(after.snapshot, page.others, SlicedWork(MOVES_BUDGET), *flags)
    with refusals_reported():
        refused = made.make(wanted)
        after.snapshot = made.snapshot
    names = names_after(request, after, views.uuids_of_moves(made, wanted, refused))
    view = {
        'at': at,
        **views.verdict(made, wanted, refused, names),
        'over_capacity': views.over_capacity(after, names),
    }
    return Reply(view | (views.scenario(after, names) if 'scenario' in body else {}))


def _wanted_moves(
    after: Scenario, sent: Sequence[Mapping[str, Any]], requests: Requests
) -> list[WantedMove]:
    """Parse the moves of a body.

    :raises errors.BadRequest: a move names something unknown; the message has its number
    """
    needs = {name: _enabled_need(wanted) for name, wanted in requests.items()}
    roots, wanted = dict[str, Provider](), list[WantedMove]()
    for number, move in enumerate(SlicedWork().paused(sent), 1):
        name, target, sources = move.get('request'), move['to'], move.get('from', ())
        if name is not None and name not in needs:
            raise errors.BadRequest(f'Move {number}: there is no request {name!r}.')
        with refusals_reported(f'Move {number}: '):
            for each in {*sources, target} - roots.keys() - {None}:
                roots[each] = after.root(each)
        wanted.append(
            WantedMove(
                move['consumer'],
                None if target is None else roots[target],
                None if name is None else needs[name],
                frozenset([roots[each].id for each in sources]),
            )
        )
    return wanted
