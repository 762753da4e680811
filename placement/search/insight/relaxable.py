# SPDX-License-Identifier: Apache-2.0
"""What of a request could be given up, and the request that is left."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from placement.search.explanation import Condition
from placement.search.insight.conditions import AmountBits, GroupConditions, Numbered
from placement.search.insight.explain_answer import GroupCondition
from placement.search.insight.group_funnel import condition_with_amounts
from placement.search.insight.survey import Survey
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.solver.tally import Reason


class Relaxable(NamedTuple):
    """A condition that can be given up.

    Without it the bits of `given_up` do not count, nor the provider requests `dropped`, and those
    of `instead` do. `amount` is set where another amount is asked for, `resource_class` where the
    class is not asked for at all, `name` for conditions that have one.
    """

    suffix: str | None
    condition: Condition
    given_up: int = 0
    instead: int = 0
    dropped: frozenset[int] = frozenset()
    amount: AmountBits | None = None
    resource_class: str | None = None
    numbered: Numbered | None = None

    @property
    def shown(self) -> GroupCondition:
        """The condition as it is told."""
        return GroupCondition(self.suffix, self.condition)

    @property
    def subject(self) -> tuple[str | None, str] | None:
        """The group and the class where it is about one."""
        name = self.amount.resource_class if self.amount else self.resource_class
        return None if name is None else (self.suffix, name)


def relaxables(survey: Survey, request: CandidateRequest, with_amounts: bool) -> list[Relaxable]:
    """Everything that can be given up: conditions on single providers, on the root, on amounts,
    and on the combination, and at last whole classes."""
    found = [one for number in range(len(request.groups)) for one in _names(survey, number)]
    found += [
        Relaxable(None, one.condition(), one.bit, numbered=one)
        for one in survey.table.root_conditions
    ]
    found += _on_combination(request)
    if with_amounts:
        found += [one for number in range(len(request.groups)) for one in _amounts(survey, number)]
        found += [
            one
            for number in range(len(request.groups))
            for one in _classes(survey, number, request)
        ]
    return found


def _names(survey: Survey, number: int) -> Iterator[Relaxable]:
    group = survey.table.groups[number]
    for one in group.steps:
        if one.asked is None and one.reason is not Reason.CLASS_MISSING:
            yield Relaxable(group.group.suffix, one.condition(), one.bit, numbered=one)


def _amounts(survey: Survey, number: int) -> Iterator[Relaxable]:
    group = survey.table.groups[number]
    for name, bits in group.amounts.items():
        capacity = survey.most[number, name].capacity
        is_refused = capacity is not None and capacity.refusal(bits.amount) is not None
        bit = bits.size if is_refused else bits.free
        step = next(one for one in group.steps if one.bit == bit)
        yield Relaxable(
            group.group.suffix,
            condition_with_amounts(survey, number, step),
            bits.size | bits.free,
            bits.some,
            amount=bits,
        )


def _classes(survey: Survey, number: int, request: CandidateRequest) -> Iterator[Relaxable]:
    group, table = survey.table.groups[number], survey.table
    is_last = len(group.amounts) == 1
    if is_last and not _can_be_left_out(group, request):
        return
    for name, bits in group.amounts.items():
        numbers = [
            one.number
            for one, of_request in zip(table.requests, table.group_of, strict=True)
            if of_request == number and name in one.amounts
        ]
        is_alone = is_last or not group.group.is_suffixed
        yield Relaxable(
            group.group.suffix,
            Condition(Reason.CLASS_MISSING, (name,)),
            bits.present | bits.size | bits.free,
            dropped=frozenset(numbers) if is_alone else frozenset(),
            resource_class=name,
        )


def _can_be_left_out(group: GroupConditions, request: CandidateRequest) -> bool:
    """Whether something is asked for without this group, and nothing refers to it."""
    suffix = group.group.suffix
    return any(one.resources for one in request.groups if one.suffix != suffix) and not any(
        suffix in suffixes for suffixes in request.same_subtree
    )


def _on_combination(request: CandidateRequest) -> Iterator[Relaxable]:
    if request.isolate and sum(group.is_suffixed for group in request.groups) > 1:
        yield Relaxable(None, Condition(Reason.ISOLATE))
    for suffixes in dict.fromkeys(request.same_subtree):
        if len(suffixes) > 1:
            yield Relaxable(None, subtree_condition(suffixes))


def subtree_condition(suffixes: frozenset[str]) -> Condition:
    """The condition that groups are served from one subtree."""
    return Condition(Reason.SUBTREE, (','.join(sorted(suffixes)),))


def without(
    request: CandidateRequest, chosen: Iterable[Relaxable], amounts: Mapping[object, int]
) -> CandidateRequest:
    """The request without these conditions; `amounts` are by group and class those that are asked
    for instead."""
    for one in chosen:
        reason = one.condition.reason
        if one.amount or one.resource_class or one.suffix is not None:
            groups = [
                changed
                for group in request.groups
                if (changed := _group_without(group, one, amounts)) is not None
            ]
            request = dataclasses.replace(request, groups=tuple(groups))
        elif reason is Reason.ISOLATE:
            request = dataclasses.replace(request, isolate=False)
        elif reason is Reason.SUBTREE:
            rest = [s for s in request.same_subtree if subtree_condition(s) != one.condition]
            request = dataclasses.replace(request, same_subtree=tuple(rest))
        elif one.numbered is not None:
            name = frozenset([one.numbered.name])
            request = dataclasses.replace(
                request,
                root_required=request.root_required
                - (name if not one.numbered.is_barred else set()),
                root_forbidden=request.root_forbidden
                - (name if one.numbered.is_barred else set()),
            )
    return request


def _group_without(
    group: RequestGroup, one: Relaxable, amounts: Mapping[object, int]
) -> RequestGroup | None:
    if group.suffix != one.suffix:
        return group
    if one.amount is not None:
        name = one.amount.resource_class
        return dataclasses.replace(
            group, resources={**group.resources, name: amounts[one.subject]}
        )
    if one.resource_class is not None:
        resources = {n: a for n, a in group.resources.items() if n != one.resource_class}
        return dataclasses.replace(group, resources=resources) if resources else None
    numbered = one.numbered
    assert numbered is not None
    names, reason = numbered.name, numbered.reason
    if reason is Reason.TREE:
        return dataclasses.replace(group, in_tree=None)
    if reason is Reason.FORBIDDEN_TRAIT:
        return dataclasses.replace(group, forbidden=group.forbidden - {names})
    if reason is Reason.REQUIRED_TRAIT:
        rest = tuple(other for other in group.required if other != names)
        return dataclasses.replace(group, required=rest)
    if numbered.is_barred:
        return dataclasses.replace(
            group, forbidden_aggregates=group.forbidden_aggregates - {names}
        )
    rest = tuple(other for other in group.member_of if other != names)
    return dataclasses.replace(group, member_of=rest)
