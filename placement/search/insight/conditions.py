# SPDX-License-Identifier: Apache-2.0
"""Every condition of a request as one bit, in the order of testing, and who fails which.

A set of conditions is an integer then, and what stands in the way of a provider another one: it
passes a set when the two have no bit in common. So a provider is looked at once, and whatever is
asked about any set of conditions afterwards is asked about integers.
"""

import dataclasses
from collections.abc import Sequence, Set
from typing import NamedTuple

from placement.search.explanation import Condition
from placement.search.insight.amounts import Need
from placement.search.model.kind import Profile
from placement.search.model.request import AnyOf, RequestGroup
from placement.search.solver.provider_request import ProviderRequest
from placement.search.solver.resolved_request import ResolvedRequest
from placement.search.solver.tally import Reason


class Numbered(NamedTuple):
    """A condition and its bit. `name` is the name it is about, alternatives as a set."""

    bit: int
    reason: Reason
    name: str | AnyOf
    is_barred: bool = False
    asked: int | None = None

    @property
    def words(self) -> str:
        """The name as a condition spells it."""
        name = self.name if isinstance(self.name, str) else ' or '.join(sorted(self.name))
        return f'!{name}' if self.is_barred else name

    @property
    def names_class(self) -> bool:
        """Whether the condition is about one class."""
        return self.asked is not None or self.reason is Reason.CLASS_MISSING

    def condition(self, largest: int | None = None, most_free: int | None = None) -> Condition:
        """The condition for people, with amounts where it is about one."""
        return Condition(self.reason, (self.words,), self.asked, largest, most_free)


class AmountBits(NamedTuple):
    """The bits of one class of a group: that it is there, that an empty provider could serve the
    amount, that it is free beside what is used, and that any amount is free at all. The last is
    no condition of the request; it tells whether asking for less would help."""

    resource_class: str
    amount: int
    present: int
    size: int
    free: int
    some: int


class Role(NamedTuple):
    """What a profile fails of one provider request, whatever its amounts.

    `own` are conditions that nothing else can make good, `member` those on aggregates that the
    root may meet in its stead; `gained` are the traits it brings of those that the unsuffixed
    group collects.
    """

    own: int
    member: int
    gained: int
    needs: tuple[Need, ...]


@dataclasses.dataclass(slots=True)
class GroupConditions:
    """The conditions of one group. `steps` are in the order of testing."""

    group: RequestGroup
    steps: list[Numbered] = dataclasses.field(default_factory=list)
    amounts: dict[str, AmountBits] = dataclasses.field(default_factory=dict)
    required: list[Numbered] = dataclasses.field(default_factory=list)
    forbidden: list[Numbered] = dataclasses.field(default_factory=list)
    member_of: list[Numbered] = dataclasses.field(default_factory=list)
    barred: list[Numbered] = dataclasses.field(default_factory=list)
    tree: Numbered | None = None
    tree_id: int | None = None

    @property
    def collected(self) -> int:
        """The bits of traits that several providers may bring together."""
        return 0 if self.group.is_suffixed else sum(one.bit for one in self.required)

    @property
    def common_bits(self) -> int:
        """The bits of conditions on every provider that serves the group, without amounts."""
        steps = [*self.forbidden, *self.member_of, *self.barred]
        if self.group.is_suffixed:
            steps += self.required
        return sum(one.bit for one in steps) | (self.tree.bit if self.tree else 0)

    def member_mask(self, aggregates: frozenset[str]) -> int:
        """Which sets of wanted aggregates these are outside of."""
        return sum(one.bit for one in self.member_of if aggregates.isdisjoint(one.name))

    def barred_mask(self, aggregates: frozenset[str]) -> int:
        """Which unwanted aggregates are among these."""
        return sum(one.bit for one in self.barred if one.name in aggregates)

    def tree_mask(self, root_id: int) -> int:
        """The bit of `in_tree` where it names another tree than this one."""
        return self.tree.bit if self.tree is not None and root_id != self.tree_id else 0

    def role(self, request: ProviderRequest, profile: Profile) -> Role:
        """What a provider of this profile fails of one provider request of the group."""
        own, gained, needs = self.barred_mask(profile.aggregates), 0, []
        for name in request.amounts:
            bits, position = self.amounts[name], profile.position.get(name)
            if position is None:
                own |= bits.present
            else:
                needs.append(Need(position, bits.amount, bits.size, bits.free, bits.some))
        for one in self.forbidden:
            if one.name in profile.traits:
                own |= one.bit
        for one in self.required:
            if not profile.traits.isdisjoint(one.name):
                gained |= one.bit
        if self.group.is_suffixed:
            own |= sum(one.bit for one in self.required) & ~gained
            gained = 0
        return Role(own, self.member_mask(profile.aggregates), gained, tuple(needs))


