# SPDX-License-Identifier: Apache-2.0
"""The search: a snapshot and a request in, candidates out.

It reads from here downwards: `groups` makes demands of the request, `anchors` walks over the
trees, `plan` says who in a tree could serve which demand (asking `options` and `filters`),
`problem` and `combine` put the demands together, `layout` is what comes out, and `explain` says
why nothing did.  Specification:
allocation_candidates, "Terms of the search", "What can satisfy one group", "Combining groups",
"Request-wide filters", "Limits, order and randomisation", "Old microversions".
"""

import dataclasses
import itertools
import random
from collections.abc import Sequence

from placement.search.explain import explain
from placement.search.model.provider import Provider
from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver.anchors import Anchors
from placement.search.solver.layout import Candidate
from placement.search.solver.resolved_request import Terms
from placement.search.solver.tally import COMBINATION, Reason, Tally


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What was found.

    `providers` are those to be summarised: the trees of all who give something, or, when whole
    trees are not asked for, only those who do.  `trees_examined` tells how far the search went,
    `explanation` says of an empty answer in one line why it is empty.
    """

    candidates: Sequence[Candidate]
    providers: Sequence[Provider]
    tally: Tally
    trees_examined: int
    explanation: str = ''


def find_candidates(
    snapshot: Snapshot, request: CandidateRequest, chance: random.Random | None = None
) -> Result:
    """The candidates that serve the request, as many as are wanted.

    The same request against the same data gives the same answer in the same order, unless it is to
    be random: then `chance` decides.
    """
    terms = Terms(snapshot, request, chance or random.Random())
    anchors = Anchors(terms)
    if terms.names_missing_tree:
        terms.tally.add(COMBINATION, Reason.TREE)
        return Result((), (), terms.tally, 0, explain(anchors))
    found = list(itertools.islice(anchors.candidates(), request.wanted))
    anchors.settle()
    if not found:
        return Result((), (), terms.tally, anchors.visits, explain(anchors))
    if request.randomize:
        terms.chance.shuffle(found)
    summarised = _summarised(snapshot, request, found)
    return Result(found, summarised, terms.tally, anchors.visits)


def _summarised(
    snapshot: Snapshot, request: CandidateRequest, candidates: Sequence[Candidate]
) -> list[Provider]:
    givers = {
        candidate.providers[number]
        for candidate in candidates
        for number in candidate.layout.givers
    }
    if not request.summarise_whole_trees:
        return sorted(givers, key=lambda provider: provider.id)
    roots = sorted({provider.root_id for provider in givers})
    return [member for root_id in roots for member in snapshot.tree(root_id).members]
