# SPDX-License-Identifier: Apache-2.0
"""The conditions of a request: who fails each, its words, and the request without it.

Each condition on providers is one bit, in the order of testing, so a set of conditions is an
integer, and what a provider fails is another one. Which parameters there are is a table of the
model (`placement.search.model.request`).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

from placement.search.model.capacity import Refusal
from placement.search.model.kind import Profile
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
    alternatives,
)
from placement.search.solver.resolved_request import ProviderRequest, ResolvedRequest


class Verdict(enum.Enum):
    """The answer to whether a request could ever be served."""

    FITS = 'fits'
    FULL = 'full'
    INFEASIBLE = 'infeasible'
    UNKNOWN = 'unknown'


class Reason(enum.StrEnum):
    """The words for what fails, beside those of parameters and of refusals."""

    TREE_UNKNOWN = 'in_tree names no provider:'
    ONE_TREE = 'all groups from one tree'
    SUM = 'amounts of all groups together'


def conditions_of(
    parameters: Iterable[Parameter], holder: CandidateRequest | RequestGroup
) -> list[Condition]:
    """The conditions that a request or group has by some parameters, each once."""
    suffix = holder.suffix if isinstance(holder, RequestGroup) else None
    return [
        Condition(
            parameter.reason, _spelled(parameter, name), suffix=suffix, name=name,
            parameter=parameter,
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


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """A condition that providers or trees meet or fail.

    `names` are the classes, traits or aggregates it is about, alternatives joined by "or";
    `suffix` is that of its group, None where it is about the whole request. Of amounts `asked` is
    set against `largest`, the most that one provider of those that meet all other conditions
    offers to one candidate when it is empty, and `most_free`, the most that one of them has room
    for now; each is None where it does not apply. Where several providers serve a group together,
    `classes` are those that this condition leaves without one; none are named where it leaves all
    of them so. `is_met` where nobody fails it. `detail` says more of conditions that have no names
    of their own.

    `parameter` and `name` tell where the request has it, `bit` who fails it.
    """

    reason: str
    names: tuple[str, ...] = ()
    asked: int | None = None
    largest: int | None = None
    most_free: int | None = None
    classes: tuple[str, ...] = ()
    is_met: bool = False
    detail: str = ''
    suffix: str | None = None
    name: str | AnyOf | bool = ''
    parameter: Parameter | None = None
    bit: int = 0

    @property
    def words(self) -> str:
        """The condition in words, such as 'VCPU: 400 asked, largest 128 (too small)'."""
        names = '' if self.reason == Reason.SUM else ', '.join(self.names)
        if self.asked is None:
            concerned = f' for {", ".join(self.classes)}' if self.classes else ''
            detail = f' ({self.detail})' if self.detail else ''
            return f'{self.reason} {names}{concerned}'.strip() + detail
        amounts = [f'{self.asked} asked']
        if self.most_free is not None:
            amounts.append(f'most free {self.most_free}')
        if self.largest is not None:
            amounts.append(f'largest {self.largest}')
        words = f'{names}: {", ".join(amounts)}'
        return words if self.is_met else f'{words} ({self.reason})'

    @property
    def full_words(self) -> str:
        """The condition in words, with its group where that has a suffix."""
        return f'group {self.suffix}: {self.words}' if self.suffix else self.words

    @property
    def left(self) -> str:
        """The words for what the trees have in common that meet it."""
        name = ', '.join(self.names)
        if self.asked is not None:
            return f'with enough {name}'
        if self.parameter is None:
            return f'with {name}'
        return self.parameter.left.format(name.removeprefix('!'))

    @property
    def subject(self) -> tuple[str | None, str] | None:
        """The group and the class of a condition on an amount, or that a class is there."""
        return (self.suffix, self.names[0]) if self.parameter is RESOURCES else None

    @property
    def is_amount(self) -> bool:
        """True where the condition is on an amount."""
        return self.asked is not None

    @property
    def is_of_class(self) -> bool:
        """True where the condition is that a class is there at all."""
        return self.parameter is RESOURCES and self.asked is None

    @property
    def can_be_given_up(self) -> bool:
        """True where a request could be made without it."""
        return self.parameter is not None and self.parameter is not ONE_OF_EACH_TREE

    def without(self, request: CandidateRequest, amount: int = 0) -> CandidateRequest:
        """The request without it; with another `amount` where it is about one.

        A group that would ask for nothing any more goes with its last class.
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


def failed_bits(conditions: Iterable[Condition], profile: Profile) -> int:
    """The bits of those of some conditions on names that providers of a profile fail."""
    return bits_of(
        [
            condition
            for condition in conditions
            if condition.parameter
            and not isinstance(condition.name, bool)
            and not condition.parameter.accepts(condition.name, profile)
        ]
    )


class Amount(NamedTuple):
    """The bits of one class of a group: that it is there, that an empty provider could serve the
    amount, that it is free beside what is used, and that any amount is free at all. The last is
    no condition of the request; it tells if asking for less would help."""

    resource_class: str
    asked: int
    present: int
    size: int
    free: int
    some: int

    @property
    def refused(self) -> int:
        """The bits of conditions on the amount."""
        return self.size | self.free


