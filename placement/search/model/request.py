# SPDX-License-Identifier: Apache-2.0
"""What is searched for: an immutable value, made by the HTTP layer from a query string.

Names are known when they arrive here: an unknown class, trait or aggregate is the caller's matter.
Rules of old microversions are named for what they do.
"""

import dataclasses
import enum
import sys
from collections.abc import Mapping

AnyOf = frozenset[str]


class Strategy(enum.Enum):
    """Whose candidates come first when not all of them are wanted."""

    BREADTH_FIRST = 'breadth-first'
    DEPTH_FIRST = 'depth-first'


@dataclasses.dataclass(frozen=True, slots=True)
class RequestGroup:
    """Resources, traits and aggregates that are to be satisfied together.

    `required` and `member_of` hold alternatives: one name of *every* set is wanted.  `in_tree` is
    the uuid of any provider of the wanted tree.  Specification: allocation_candidates, "Request
    grammar".
    """

    suffix: str = ''
    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    required: tuple[AnyOf, ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[AnyOf, ...] = ()
    forbidden_aggregates: frozenset[str] = frozenset()
    in_tree: str | None = None

    @property
    def is_suffixed(self) -> bool:
        """Whether exactly one provider has to satisfy the whole group."""
        return self.suffix != ''


@dataclasses.dataclass(frozen=True, slots=True)
class CandidateRequest:
    """Everything one search depends on, besides the snapshot.

    `limit` is the client's, `bound` the operator's (max_allocation_candidates); None is no limit.
    A bound of zero acts like one, a negative one is none.  `budget` is the operator's
    (search_budget): how many places may be looked at, 0 for any number.  Specification:
    allocation_candidates, "Limits, order and randomisation", "Old microversions".
    """

    groups: tuple[RequestGroup, ...]
    isolate: bool = False
    same_subtree: tuple[frozenset[str], ...] = ()
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    limit: int | None = None
    bound: int | None = None
    budget: int = 0
    strategy: Strategy = Strategy.BREADTH_FIRST
    randomize: bool = False
    single_provider_per_tree: bool = False
    summarise_whole_trees: bool = True

    @property
    def wanted(self) -> int | None:
        """How many candidates to find at most; None for all, or for more than can be counted."""
        bound = self.bound if self.bound is not None and self.bound >= 0 else None
        bounds = [value for value in (self.limit, bound) if value is not None]
        if not bounds or min(bounds) > sys.maxsize:
            return None
        return max(1, min(bounds))

    @property
    def work_budget(self) -> int | None:
        """How many places a search may look at; None for any number."""
        return self.budget if self.budget > 0 else None

    @property
    def resource_classes(self) -> frozenset[str]:
        """Every class that some group asks for."""
        return frozenset(name for group in self.groups for name in group.resources)
