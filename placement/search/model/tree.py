# SPDX-License-Identifier: Apache-2.0
"""Provider trees, and what alike trees share.

All objects are immutable. Derived values are computed on first use and cached on the object that
they derive from, so they disappear with it. Two threads that race compute the same value.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.search.model.kind import DISABLED_TRAIT, InternPool, Profile, ProviderKind
from placement.search.model.provider import Provider

# Maximum number of requests whose solutions are cached on one tree.
MAX_SOLUTIONS = 8

# The usage of each member of a tree, in the order of its classes.
UsedAmounts = tuple[tuple[int, ...], ...]


class Ancestry:
    """Ancestors in a forest, in time and memory linear in the number of its members.

    `parents` holds the position of each parent, -1 for none. Positions are numbered depth first
    from the tops, so the descendants of a position have successive numbers. The API accepts no
    circle of parents; if rows hold one, its first position is treated as having no parent.
    """

    __slots__ = ('_first', '_last', 'parents', 'upwards')

    def __init__(self, parents: Sequence[int] = ()) -> None:
        downwards = _downwards(parents)
        self.upwards: Sequence[int] = downwards[::-1]
        self._first = [0] * len(parents)
        for number, position in enumerate(downwards):
            self._first[position] = number
        self.parents: Sequence[int] = [
            parent if parent >= 0 and self._first[parent] < self._first[position] else -1
            for position, parent in enumerate(parents)
        ]
        self._last = list(self._first)
        for position in self.upwards:
            parent = self.parents[position]
            if parent >= 0:
                self._last[parent] = max(self._last[parent], self._last[position])

    def is_within(self, position: int, top: int) -> bool:
        """True if `top` is this position or an ancestor of it."""
        first = self._first
        return first[top] <= first[position] <= self._last[top]

    def within(self, top: int) -> Sequence[int]:
        """A position and its descendants, lowest first."""
        count = len(self.upwards)
        return self.upwards[count - 1 - self._last[top] : count - self._first[top]]


def _downwards(parents: Sequence[int]) -> list[int]:
    """Every position, depth first: each after its parent."""
    children: list[list[int]] = [[] for _ in parents]
    tops: list[int] = []
    for position, parent in enumerate(parents):
        (tops if parent < 0 else children[parent]).append(position)
    order: list[int] = []
    seen = [False] * len(parents)
    # Positions that no top reaches lie in a circle, or beneath one.
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
    """Profiles and parents of the members of trees, root first.

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
        """The ancestors of each member."""
        return Ancestry(self.parents)


@dataclasses.dataclass(slots=True, weakref_slot=True, eq=False)
class Shape:
    """A structure with capacities: trees of one shape differ in usage only.

    Compared by identity.
    """

    kinds: tuple[ProviderKind, ...]
    structure: Structure

    @property
    def unused(self) -> UsedAmounts:
        """The usage of a tree of this shape from which nothing is allocated."""
        return tuple([(0,) * len(kind.capacities) for kind in self.kinds])


class Solutions(NamedTuple):
    """The solutions of a request that fit a tree."""

    # Their numbers in the plan, in the order of the tree.
    numbers: Sequence[int]
    # Steps needed to find them.
    steps: int


NO_SOLUTIONS: Mapping[str, Solutions] = {}


class Tree:
    """One provider tree: its members, root first if present, then by id.

    `solutions` caches the solutions of recent requests with several solutions, by request.
    """

    __slots__ = ('members', 'root_id', 'shape', 'solutions', 'usage')

    def __init__(self, root_id: int, members: tuple[Provider, ...], shape: Shape) -> None:
        # Use `of` and `with_used`, which keep the members consistent.
        self.root_id = root_id
        self.members = members
        self.shape = shape
        self.usage: UsedAmounts = tuple([member.used for member in members])
        self.solutions = NO_SOLUTIONS

    @classmethod
    def of(cls, root_id: int, members: Iterable[Provider], pool: InternPool) -> Tree:
        """The tree of these members, given in any order."""
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
        """This tree with other records of some members, by id, which differ in usage only."""
        members = tuple([changed.get(member.id, member) for member in self.members])
        return Tree(self.root_id, members, self.shape)

    def keep(self, request: str, solutions: Solutions) -> None:
        """Cache the solutions of a request; drop all others when there are too many."""
        # Replace the mapping: other threads may be reading or replacing it at the same moment.
        before = self.solutions if len(self.solutions) < MAX_SOLUTIONS else NO_SOLUTIONS
        self.solutions = {**before, request: solutions}

    def member(self, provider_id: int) -> Provider:
        """The member with this id.

        :raises KeyError: no such member
        """
        return self.members[self.position(provider_id)]

    def position(self, provider_id: int) -> int:
        """The position of the member with this id.

        :raises KeyError: no such member
        """
        members = self.members
        # The root comes first, except where it moved to another tree while this child was added.
        if provider_id == members[0].id:
            return 0
        position = bisect.bisect_left(members, provider_id, lo=1, key=_id_of)
        if position == len(members) or members[position].id != provider_id:
            raise KeyError(provider_id)
        return position


def is_disabled(tree: Tree) -> bool:
    """True if a host of the tree is disabled, so that nova schedules no server there."""
    return any(DISABLED_TRAIT in profile.traits for profile in tree.shape.structure.profiles)


_id_of = operator.attrgetter('id')
