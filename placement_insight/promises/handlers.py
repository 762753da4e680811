# SPDX-License-Identifier: Apache-2.0
"""Promises of room (specification: insight, "Promises")."""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from placement import errors, microversions
from placement.http.querystring import unknown_names_reported
from placement.http.reply import CREATED, NO_CONTENT, Reply
from placement.http.request import Request
from placement.metrics.named_files import UnusableFile
from placement.objects.allocation_candidate import check_names
from placement.schemas import common
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.request import CandidateRequest
from placement_insight import paging, query_text
from placement_insight.errors import PromiseNotFound
from placement_insight.explain.handlers import list_names
from placement_insight.promises import promise as promises
from placement_insight.promises import taker_views, takers
from placement_insight.promises.promise import Promise, PromiseReport
from placement_insight.questions import Insight
from placement_insight.search.capacity import Requests
from placement_insight.search.promised_room import is_exempt, refusal_of, refusal_of_request
from placement_insight.what_if import schemas

# In lower case only: engines differ in whether they compare names with regard to case.
_NAME = re.compile('[a-z0-9][a-z0-9._-]{0,63}')

PROMISE: common.Schema = common.an_object(
    {
        'request': schemas.QUERY,
        'count': {'type': 'integer', 'minimum': 1, 'maximum': common.MAX_INT},
        'keep': {'type': 'boolean'},
        'dry_run': {'type': 'boolean'},
    },
    required=('request', 'count'),
)

_COUNTS_DISABLED_HOSTS = (
    f'The request does not forbid {DISABLED_TRAIT} as those of nova do: the room on disabled '
    'hosts is counted.'
)

_NOT_HELD: Mapping[str, Any] = {'held_hosts': None, 'exempt': None}


def list_promises(request: Request) -> Reply:
    """List all promises with their states."""
    reports = _report(request, promises.list_promises(request.context))
    return Reply({'promises': _views(request, reports)})


def show_promise(request: Request) -> Reply:
    """Show a promise with its state."""
    promise = promises.get_promise(request.context, _known_name(request))
    return Reply(_shown(request, promise))


def set_promise(request: Request) -> Reply:
    """Create or replace a promise, even one that is broken from the start.

    With `dry_run`, show the promise without storing it.
    """
    name = request.urlvars['name']
    body = request.validated_body('insight.set_promise')
    if not _NAME.fullmatch(name):
        raise errors.BadRequest(
            'The name of a promise has up to 64 of the characters a-z, 0-9, ".", "_" and "-", and '
            'begins with a letter or a digit.'
        )
    wanted = query_text.parse_text(microversions.newest(), body['request'])
    snapshot, keep = request.service.snapshots.current(), body.get('keep', False)
    # A promise of a class or trait that was deleted meanwhile can be released.
    if keep or not promises.has_query(request.context, name, body['request']):
        with unknown_names_reported():
            check_names(request.context, wanted, snapshot)
    refusal = refusal_of(wanted, snapshot) if keep else None
    if refusal is not None:
        raise errors.BadRequest(f'The room cannot be kept: {refusal}.')
    promise = promises.not_stored(request.context, name, body['request'], body['count'], keep)
    if body.get('dry_run', False):
        return Reply(_shown(request, promise))
    promise, is_new = promises.set_promise(request.context, promise)
    return Reply(
        _shown(request, promise),
        status=CREATED if is_new else 200,
        location=f'/insight/promises/{name}' if is_new else None,
    )


def delete_promise(request: Request) -> Reply:
    """Delete a promise."""
    promises.delete_promise(request.context, _known_name(request))
    return NO_CONTENT


def list_takers(request: Request) -> Reply:
    """List the latest changes that took room from a promise, and say which one broke it.

    None are known of a promise whose request is refused.

    :raises InsightOff: the history is off
    """
    with request.service.part(Insight).question('history'):
        promise = promises.get_promise(request.context, _known_name(request))
        wanted, refusal = promises.checked_request(
            request.context, request.service.snapshots.current(), promise
        )
        found = takers.NONE
        if wanted is not None and refusal is None:
            past = request.service.snapshots.read_at_one_moment(takers.read_past)
            found = takers.find_takers(past, promise, wanted)
    names = list_names(request.context, {root for one in found.known for root in one.undone.roots})
    return Reply(taker_views.takers(found, names))


def _known_name(request: Request) -> str:
    """Return the name in the path. An engine that ignores case never sees an invalid one.

    :raises PromiseNotFound: no promise can have this name
    """
    name = request.urlvars['name']
    if not _NAME.fullmatch(name):
        raise PromiseNotFound(name=name)
    return name


def _report(request: Request, found: Iterable[Promise]) -> list[PromiseReport]:
    return promises.report_promises(request.context, request.service.snapshots.current(), found)


def _shown(request: Request, promise: Promise) -> dict[str, Any]:
    (view,) = _views(request, _report(request, [promise]))
    return view


def _views(request: Request, reports: Sequence[PromiseReport]) -> list[dict[str, Any]]:
    named: Requests = {}
    if any(report.promise.keep for report in reports):
        # Of an unusable file, the log of the metrics has the reason.
        with contextlib.suppress(UnusableFile):
            named = query_text.read_requests(request.service.conf.metrics.requests_file)
    return [_view(request, report, named) for report in reports]


def _view(request: Request, report: PromiseReport, named: Requests) -> dict[str, Any]:
    promise, room = report.promise, report.room
    held = _held(request, report, named) if promise.keep else _NOT_HELD
    return {
        'name': promise.name,
        'request': promise.query,
        'count': promise.count,
        'state': report.state.value,
        'room': paging.members(room, 'at_least', 'at_most'),
        'slack': room.at_least - promise.count,
        'keep': promise.keep,
        **held,
        'refusal': report.refusal,
        'notes': [_COUNTS_DISABLED_HOSTS] if _counts_disabled_hosts(report.request) else [],
        'set_at': promise.set_at and paging.time_text(promise.set_at),
        'set_by': paging.members(promise, 'user_id', 'project_id'),
    }


def _held(request: Request, report: PromiseReport, named: Requests) -> dict[str, Any]:
    """Show the effect of a promise that is kept on searches.

    `held_hosts` is the number of hosts whose room is withheld from other requests, and `exempt`
    lists the operator's `named` requests that are offered all of it.
    """
    service, promise, promised = request.service, report.promise, report.request
    if promised is None or refusal_of_request(promised) is not None:
        # Not set by this release: nothing is withheld for it.
        return {'held_hosts': 0, 'exempt': []}
    keeping, held = service.part(Insight).keeping, 0
    if keeping is not None:
        held = keeping.held_trees(service.snapshots.current(), promise, promised)
    exempt = [name for name, asked in named.items() if is_exempt(asked, promised)]
    return {'held_hosts': held, 'exempt': sorted(exempt)}


def _counts_disabled_hosts(request: CandidateRequest | None) -> bool:
    if request is None:
        return False
    forbidding = [request.root_forbidden, *(group.forbidden for group in request.groups)]
    return not any(DISABLED_TRAIT in traits for traits in forbidding)
