# SPDX-License-Identifier: Apache-2.0
"""Whether a request fits anywhere, told by a search that passes over whole blocks of trees."""

import dataclasses
import random

from placement.search.model.request import CandidateRequest
from placement.search.model.snapshot import Snapshot
from placement.search.solver.anchors import Anchors
from placement.search.solver.search_state import Search
from placement.search.solver.turns import breadth_first
from placement.search.solver.work import BudgetSpent, Work


def could_be_found(
    snapshot: Snapshot,
    request: CandidateRequest,
    work: Work,
    places: int,
    ignores_usage: bool = False,
    generator: random.Random | None = None,
) -> bool | None:
    """Whether there is a candidate, now or if nothing were used; None where so many places, or
    the rest of the work, do not suffice to tell. Nothing is drawn from the generator."""
    part = work.part(places)
    once = dataclasses.replace(request, limit=1, randomize=False)
    search = Search(snapshot, once, generator or random.Random(0), part, ignores_usage)
    if search.resolved.names_missing_tree:
        return False
    try:
        return any(True for _ in breadth_first(Anchors(search).streams()))
    except BudgetSpent:
        return None
    finally:
        work.spent += part.spent