class GroupConditions:
    """The conditions of one group. `steps` are in the order of testing.

    `tree_id` is the id of the root of the tree that `in_tree` names. `collected` are the bits of
    traits that several providers may bring together, `wanted` and `barred` those of conditions for
    which the root of a tree counts, too.
    """

    def __init__(self, group: RequestGroup, table: ConditionTable, tree_id: int | None) -> None:
        self.group = group
        self.tree_id = tree_id
        tree = table.numbered(conditions_of((TREE,), group))
        self.tree_bit = bits_of(tree)
        present = table.numbered(conditions_of((RESOURCES,), group))
        self.named = table.numbered(conditions_of(GROUP_PARAMETERS, group))
        size = table.numbered([_amount(held, group, Refusal.TOO_SMALL) for held in present])
        free = table.numbered([_amount(held, group, Refusal.USED) for held in present])
        self.amounts = {
            name: Amount(name, asked, present[n].bit, size[n].bit, free[n].bit, table.next_bit())
            for n, (name, asked) in enumerate(group.resources.items())
        }
        self.steps: list[Condition] = [*tree, *present, *self.named, *size, *free]
        is_of_one = group.is_suffixed or len(group.resources) == 1
        self.collected = 0 if is_of_one else self._bits('is_collected')
        spanning = 0 if group.is_suffixed else self._bits('spans_tree')
        self.barred = spanning & self._bits('is_barred')
        self.wanted = spanning & ~self.barred

    def _bits(self, flag: str) -> int:
        return bits_of([step for step in self.named if getattr(step.parameter, flag)])


def bits_of(conditions: Iterable[Condition]) -> int:
    """The bits of some conditions together."""
    return sum(condition.bit for condition in conditions)


def _amount(present: Condition, group: RequestGroup, reason: Refusal) -> Condition:
    return dataclasses.replace(present, reason=reason, asked=group.resources[present.names[0]])


class ConditionTable:
    """Every condition of a resolved request on single providers, with its bit.

    `requests` are the provider requests, `group_of` gives for each of them the number of its group
    among `groups`, and `requests_of` for each group the numbers of its requests. `visible` are
    the bits of all conditions, `free` of those on usage. `names` are, by what of a profile they
    are compared with, all that any condition names.
    """

    def __init__(self, resolved: ResolvedRequest) -> None:
        request = resolved.request
        self.requests: Sequence[ProviderRequest] = resolved.provider_requests
        self._bits = 0
        self.visible = 0
        self.groups = [
            GroupConditions(group, self, resolved.tree_ids.get(group.in_tree or ''))
            for group in request.groups
        ]
        self._numbers = {group.suffix: n for n, group in enumerate(request.groups)}
        self.group_of = [self._numbers[asking.group.suffix] for asking in self.requests]
        self.requests_of: list[list[int]] = [[] for _ in self.groups]
        for number, group in enumerate(self.group_of):
            self.requests_of[group].append(number)
        self.root_conditions = self.numbered(conditions_of(ROOT_PARAMETERS, request))
        self.root_bits = bits_of(self.root_conditions)
        self.free = sum(
            amount.free for conditions in self.groups for amount in conditions.amounts.values()
        )
        self.names: dict[str, set[str]] = {}
        named = [step for conditions in self.groups for step in conditions.named]
        for condition in (*named, *self.root_conditions):
            if condition.parameter and not isinstance(condition.name, bool):
                names = self.names.setdefault(condition.parameter.held, set())
                names |= alternatives(condition.name)

    def next_bit(self) -> int:
        """A bit that no condition has."""
        self._bits += 1
        return 1 << (self._bits - 1)

    def numbered(self, conditions: Iterable[Condition]) -> list[Condition]:
        """The conditions with a bit for each."""
        numbered = [
            dataclasses.replace(condition, bit=self.next_bit()) for condition in conditions
        ]
        self.visible |= bits_of(numbered)
        return numbered

    def number_of(self, condition: Condition) -> int:
        """The number of the group that has a condition."""
        return self._numbers[condition.suffix or '']

    def amount_of(self, condition: Condition) -> Amount:
        """The bits of the class that a condition is about."""
        return self.groups[self.number_of(condition)].amounts[condition.names[0]]

    def asking(self, group: int, name: str) -> list[int]:
        """The numbers of the provider requests of a group that ask for a class."""
        return [n for n in self.requests_of[group] if name in self.requests[n].amounts]

    def classes_of(self, group: int, requests: Set[int]) -> tuple[str, ...]:
        """The classes of these provider requests of a group; none where these are all it has."""
        if len(requests) == len(self.requests_of[group]):
            return ()
        names = (name for number in sorted(requests) for name in self.requests[number].amounts)
        return tuple(dict.fromkeys(names))


def combined_conditions(request: CandidateRequest) -> list[Condition]:
    """The conditions on all groups together, in the order of testing."""
    suffixed = sum(group.is_suffixed for group in request.groups)
    isolate = [
        dataclasses.replace(isolated, detail=f'{suffixed} groups, each on a provider of its own')
        for isolated in conditions_of((ISOLATE,), request)
        if suffixed > 1
    ]
    subtrees = [
        subtree
        for subtree in conditions_of((SUBTREE,), request)
        if isinstance(subtree.name, frozenset) and len(subtree.name) > 1
    ]
    return [*isolate, *subtrees, *conditions_of((ONE_OF_EACH_TREE,), request)]
