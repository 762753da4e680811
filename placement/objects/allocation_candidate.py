# SPDX-License-Identifier: Apache-2.0
"""Where a set of resources could be taken from (contract: allocation_candidates.md).

The search itself is a pure function (`placement.search`); here it gets a fresh snapshot, and the
names it was asked for are looked up.
"""

from __future__ import annotations

import logging
from typing import Any

from placement import errors
from placement.db import api as db
from placement.db import names
from placement.search.candidates import Result, find_candidates
from placement.search.request import CandidateRequest

LOG = logging.getLogger(__name__)


def find(context: Any, request: CandidateRequest) -> Result:
    """Candidates for a request, among everything that was committed before.

    Raises `errors.ResourceClassNotFound` and `errors.TraitNotFound` for names nobody has.
    """
    check_names(context, request)
    result = find_candidates(context.snapshots.current(), request)
    if not result.candidates:
        LOG.info('%s', result.explanation)
    return result


def check_names(context: Any, request: CandidateRequest) -> None:
    """Raise for the first unknown name: traits of the root, then group by group, classes first.

    Standard names, which are all that most requests have, need no statement.
    """
    mentioned = _Mentioned(request)
    if mentioned.may_be_unknown():
        _check_in_database(context, request, mentioned)


class _Mentioned:
    """Every name of a request that is not a standard one."""

    def __init__(self, request: CandidateRequest) -> None:
        self.root_traits = request.root_required | request.root_forbidden
        traits = set(self.root_traits)
        for group in request.groups:
            traits.update(group.forbidden, *group.required)
        self.traits = {name for name in traits if name not in names.standard_traits()}
        self.classes = {
            name for name in request.resource_classes if name not in names.STANDARD_CLASS_IDS
        }

    def may_be_unknown(self) -> bool:
        """Whether there is any that only the database can tell."""
        return bool(self.traits or self.classes)


@db.reader
def _check_in_database(context: Any, request: CandidateRequest, mentioned: _Mentioned) -> None:
    connection = context.connection
    traits = mentioned.traits - names.trait_ids(connection, mentioned.traits).keys()
    classes = mentioned.classes - names.known_classes(connection, mentioned.classes)
    _check_traits(mentioned.root_traits, traits)
    for group in request.groups:
        for name in group.resources:
            if name in classes:
                raise errors.ResourceClassNotFound(name=name)
        _check_traits(group.forbidden.union(*group.required), traits)


def _check_traits(mentioned: frozenset[str], unknown: set[str]) -> None:
    missing = sorted(mentioned & unknown)
    if missing:
        raise errors.TraitNotFound(names=', '.join(missing))
