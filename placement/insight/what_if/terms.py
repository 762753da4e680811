# SPDX-License-Identifier: Apache-2.0
"""The terms of a client: what it knows of consumers that lose their trees."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from placement import errors
from placement.http.request import Request
from placement.insight.what_if.schemas import MAX_CONSUMERS
from placement.objects.allocation_candidate import check_names
from placement.search.model.kind import DISABLED_TRAIT
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.what_if.inferred import Need
from placement.search.what_if.relocation import Terms


def check_requests(
    request: Request, requests: Mapping[str, CandidateRequest], snapshot: Snapshot
) -> None:
    """Raise `errors.BadRequest`, which names the request, for unknown traits and classes."""
    unknown = (errors.ResourceClassNotFound, errors.TraitNotFound)
    for name, wanted in requests.items():
        with errors.reported_as(errors.BadRequest, *unknown, prefix=f'Request {name}: '):
            check_names(request.context, wanted, snapshot)


def parse_terms(body: Mapping[str, Any], requests: Mapping[str, CandidateRequest]) -> Terms:
    """The client's knowledge of consumers, without what they hold.

    Raises `errors.BadRequest` for too many of them, a request that is not there, or a consumer
    that asked for two.
    """
    apart = [frozenset(consumers) for consumers in body.get('apart', ())]
    others = frozenset[str]().union(*apart)
    if len(others) > MAX_CONSUMERS:
        raise errors.BadRequest(f'apart names {len(others)} consumers, more than {MAX_CONSUMERS}.')
    return Terms(
        _asked(body, requests),
        frozenset(body.get('ignore', ())),
        frozenset(body.get('within', ())),
        apart,
    )


def _asked(body: Mapping[str, Any], requests: Mapping[str, CandidateRequest]) -> dict[str, Need]:
    """The needs of consumers of which it is known what they asked for."""
    asked = dict[str, Need]()
    for name, consumers in body.get('asked', {}).items():
        if name not in requests:
            raise errors.BadRequest(f'asked names request {name!r}, which is not in requests.')
        twice = sorted(asked.keys() & consumers)
        if twice:
            raise errors.BadRequest(f'asked has consumer {twice[0]} in more than one request.')
        asked |= dict.fromkeys(consumers, enabled_need(requests[name]))
    return asked


def enabled_need(wanted: CandidateRequest) -> Need:
    """The need of a request, of which disabled hosts serve none."""
    forbidden = wanted.root_forbidden | {DISABLED_TRAIT}
    return Need(dataclasses.replace(wanted, root_forbidden=forbidden))
