# SPDX-License-Identifier: Apache-2.0
"""Questions about requests for candidates, answered from the snapshot (specification: insight).

The answers are pure functions (`placement.search.insight`); here they get a fresh snapshot, and
what they are asked about by name is looked up.
"""

from collections.abc import Collection, Mapping

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import providers
from placement.objects.allocation_candidate import check_names
from placement.search.insight.capacity import RequestCapacity, RootPage, capacities_of, capacity_of
from placement.search.insight.explain import explain_request
from placement.search.insight.explanation import RequestExplanation
from placement.search.model.request import CandidateRequest


def explain(
    context: RequestContext, request: CandidateRequest, provider: str | None = None
) -> RequestExplanation:
    """Explain why a request finds no candidates, among everything that was committed before.

    `provider` is the uuid or the name of a provider whose tree is reported on. Raises
    `errors.ResourceClassNotFound` and `errors.TraitNotFound` for names that do not exist, and
    `errors.InvalidQuery` for such a provider.
    """
    snapshot = context.snapshots.current()
    check_names(context, request, snapshot)
    uuid = provider
    if provider is not None and snapshot.find_by_uuid(provider) is None:
        uuid = _find_uuid(context, provider)
        # One that was made since the snapshot was taken has no report yet.
        if uuid is None or snapshot.find_by_uuid(uuid) is None:
            raise errors.InvalidQuery(reason=f'there is no resource provider {provider!r}')
    return explain_request(snapshot, request, provider=uuid)


def capacity(
    context: RequestContext, request: CandidateRequest, by_root: RootPage | None = None
) -> RequestCapacity:
    """Count how often a request would fit, with a page of rows by tree where one is wanted.

    Raises `errors.ResourceClassNotFound` and `errors.TraitNotFound`.
    """
    snapshot = context.snapshots.current()
    check_names(context, request, snapshot)
    return capacity_of(snapshot, request, by_root=by_root)


def capacities(
    context: RequestContext, requests: Mapping[str, CandidateRequest]
) -> dict[str, RequestCapacity]:
    """Count how often each request would fit at one moment, by the names of the requests.

    Raises `errors.BadRequest`, which names the request, for names that do not exist.
    """
    snapshot = context.snapshots.current()
    for name, request in requests.items():
        with errors.reported_as(
            errors.BadRequest,
            errors.ResourceClassNotFound,
            errors.TraitNotFound,
            prefix=f'Request {name}: ',
        ):
            check_names(context, request, snapshot)
    return capacities_of(snapshot, requests)


@db.reader
def _find_uuid(context: RequestContext, uuid_or_name: str) -> str | None:
    return providers.find_uuid(context.connection, uuid_or_name)


@db.reader
def list_names(context: RequestContext, uuids: Collection[str]) -> Mapping[str, str]:
    """The names of providers by uuid; those that are gone meanwhile have none."""
    return providers.list_names(context.connection, uuids) if uuids else {}