class ConditionTable:
    """Every condition of a resolved request with its bit.

    `requests` are the provider requests, `group_of` gives for each of them the number of its group
    among `groups`, and `requests_of` for each group the numbers of its requests. `visible` are
    the bits of all conditions, `free` of those on usage.
    """

    def __init__(self, resolved: ResolvedRequest) -> None:
        self.requests: Sequence[ProviderRequest] = resolved.provider_requests
        self._bits = 0
        self.visible = 0
        self.groups = [self._numbered_group(group, resolved) for group in resolved.request.groups]
        numbers = {group.suffix: n for n, group in enumerate(resolved.request.groups)}
        self.group_of = [numbers[one.group.suffix] for one in self.requests]
        self.requests_of: list[list[int]] = [[] for _ in self.groups]
        for number, group in enumerate(self.group_of):
            self.requests_of[group].append(number)
        request = resolved.request
        self.root_required = [
            self._number(Reason.ROOT, name) for name in sorted(request.root_required)
        ]
        self.root_forbidden = [
            self._number(Reason.ROOT, name, is_barred=True)
            for name in sorted(request.root_forbidden)
        ]
        self.root_conditions = [*self.root_required, *self.root_forbidden]
        self.root_bits = sum(one.bit for one in self.root_conditions)
        self.free = sum(bits.free for group in self.groups for bits in group.amounts.values())
        self.relevant_traits = frozenset(
            request.root_required | request.root_forbidden,
        ).union(*[self._traits(group.group) for group in self.groups])
        self.relevant_aggregates = frozenset[str]().union(
            *[
                group.group.forbidden_aggregates.union(*group.group.member_of)
                for group in self.groups
            ]
        )

    @staticmethod
    def _traits(group: RequestGroup) -> frozenset[str]:
        return group.forbidden.union(*group.required)

    def _next_bit(self) -> int:
        self._bits += 1
        return 1 << (self._bits - 1)

    def _number(
        self,
        reason: Reason,
        name: str | AnyOf,
        is_barred: bool = False,
        asked: int | None = None,
    ) -> Numbered:
        bit = self._next_bit()
        self.visible |= bit
        return Numbered(bit, reason, name, is_barred, asked)

    def _numbered_group(self, group: RequestGroup, resolved: ResolvedRequest) -> GroupConditions:
        one = GroupConditions(group)
        if group.in_tree is not None:
            one.tree = self._number(Reason.TREE, group.in_tree)
            one.tree_id = resolved.tree_ids[group.in_tree]
        present = {name: self._number(Reason.CLASS_MISSING, name) for name in group.resources}
        one.required = [
            self._number(Reason.REQUIRED_TRAIT, names) for names in dict.fromkeys(group.required)
        ]
        one.forbidden = [
            self._number(Reason.FORBIDDEN_TRAIT, name) for name in sorted(group.forbidden)
        ]
        one.member_of = [
            self._number(Reason.AGGREGATE, names) for names in dict.fromkeys(group.member_of)
        ]
        one.barred = [
            self._number(Reason.AGGREGATE, name, is_barred=True)
            for name in sorted(group.forbidden_aggregates)
        ]
        amounts = group.resources.items()
        size = [self._number(Reason.TOO_SMALL, name, asked=asked) for name, asked in amounts]
        free = [self._number(Reason.USED, name, asked=asked) for name, asked in amounts]
        for (name, amount), of_size, of_free in zip(amounts, size, free, strict=True):
            one.amounts[name] = AmountBits(
                name, amount, present[name].bit, of_size.bit, of_free.bit, self._next_bit()
            )
        one.steps = [
            *([one.tree] if one.tree else ()), *present.values(), *one.required, *one.forbidden,
            *one.member_of, *one.barred, *size, *free,
        ]  # fmt: skip
        return one

    def classes_of(self, group: int, requests: Set[int]) -> tuple[str, ...]:
        """The classes of these provider requests of a group; none where these are all it has."""
        if len(requests) == len(self.requests_of[group]):
            return ()
        names = (name for one in sorted(requests) for name in self.requests[one].amounts)
        return tuple(dict.fromkeys(names))

    def root_mask(self, root: Profile) -> int:
        """What the root of a tree fails of the conditions on it."""
        mask = sum(one.bit for one in self.root_required if one.name not in root.traits)
        return mask + sum(one.bit for one in self.root_forbidden if one.name in root.traits)

    def named(self, mask: int) -> list[tuple[str | None, Numbered]]:
        """The conditions of these bits, with the suffixes of their groups."""
        return [
            *[
                (group.group.suffix, step)
                for group in self.groups
                for step in group.steps
                if step.bit & mask
            ],
            *[(None, one) for one in self.root_conditions if one.bit & mask],
        ]
