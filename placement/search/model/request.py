# SPDX-License-Identifier: Apache-2.0
"""The request of a search: an immutable value that the HTTP layer makes from a query string.

The caller has checked that the names exist. Rules of old microversions are named for their effect.
The table of parameters defines each of them once for search, explanation, log line, unmet demand
and views; each name in a parameter is a condition.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

AnyOf = frozenset[str]


class Strategy(enum.Enum):
    """The order in which trees yield candidates when a limit applies."""

    BREADTH_FIRST = 'breadth-first'
    DEPTH_FIRST = 'depth-first'


class Order(enum.Enum):
    """The order of the candidates of one tree.

    `PACKED` uses as few untouched devices as possible, and prefers the fullest that fit. `SPREAD`
    is its opposite. `BY_ID` is the order of ids alone.
    """

    PACKED = 'packed'
    SPREAD = 'spread'
    BY_ID = 'by_id'


# Classes of which candidates with more room left come first, in both orders by usage.
NETWORK_CLASSES = (
    'NET_BW_EGR_KILOBIT_PER_SEC',
    'NET_BW_IGR_KILOBIT_PER_SEC',
    'NET_PACKET_RATE_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC',
)


@dataclasses.dataclass(frozen=True, slots=True)
class RequestGroup:
    """Resources, traits and aggregates to be satisfied together.

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
        """True if exactly one provider has to satisfy the whole group."""
        return self.suffix != ''

    @property
    def is_restricted(self) -> bool:
        """True if the group has parameters in addition to its resources."""
        return any(getattr(self, one.field) for one in (TREE, *GROUP_PARAMETERS))

    @property
    def traits(self) -> frozenset[str]:
        """Every trait of the group: required, an alternative or forbidden."""
        return self.forbidden.union(*self.required)


@dataclasses.dataclass(frozen=True, slots=True)
class CandidateRequest:
    """Everything one search depends on, besides the snapshot.

    Specification: allocation_candidates, "Limits, order and randomisation", "Old microversions".
    """

    groups: tuple[RequestGroup, ...]
    isolate: bool = False
    same_subtree: tuple[frozenset[str], ...] = ()
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    # Maximum number of candidates, from the query; None is no limit.
    limit: int | None = None
    # [placement] max_allocation_candidates; 0 counts as 1, None or less than 0 is no limit.
    bound: int | None = None
    # [placement] search_budget, in steps; 0 is no limit.
    budget: int = 0
    strategy: Strategy = Strategy.BREADTH_FIRST
    order: Order = Order.PACKED
    spread_classes: frozenset[str] = frozenset(NETWORK_CLASSES)
    randomize: bool = False
    single_provider_per_tree: bool = False
    summarise_whole_trees: bool = True

    @property
    def wanted(self) -> int | None:
        """Maximum number of candidates to find; None for all."""
        bound = self.bound if self.bound is not None and self.bound >= 0 else None
        bounds = [value for value in (self.limit, bound) if value is not None]
        if not bounds or min(bounds) > sys.maxsize:
            return None
        return max(1, min(bounds))

    @property
    def resource_classes(self) -> frozenset[str]:
        """Every class that some group requests."""
        return frozenset(name for group in self.groups for name in group.resources)

    @property
    def totals(self) -> dict[str, int]:
        """The total amount of each class over all groups."""
        totals: dict[str, int] = {}
        for group in self.groups:
            for name, amount in group.resources.items():
                totals[name] = totals.get(name, 0) + amount
        return totals

    @property
    def root_traits(self) -> frozenset[str]:
        """Every trait that roots must have or must not have."""
        return self.root_required | self.root_forbidden


Holder = TypeVar('Holder', CandidateRequest, RequestGroup)


class Parameter(NamedTuple):
    """A member of a request, or of one of its groups."""

    # Its name in `CandidateRequest` or `RequestGroup`, and in a query string.
    field: str
    query: str
    # Message for providers that fail it.
    reason: str
    # The member of a profile that its names are compared with.
    attribute: str = ''
    # Message for the trees that pass.
    left: str = ''
    # Prefix of a name where the reason alone does not say that the name is forbidden.
    mark: str = ''
    # The names must be absent, and have an exclamation mark in a query.
    is_barred: bool = False
    # Several providers of the unsuffixed group may have the names between them.
    is_collected: bool = False
    # The name on the root of a tree counts for all members of the unsuffixed group.
    spans_tree: bool = False

    def names(self, holder: CandidateRequest | RequestGroup) -> list[Any]:
        """The distinct names in a request or group."""
        value = getattr(holder, self.field)
        if not value or isinstance(value, str | bool):
            return [value] if value else []
        return sorted(value) if isinstance(value, frozenset) else list(dict.fromkeys(value))

    def without(self, holder: Holder, name: object, amount: int = 0) -> Holder:
        """The request or group without a name, or with another amount of a class."""
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
    """The names of which any one suffices."""
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
ROOT_PARAMETERS = (
    Parameter(
        'root_required',
        'root_required',
        'root_required',
        'traits',
        'with trait {} at its root',
    ),
    Parameter(
        'root_forbidden',
        'root_required',
        'root_required',
        'traits',
        'without trait {} at its root',
        mark='!',
        is_barred=True,
    ),
)
