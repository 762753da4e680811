# SPDX-License-Identifier: Apache-2.0
"""Where a set of resources could be taken from (specification: allocation_candidates).

The search itself is a pure function (`placement.search`); here it gets a fresh snapshot, and the
names it was asked for are looked up.
"""

from __future__ import annotations

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
    snapshot = context.snapshots.current()
    check_names(context, request, snapshot)
    started_at = time.perf_counter()
    result = find_candidates(snapshot, request)
    context.insight.searches.count(request, result, time.perf_counter() - started_at)
    return result


def check_names(context: RequestContext, request: CandidateRequest, snapshot: Snapshot) -> None:
    """Raise for the first unknown name: traits of the root, then group by group, classes first.

    Standard names, and those that some provider has, need no statement.
    """
    doubtful = _Doubtful(request, snapshot)
    if doubtful.traits or doubtful.classes:
        _check_in_database(context, request, doubtful)


class _Doubtful:
    """The names of a request of which only the database can tell whether they exist."""

    def __init__(self, request: CandidateRequest, snapshot: Snapshot) -> None:
        self.root_traits = request.root_required | request.root_forbidden
        traits = set(self.root_traits)
        for group in request.groups:
            traits.update(group.forbidden, *group.required)
        self.traits = {
            name
            for name in traits
            if name not in names.standard_traits() and not snapshot.has_trait(name)
        }
        self.classes = {
            name
            for name in request.resource_classes
            if name not in names.STANDARD_CLASS_IDS and not snapshot.has_class(name)
        }


@db.reader
def _check_in_database(
    context: RequestContext, request: CandidateRequest, doubtful: _Doubtful
) -> None:
    connection = context.connection
    traits = doubtful.traits - names.trait_ids(connection, doubtful.traits).keys()
    classes = doubtful.classes - names.known_classes(connection, doubtful.classes)
    _check_traits(doubtful.root_traits, traits)
    for group in request.groups:
        for name in group.resources:
            if name in classes:
                raise errors.ResourceClassNotFound(name=name)
        _check_traits(group.forbidden.union(*group.required), traits)


def _check_traits(mentioned: frozenset[str], unknown: set[str]) -> None:
    missing = sorted(mentioned & unknown)
    if missing:
        raise errors.TraitNotFound(names=', '.join(missing))
