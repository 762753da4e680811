# SPDX-License-Identifier: Apache-2.0
"""Provider trees, and what alike trees share.

Nothing here is ever altered. What is derived from the rest is worked out when it is first needed
and kept with the object it is derived from, so it goes when that object is replaced; two threads
that race to do so arrive at the same value.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.kind import DISABLED_TRAIT, InternPool, Profile, ProviderKind
from placement.search.model.provider import Provider

# What the members of a tree use: for each of them the amounts, in the order of its classes.
UsedAmounts = tuple[tuple[int, ...], ...]


class Ancestry:
    """Ancestors in a forest, in a memory and a time that grow with its members alone.

    `parents` holds the position of each parent, -1 for none. Positions are numbered from the tops
    downwards, each before what lies beneath it, so what lies beneath one has successive numbers.
    A circle of parents cannot be written through the API; should rows hold one, it is cut open at
    its first position.
    """

    __slots__ = ('_first', '_last', 'upwards')

    def __init__(self, parents: Sequence[int] = ()) -> None:
        downwards = _downwards(parents)
        self.upwards: Sequence[int] = downwards[::-1]
        self._first = [0] * len(parents)
        for number, position in enumerate(downwards):
            self._first[position] = number
        self._last = list(self._first)
        for position in self.upwards:
            parent = parents[position]
            if parent >= 0 and self._first[parent] < self._first[position]:
                self._last[parent] = max(self._last[parent], self._last[position])

    def is_within(self, position: int, top: int) -> bool:
        """Return whether `top` is this position or an ancestor of it."""
        first = self._first
        return first[top] <= first[position] <= self._last[top]


def _downwards(parents: Sequence[int]) -> list[int]:
    """Every position, each after its parent and before what lies beneath others."""
    children: list[list[int]] = [[] for _ in parents]
    tops: list[int] = []
    for position, parent in enumerate(parents):
        (tops if parent < 0 else children[parent]).append(position)
    order: list[int] = []
    seen = [False] * len(parents)
    # After the tops whoever is left: those lie in a circle, or beneath one.
    for top in (*tops, *range(len(parents))):
        stack = [top]
        while stack:
            position = stack.pop()
            if not seen[position]:
                seen[position] = True
                order.append(position)
                stack.extend(reversed(children[position]))
    return order


class Structure:
    """Profiles of the members of trees, root first, and who is whose parent.

    `parents` holds the position of each member's parent, -1 for none. Compared by identity.
    """

    # No __slots__: cached properties are kept in the dictionary, and structures are few.
    def __init__(self, profiles: tuple[Profile, ...], parents: tuple[int, ...]) -> None:
        self.profiles = profiles
        self.parents = parents
        self.aggregates: frozenset[str] = frozenset().union(
            *(profile.aggregates for profile in profiles)
        )
        self.has_sharing = any(profile.is_sharing for profile in profiles)

    @functools.cached_property
    def ancestry(self) -> Ancestry:
        """Which members are above which others."""
        return Ancestry(self.parents)


@dataclasses.dataclass(slots=True, weakref_slot=True, eq=False)
class Shape:
    """A structure with capacities: trees of one shape differ in nothing but usage.

    Compared by identity.
    """

    kinds: tuple[ProviderKind, ...]
    structure: Structure

    @property
    def unused(self) -> UsedAmounts:
        """The usage of a tree of this shape from which nothing is allocated."""
        return tuple([(0,) * len(kind.capacities) for kind in self.kinds])


class Tree:
    """One provider tree: its members, root first if it is there, then by id."""

    __slots__ = ('members', 'root_id', 'shape', 'usage')

    def __init__(self, root_id: int, members: tuple[Provider, ...], shape: Shape) -> None:
        # Use `of` and `with_used`: they keep these in step.
        self.root_id = root_id
        self.members = members
        self.shape = shape
        self.usage: UsedAmounts = tuple([member.used for member in members])

    @classmethod
    def of(cls, root_id: int, members: Iterable[Provider], pool: InternPool) -> Tree:
        """The tree of exactly these members, in any order."""
        ordered = tuple(sorted(members, key=lambda member: (member.id != root_id, member.id)))
        positions = {member.id: position for position, member in enumerate(ordered)}
        structure = pool.shared(
            Structure,
            tuple([member.kind.profile for member in ordered]),
            tuple([positions.get(member.parent_id, -1) for member in ordered]),  # type: ignore[arg-type]
        )
        kinds = tuple([member.kind for member in ordered])
        return cls(root_id, ordered, pool.shared(Shape, kinds, structure))

    def with_used(self, changed: Mapping[int, Provider]) -> Tree:
        """This tree with other records of some members, by id, that differ in usage alone."""
        members = tuple([changed.get(member.id, member) for member in self.members])
        return Tree(self.root_id, members, self.shape)

    def member(self, provider_id: int) -> Provider:
        """The member with this id. Raises KeyError when there is none."""
        return self.members[self.position(provider_id)]

    def position(self, provider_id: int) -> int:
        """The position of the member with this id. Raises KeyError when there is none."""
        members = self.members
        # The root, but where that moved to another tree while this child was added.
        if provider_id == members[0].id:
            return 0
        position = bisect.bisect_left(members, provider_id, lo=1, key=_id_of)
        if position == len(members) or members[position].id != provider_id:
            raise KeyError(provider_id)
        return position


def is_disabled(tree: Tree) -> bool:
    """Return whether a host of the tree is disabled, so that nova takes no server there."""
    return any(DISABLED_TRAIT in profile.traits for profile in tree.shape.structure.profiles)


_id_of = operator.attrgetter('id')


class FullestInventory(NamedTuple):
    """The inventory of which the largest part is used, and its provider, by uuid."""

    provider: str
    resource_class: str
    capacity: int
    used: int


@dataclasses.dataclass(slots=True)
class ClassSum:
    """The sums of one class; `free` has what each inventory has beyond what is used of it, so
    that one over its capacity takes nothing away from the others."""

    capacity: int = 0
    used: int = 0
    free: int = 0

    def add(self, capacity: int, used: int) -> None:
        """Add one inventory."""
        self.capacity += capacity
        self.used += used
        self.free += max(capacity - used, 0)


class TreeSums(NamedTuple):
    """A tree in sums by resource class.

    `over_capacity` is the number of inventories of which more is used than there is, `disabled`
    that of the members with `COMPUTE_STATUS_DISABLED`. `fullest` is None where nothing can be
    used.
    """

    providers: int
    disabled: int
    over_capacity: int
    resources: Mapping[str, ClassSum]
    fullest: FullestInventory | None


def sums_of(tree: Tree) -> TreeSums:
    """The sums of a tree. Of inventories that are as full, the first member's is the fullest."""
    resources: dict[str, ClassSum] = {}
    fullest, largest, over_capacity = None, -1.0, 0
    for member in tree.members:
        for name, limits, used in member.inventories:
            capacity = limits.reported_capacity
            if name not in resources:
                resources[name] = ClassSum()
            resources[name].add(capacity, used)
            over_capacity += used > limits.ceiling
            if capacity <= 0 and used == 0:
                continue
            part = used / capacity if capacity > 0 else math.inf
            if part > largest:
                largest, fullest = part, FullestInventory(member.uuid, name, capacity, used)
    disabled = sum(DISABLED_TRAIT in member.traits for member in tree.members)
    return TreeSums(len(tree.members), disabled, over_capacity, resources, fullest)
