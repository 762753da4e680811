# SPDX-License-Identifier: Apache-2.0
"""Promises as they are stored, and their states in a snapshot."""

import dataclasses
import datetime
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from placement import errors, microversions
from placement.context import RequestContext
from placement.db.changes import NameChange, NameKind
from placement.db.mode import Mode
from placement.db.rows import Row
from placement.db.transaction import in_transaction
from placement.objects.allocation_candidate import check_names
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement_insight import query_text
from placement_insight.caller_id import storable
from placement_insight.errors import PromiseNotFound, TooManyPromises
from placement_insight.promises import statements
from placement_insight.search.capacity import capacities_of
from placement_insight.search.closed_form import Count
from placement_insight.search.promise import PromiseState, state_of

# Maximum number of promises: listing them counts the room for each.
MAX_PROMISES = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """Room for `count` consumers of one request for candidates.

    `query` is the request as a query string. With `keep`, searches are not offered candidates that
    would take the room. `user_id` and `project_id` identify the caller who set the promise, at
    `set_at` in UTC; None if it is not stored.
    """

    name: str
    query: str
    count: int
    keep: bool
    set_at: datetime.datetime | None
    user_id: str | None
    project_id: str | None

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """Return the promise in a row of its table."""
        return cls(*(getattr(row, field.name) for field in dataclasses.fields(cls)))


class PromiseReport(NamedTuple):
    """A promise with its state, and the number of consumers that could be claimed now.

    `refusal` is the error with which the service refuses the request, since one of its classes or
    traits no longer exists, or since it was not written by this release; otherwise None. `request`
    is None if it cannot be parsed.
    """

    promise: Promise
    request: CandidateRequest | None
    state: PromiseState
    room: Count
    refusal: str | None = None


@in_transaction(Mode.READ)
def list_promises(context: RequestContext) -> Sequence[Promise]:
    """List all promises in the order of their names."""
    return [Promise.from_row(row) for row in statements.list_promises(context.connection)]


@in_transaction(Mode.READ)
def get_promise(context: RequestContext, name: str) -> Promise:
    """Return the promise with a name.

    :raises PromiseNotFound: there is none
    """
    row = statements.find_promise(context.connection, name)
    if row is None:
        raise PromiseNotFound(name=name)
    return Promise.from_row(row)


@in_transaction(Mode.READ)
def has_query(context: RequestContext, name: str, query: str) -> bool:
    """True if there is a promise of this name and request."""
    row = statements.find_promise(context.connection, name)
    return row is not None and bool(row.query == query)


def not_stored(context: RequestContext, name: str, query: str, count: int, keep: bool) -> Promise:
    """Return a promise of the caller that is not stored."""
    caller = storable(context.user_id), storable(context.project_id)
    return Promise(name, query, count, keep, None, *caller)


@in_transaction(Mode.WRITE)
def set_promise(context: RequestContext, promise: Promise) -> tuple[Promise, bool]:
    """Create or replace a promise, and return it as stored, with True if it is new.

    :raises TooManyPromises: there are `MAX_PROMISES` others
    """
    connection, name, values = context.connection, promise.name, dataclasses.asdict(promise)
    is_new = statements.find_promise(connection, name, lock=True) is None
    if not is_new:
        statements.update_promise(connection, values)
    elif statements.count_promises(connection) < MAX_PROMISES:
        statements.insert_promise(connection, values)
    else:
        raise TooManyPromises(count=MAX_PROMISES)
    details = {'request': promise.query, 'count': promise.count, 'keep': promise.keep}
    context.changes.name(NameChange(NameKind.PROMISE, name, details=details))
    return get_promise(context, name), is_new


@in_transaction(Mode.WRITE)
def delete_promise(context: RequestContext, name: str) -> None:
    """Delete a promise.

    :raises PromiseNotFound: there is none
    """
    if statements.find_promise(context.connection, name, lock=True) is None:
        raise PromiseNotFound(name=name)
    statements.delete_promise(context.connection, name)
    context.changes.name(NameChange(NameKind.PROMISE, name, is_deleted=True))


def parse(promise: Promise) -> CandidateRequest:
    """Parse the request of a promise, at the newest microversion.

    :raises errors.BadRequest: it is malformed
    """
    return query_text.parse_text(microversions.newest(), promise.query)


def report_promises(
    context: RequestContext, snapshot: Snapshot, promises: Iterable[Promise]
) -> list[PromiseReport]:
    """Compare each promise with the room in a snapshot.

    All share one budget of steps.
    """
    checked = [(promise, *checked_request(context, snapshot, promise)) for promise in promises]
    counted = capacities_of(
        snapshot,
        {
            promise.name: request
            for promise, request, refusal in checked
            if request is not None and refusal is None
        },
    )
    reports = []
    for promise, request, refusal in checked:
        room = Count.exactly(0) if refusal is not None else counted[promise.name].now
        state = state_of(room, promise.count)
        reports.append(PromiseReport(promise, request, state, room, refusal))
    return reports


def checked_request(
    context: RequestContext, snapshot: Snapshot, promise: Promise
) -> tuple[CandidateRequest | None, str | None]:
    """Return the request of a promise, None if it is malformed, and the refusal of the request."""
    request = None
    try:
        request = parse(promise)
        check_names(context, request, snapshot)
    except (errors.BadRequest, errors.ResourceClassNotFound, errors.TraitNotFound) as error:
        return request, str(error)
    return request, None
