# SPDX-License-Identifier: Apache-2.0
"""Where a set of resources could be taken from (specification: allocation_candidates).

The search itself is a pure function (`placement.search`); here it gets a fresh snapshot, and the
names it was asked for are looked up.
"""

import time

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import names
from placement.search.candidates import Result, find_candidates
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot


def find(context: RequestContext, request: CandidateRequest) -> Result:
    """Candidates for a request, among everything that was committed before.

    Raises `errors.ResourceClassNotFound` and `errors.TraitNotFound` for names that do not exist.
    """
    snapshot = snapshot_for(context, request)
    started_at = time.perf_counter()
    result = find_candidates(snapshot, request)
    context.insight.searches.count(request, result, time.perf_counter() - started_at)
    return result


def snapshot_for(context: RequestContext, request: CandidateRequest) -> Snapshot:
    """The snapshot of everything that was committed before, for a request whose names exist.

    Raises `errors.ResourceClassNotFound` and `errors.TraitNotFound` for names that do not.
    """
    snapshot = context.snapshots.current()
    check_names(context, request, snapshot)
    return snapshot


def check_names(context: RequestContext, request: CandidateRequest, snapshot: Snapshot) -> None:
    """Raise for the first unknown name: traits of the root, then group by group, classes first.

    Standard names, and those that some provider has, need no statement.
    """
    mentioned = request.root_traits.union(*(group.traits for group in request.groups))
    traits = {name for name in mentioned - names.standard_traits() if not snapshot.has_trait(name)}
    classes = {
        name
        for name in request.resource_classes
        if name not in names.STANDARD_CLASS_IDS and not snapshot.has_class(name)
    }
    if traits or classes:
        _check_in_database(context, request, traits, classes)


@db.reader
def _check_in_database(
    context: RequestContext, request: CandidateRequest, traits: set[str], classes: set[str]
) -> None:
    """Raise for the first of some doubtful names that the database does not have either."""
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
