# SPDX-License-Identifier: Apache-2.0
"""The conditions of a request, with the bits of their failure, and the request without them.

Each condition on providers has the bit that the search gives it (`solver.role`). The table of
parameters is that of the model (`placement.search.model.request`).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from placement.search.model.capacity import Refusal
from placement.search.model.request import (
    GROUP_PARAMETERS,
    ISOLATE,
    ONE_OF_EACH_TREE,
    RESOURCES,
    ROOT_PARAMETERS,
    SUBTREE,
    TREE,
    AnyOf,
    CandidateRequest,
    Parameter,
    RequestGroup,
)
from placement.search.solver.resolved_request import ProviderRequest, ResolvedRequest
from placement.search.solver.role import GroupBits


class Verdict(enum.Enum):
    """Whether a request fits now, on an empty cloud, or never.

    `REFUSED` is a request with a class or trait that does not exist.
    """

    FITS = 'fits'
    FULL = 'full'
    INFEASIBLE = 'infeasible'
    UNKNOWN = 'unknown'
    REFUSED = 'refused'


class Reason(enum.StrEnum):
    """Causes of a failure, in addition to parameters and refusals of amounts."""

    TREE_UNKNOWN = 'in_tree names no provider'
    ONE_TREE = 'all groups from one tree'
    SUM = 'room for all groups together'


def conditions_of(
    parameters: Iterable[Parameter], holder: CandidateRequest | RequestGroup
) -> list[Condition]:
    """Return the conditions of a request or group from some parameters, without duplicates."""
    suffix = holder.suffix if isinstance(holder, RequestGroup) else None
    return [
        Condition(
            parameter.reason, _spelled(parameter, name),
            suffix=suffix, name=name, parameter=parameter,
        )
        for parameter in parameters
        for name in parameter.names(holder)
    ]  # fmt: skip


def _spelled(parameter: Parameter, name: str | AnyOf | bool) -> tuple[str, ...]:
    if isinstance(name, bool):
        return ()
    if isinstance(name, str):
        return (f'{parameter.mark}{name}',)
    return ((',' if parameter is SUBTREE else ' or ').join(sorted(name)),)


class Scarce(NamedTuple):
    """A class of which the groups together ask for more than any tree has free."""

    resource_class: str
    asked: int
    most_free: int


class Condition(NamedTuple):
    """A condition that providers or trees meet or fail."""

    #: A `Reason`, a `Refusal`, or the field of a parameter.
    reason: str
    #: Classes, traits or aggregates of the condition; alternatives are joined by "or".
    names: tuple[str, ...] = ()
    #: For amounts: the requested amount.
    asked: int | None = None
    #: For amounts: the largest that an empty provider which meets all other conditions offers to
    #: one candidate.
    largest: int | None = None
    #: For amounts: the largest that such a provider has room for now.
    most_free: int | None = None
    #: Where several providers serve a group: the classes that the condition leaves without a
    #: provider, empty if all of them.
    classes: tuple[str, ...] = ()
    #: True if nothing fails it.
    is_met: bool = False
    #: The number of groups that `isolate` keeps apart.
    kept_apart: int = 0
    #: The classes of which the groups together ask for too much.
    scarce: tuple[Scarce, ...] = ()
    #: The suffix of its group, None for a condition of the whole request.
    suffix: str | None = None
    #: The value in the request, and the parameter that has it.
    name: str | AnyOf | bool = ''
    parameter: Parameter | None = None
    #: The bit of providers that fail it.
    bit: int = 0

    @property
    def subject(self) -> tuple[str | None, str] | None:
        """The group and the class of a condition on a class or its amount, otherwise None."""
        return (self.suffix, self.names[0]) if self.parameter is RESOURCES else None

    @property
    def is_amount(self) -> bool:
        """True for a condition on an amount."""
        return self.asked is not None

    @property
    def is_of_class(self) -> bool:
        """True for the condition that a provider has a class at all."""
        return self.parameter is RESOURCES and self.asked is None

    @property
    def can_be_given_up(self) -> bool:
        """True if a request can be sent without it."""
        return self.parameter is not None and self.parameter is not ONE_OF_EACH_TREE

    def without(self, request: CandidateRequest, amount: int = 0) -> CandidateRequest:
        """Return the request without the condition, or for an amount with another `amount`.

        A group that loses its last class is removed.
        """
        parameter = self.parameter
        assert parameter is not None
        if self.suffix is None:
            return parameter.without(request, self.name)
        groups = []
        for group in request.groups:
            if group.suffix == self.suffix:
                group = parameter.without(group, self.name, amount)
                if parameter is RESOURCES and not group.resources:
                    continue
            groups.append(group)
        return dataclasses.replace(request, groups=tuple(groups))


def numbered(conditions: Iterable[Condition], bits: Iterable[int]) -> list[Condition]:
    """Return the conditions with these bits."""
    return [condition._replace(bit=bit) for condition, bit in zip(conditions, bits, strict=True)]


class Amount(NamedTuple):
    """One class of a group, and the bits of its failures."""

    resource_class: str
    asked: int
    # The provider lacks the class.
    present: int
    # The provider refuses the amount even when it is empty.
    size: int
    # The amount is not free now.
    free: int
    # Not even the smallest amount is free: asking for less would not help.
    some: int

    @property
    def refused(self) -> int:
        """The bits of the conditions on the amount."""
        return self.size | self.free


class GroupConditions:
    """The conditions of one group, in the order of testing (`steps`), and its `bits`."""

    def __init__(self, group: RequestGroup, bits: GroupBits) -> None:
        self.group = group
        self.bits = bits
        tree = conditions_of((TREE,), group)
        present = conditions_of((RESOURCES,), group)
        named = conditions_of(GROUP_PARAMETERS, group)
        size = [_amount(one, group, Refusal.TOO_SMALL) for one in present]
        free = [_amount(one, group, Refusal.USED) for one in present]
        self.amounts = {
            name: Amount(name, asked, bits.present[name], *bits.of_amount(name))
            for name, asked in group.resources.items()
        }
        self.steps: list[Condition] = [
            *numbered(tree, [bits.tree] if tree else []),
            *numbered(present, bits.present.values()),
            *numbered(named, bits.named),
            *numbered(size, [amount.size for amount in self.amounts.values()]),
            *numbered(free, [amount.free for amount in self.amounts.values()]),
        ]


def bits_of(conditions: Iterable[Condition]) -> int:
    """Return the bits of some conditions together."""
    return sum(condition.bit for condition in conditions)


def _amount(present: Condition, group: RequestGroup, reason: Refusal) -> Condition:
    return present._replace(reason=reason, asked=group.resources[present.names[0]])


class ConditionTable:
    """The conditions of a resolved request on single providers, with their bits.

    `requests` are the provider requests. `group_of` has for each of them the number of its group
    in `groups`, and `requests_of` for each group the numbers of its requests. `visible` are the
    bits of all conditions, and `free` of those on free amounts.
    """

    def __init__(self, resolved: ResolvedRequest) -> None:
        request = resolved.request
        self.requests: Sequence[ProviderRequest] = resolved.provider_requests
        bits = resolved.bits
        self.groups = [
            GroupConditions(group, bits.groups[group.suffix]) for group in request.groups
        ]
        self._numbers = {group.suffix: n for n, group in enumerate(request.groups)}
        self.group_of = [self._numbers[asking.group.suffix] for asking in self.requests]
        self.requests_of: list[list[int]] = [[] for _ in self.groups]
        for number, group in enumerate(self.group_of):
            self.requests_of[group].append(number)
        self.root_conditions = numbered(conditions_of(ROOT_PARAMETERS, request), bits.root)
        self.root_bits = bits.of_root
        steps = [step for conditions in self.groups for step in conditions.steps]
        self.visible = bits_of([*steps, *self.root_conditions])
        self.free = sum(
            amount.free for conditions in self.groups for amount in conditions.amounts.values()
        )

    def number_of(self, condition: Condition) -> int:
        """Return the number of a condition's group."""
        return self._numbers[condition.suffix or '']

    def amount_of(self, condition: Condition) -> Amount:
        """Return the class of a condition with its bits."""
        return self.groups[self.number_of(condition)].amounts[condition.names[0]]

    def asking(self, group: int, name: str) -> list[int]:
        """Return the numbers of a group's provider requests for a class."""
        return [n for n in self.requests_of[group] if name in self.requests[n].amounts]

    def classes_of(self, group: int, requests: Set[int]) -> tuple[str, ...]:
        """Return the classes of some provider requests of a group; empty if these are all."""
        if len(requests) == len(self.requests_of[group]):
            return ()
        names = (name for number in sorted(requests) for name in self.requests[number].amounts)
        return tuple(dict.fromkeys(names))


def combined_conditions(request: CandidateRequest) -> list[Condition]:
    """Return the conditions on all groups together, in the order of testing."""
    suffixed = sum(group.is_suffixed for group in request.groups)
    isolate = [
        isolated._replace(kept_apart=suffixed)
        for isolated in conditions_of((ISOLATE,), request)
        if suffixed > 1
    ]
    subtrees = [
        subtree
        for subtree in conditions_of((SUBTREE,), request)
        if isinstance(subtree.name, frozenset) and len(subtree.name) > 1
    ]
    return [*isolate, *subtrees, *conditions_of((ONE_OF_EACH_TREE,), request)]
