# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates (specification: allocation_candidates).

The search itself is a pure function (`placement.search`). This module checks the names in the
request, and gets a current snapshot.
"""

import time
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Protocol

from placement import errors
from placement.context import RequestContext
from placement.db.mode import Mode
from placement.db.statements import names
from placement.db.transaction import in_transaction
from placement.feed.keeper import SnapshotKeeper
from placement.search.candidate import Candidate
from placement.search.candidates import SearchDone, find_candidates
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot


class Offer(Protocol):
    """Withholds candidates of one search.

    `withheld` is the number of trees with withheld candidates, by reason, and `closed` has the ids
    of the roots of trees of which no further candidate is looked for.
    """

    @property
    def withheld(self) -> Mapping[str, int]: ...

    @property
    def closed(self) -> Container[int]: ...

    def admits(self, candidate: Candidate) -> bool:
        """True if the candidate may be offered. Raises nothing."""


# Returns the offer of a search; None to withhold nothing.
OfferOf = Callable[[SnapshotKeeper, Snapshot, CandidateRequest], Offer | None]


def find(
    context: RequestContext,
    snapshots: SnapshotKeeper,
    request: CandidateRequest,
    offers: Sequence[OfferOf] = (),
) -> SearchDone:
    """Search candidates in a snapshot that includes everything committed before the call.

    The first of the `offers` that applies to the search may withhold candidates.

    :raises errors.ResourceClassNotFound: a resource class does not exist
    :raises errors.TraitNotFound: a trait does not exist
    """
    snapshot = snapshot_for(context, snapshots, request)
    started_at = time.perf_counter()
    made = (offer_of(snapshots, snapshot, request) for offer_of in offers)
    offer = next((offer for offer in made if offer is not None), None)
    withheld: Mapping[str, int] = {}
    if offer is None:
        result = find_candidates(snapshot, request)
    else:
        result = find_candidates(snapshot, request, admits=offer.admits, closed=offer.closed)
        withheld = offer.withheld
    return SearchDone(snapshot, request, result, time.perf_counter() - started_at, withheld)


def snapshot_for(
    context: RequestContext, snapshots: SnapshotKeeper, request: CandidateRequest
) -> Snapshot:
    """A current snapshot, after a check that the names in the request exist.

    :raises errors.ResourceClassNotFound: a resource class does not exist
    :raises errors.TraitNotFound: a trait does not exist
    """
    snapshot = snapshots.current()
    check_names(context, request, snapshot)
    return snapshot


def check_names(context: RequestContext, request: CandidateRequest, snapshot: Snapshot) -> None:
    """Raise for the first unknown name: traits of the root, then group by group, classes first.

    Names that a provider has, and standard names that the database has, need no statement.
    """
    is_standard = context.database.has_standard_names
    standard_traits = names.standard_traits() if is_standard else frozenset[str]()
    standard_classes = names.STANDARD_CLASS_IDS if is_standard else {}
    mentioned = request.root_traits.union(*(group.traits for group in request.groups))
    traits = {name for name in mentioned - standard_traits if not snapshot.has_trait(name)}
    classes = {
        name
        for name in request.resource_classes
        if name not in standard_classes and not snapshot.has_class(name)
    }
    if traits or classes:
        _check_in_database(context, request, traits, classes)


@in_transaction(Mode.READ)
def _check_in_database(
    context: RequestContext, request: CandidateRequest, traits: set[str], classes: set[str]
) -> None:
    """Raise for the first of some names that is missing in the database."""
    connection = context.connection
    traits = traits - names.find_ids(connection, names.TRAIT, traits).keys()
    classes = classes - names.find_ids(connection, names.RESOURCE_CLASS, classes).keys()
    _check_traits(request.root_traits, traits)
    for group in request.groups:
        for name in group.resources:
            if name in classes:
                raise errors.ResourceClassNotFound(name=name)
        _check_traits(group.traits, traits)


def _check_traits(mentioned: frozenset[str], unknown: set[str]) -> None:
    missing = sorted(mentioned & unknown)
    if missing:
        raise errors.TraitNotFound(name=', '.join(missing))
