# SPDX-License-Identifier: Apache-2.0
"""The request of a search: an immutable value, made by the HTTP layer from a query string.

Names are known when they arrive here: an unknown class, trait or aggregate is the caller's matter.
Rules of old microversions are named for what they do. The parameters are a table, too: each name
in one of them is a condition, and a row is all that search, explanation, log line, unmet demand
and views know of a parameter.
"""

import dataclasses
import enum
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from placement.search.model.kind import Profile

AnyOf = frozenset[str]


class Strategy(enum.Enum):
    """Whose candidates come first when not all of them are wanted."""

    BREADTH_FIRST = 'breadth-first'
    DEPTH_FIRST = 'depth-first'


@dataclasses.dataclass(frozen=True, slots=True)
class RequestGroup:
    """Resources, traits and aggregates that are to be satisfied together.

    `required` and `member_of` hold alternatives: one name of *every* set is wanted. `in_tree` is
    the uuid of any provider of the wanted tree. Specification: allocation_candidates, "Request
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
        """Return whether exactly one provider has to satisfy the whole group."""
        return self.suffix != ''

    @property
    def traits(self) -> frozenset[str]:
        """Every trait that is wanted, also as an alternative, or forbidden."""
        return self.forbidden.union(*self.required)


@dataclasses.dataclass(frozen=True, slots=True)
class CandidateRequest:
    """Everything one search depends on, besides the snapshot.

    `limit` is the client's, `bound` the operator's (max_allocation_candidates); None is no limit.
    A bound of zero acts like one, a negative one is none. `budget` is the operator's
    (search_budget): how many steps may be taken, 0 for any number. Specification:
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
        """The number of candidates to find at most; None for all, or more than can be counted."""
        bound = self.bound if self.bound is not None and self.bound >= 0 else None
        bounds = [value for value in (self.limit, bound) if value is not None]
        if not bounds or min(bounds) > sys.maxsize:
            return None
        return max(1, min(bounds))

    @property
    def resource_classes(self) -> frozenset[str]:
        """Every class that some group asks for."""
        return frozenset(name for group in self.groups for name in group.resources)

    @property
    def root_traits(self) -> frozenset[str]:
        """Every trait that is asked of roots or forbidden."""
        return self.root_required | self.root_forbidden


Holder = TypeVar('Holder', CandidateRequest, RequestGroup)


class Parameter(NamedTuple):
    """A member of a request, or of one of its groups.

    `query` is its name in a query string, `reason` the word for what fails it. The names are
    compared with what `held` names of a profile; those that `is_barred` must not be there, and
    have an exclamation mark in a query. `mark` goes before a name where the words of the reason do
    not say that. Of the unsuffixed group, several providers may bring together what
    `is_collected`, and the root of a tree counts beside its members for what `spans_tree`. `left`
    says what the trees that pass have in common.
    """

    field: str
    query: str
    reason: str
    held: str = ''
    left: str = ''
    mark: str = ''
    is_barred: bool = False
    is_collected: bool = False
    spans_tree: bool = False

    def names(self, holder: CandidateRequest | RequestGroup) -> list[Any]:
        """The names in a request or group, each once."""
        value = getattr(holder, self.field)
        if not value or isinstance(value, str | bool):
            return [value] if value else []
        return sorted(value) if isinstance(value, frozenset) else list(dict.fromkeys(value))

    def accepts(self, name: str | AnyOf, profile: Profile) -> bool:
        """Tell if providers of a profile meet the condition on one name."""
        return alternatives(name).isdisjoint(getattr(profile, self.held)) is self.is_barred

    def is_met(self, holder: CandidateRequest | RequestGroup, profile: Profile) -> bool:
        """Tell if providers of a profile meet the conditions on all names."""
        value, held = getattr(holder, self.field), getattr(profile, self.held)
        if not isinstance(value, frozenset):
            return all(self.accepts(name, profile) for name in value)
        return value.isdisjoint(held) if self.is_barred else value.issubset(held)

    def without(self, holder: Holder, name: object, amount: int = 0) -> Holder:
        """The request or group without one of the names; a class may have another amount."""
        value = getattr(holder, self.field)
        rest: Any = None
        if isinstance(value, bool):
            rest = False
        elif isinstance(value, Mapping):
            rest = {n: amount if n == name else a for n, a in value.items() if amount or n != name}
        elif value is not None and not isinstance(value, str):
            rest = type(value)(n for n in value if n != name)
        changes: dict[str, Any] = {self.field: rest}
        return dataclasses.replace(holder, **changes)


def alternatives(name: str | AnyOf) -> AnyOf:
    """The names of which one will do."""
    return name if isinstance(name, frozenset) else frozenset((name,))


TREE = Parameter('in_tree', 'in_tree', 'tree', left='in the tree of {}')
RESOURCES = Parameter('resources', 'resources', 'class missing', left='with {}')
ISOLATE = Parameter('isolate', 'group_policy', 'isolate')
SUBTREE = Parameter('same_subtree', 'same_subtree', 'subtree')
ONE_OF_EACH_TREE = Parameter('single_provider_per_tree', '', 'one provider of each tree')

# In the order of testing.
GROUP_PARAMETERS = (
    Parameter(
        'required', 'required', 'required trait', 'traits', 'with trait {}', is_collected=True
    ),
    Parameter(
        'forbidden', 'required', 'forbidden trait', 'traits', 'without trait {}', is_barred=True
    ),
    Parameter(
        'member_of', 'member_of', 'aggregate', 'aggregates', 'in aggregate {}', spans_tree=True
    ),
    Parameter(
        'forbidden_aggregates', 'member_of', 'aggregate', 'aggregates', 'outside of aggregate {}',
        mark='!', is_barred=True, spans_tree=True,
    ),
)  # fmt: skip
# Those that each provider of the unsuffixed group has to meet by itself.
OWN_PARAMETERS = tuple(
    parameter
    for parameter in GROUP_PARAMETERS
    if parameter.is_barred or not (parameter.is_collected or parameter.spans_tree)
)
ROOT_PARAMETERS = (
    Parameter('root_required', 'root_required', 'root_required', 'traits'),
    Parameter(
        'root_forbidden', 'root_required', 'root_required', 'traits', mark='!', is_barred=True
    ),
)
