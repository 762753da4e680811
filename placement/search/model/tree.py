# SPDX-License-Identifier: Apache-2.0
"""Provider trees, and what alike trees share.

Nothing here is ever altered. What is derived from the rest is worked out when it is first needed
and kept with the object it is derived from, so it goes when that object is replaced; two threads
that race to do so arrive at the same value.
"""

import bisect
import functools
import operator
import weakref
from collections.abc import Iterable, Mapping

from placement.search.model.ancestry import Ancestry
from placement.search.model.interning import InternPool
from placement.search.model.kind import Profile, ProviderKind
from placement.search.model.provider import Provider

# What the members of a tree use: for each of them the amounts, in the order of its classes.
Usage = tuple[tuple[int, ...], ...]


class Structure:
    """What trees have in common whatever their amounts: the profiles of the members, root first,
    and who is whose parent.

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


class Shape:
    """What trees have in common that differ in nothing but usage. Compared by identity."""

    __slots__ = ('__weakref__', 'kinds', 'structure')

    def __init__(self, kinds: tuple[ProviderKind, ...], structure: Structure) -> None:
        self.kinds = kinds
        self.structure = structure

    @property
    def unused(self) -> Usage:
        """The usage of a tree of this shape from which nothing is allocated."""
        return tuple([(0,) * len(kind.capacities) for kind in self.kinds])


class Tree:
    """One provider tree: its members, root first, then by id."""

    __slots__ = ('members', 'root_id', 'shape', 'usage')

    def __init__(self, root_id: int, members: tuple[Provider, ...], shape: Shape) -> None:
        # Use `of` and `with_used`: they keep these in step.
        self.root_id = root_id
        self.members = members
        self.shape = shape
        self.usage: Usage = tuple([member.used for member in members])

    @classmethod
    def of(cls, root_id: int, members: Iterable[Provider], pool: InternPool) -> 'Tree':
        """The tree of exactly these members, in any order."""
        ordered = tuple(members)
        if len(ordered) == 1:
            return cls(root_id, ordered, _shape_alone(ordered[0].kind, pool))
        ordered = tuple(sorted(ordered, key=lambda member: (member.id != root_id, member.id)))
        positions = {member.id: position for position, member in enumerate(ordered)}
        structure = pool.shared(
            Structure,
            tuple([member.kind.profile for member in ordered]),
            tuple([positions.get(member.parent_id, -1) for member in ordered]),  # type: ignore[arg-type]
        )
        kinds = tuple([member.kind for member in ordered])
        return cls(root_id, ordered, pool.shared(Shape, kinds, structure))

    def with_used(self, changed: Mapping[int, Provider]) -> 'Tree':
        """This tree with other records of some members, by id, that differ in usage alone."""
        members = tuple([changed.get(member.id, member) for member in self.members])
        return Tree(self.root_id, members, self.shape)

    def member(self, provider_id: int) -> Provider:
        """The member with this id. Raises KeyError when there is none."""
        return self.members[self.position(provider_id)]

    def position(self, provider_id: int) -> int:
        """The position of the member with this id. Raises KeyError when there is none."""
        members = self.members
        if provider_id == self.root_id:
            return 0
        position = bisect.bisect_left(members, provider_id, lo=1, key=_id_of)
        if position == len(members) or members[position].id != provider_id:
            raise KeyError(provider_id)
        return position


_id_of = operator.attrgetter('id')


def _shape_alone(kind: ProviderKind, pool: InternPool) -> Shape:
    """The shape of trees of one provider of this kind.

    The kind remembers it: an entry of the pool for each of 100,000 hosts that all differ would
    take 20 MB, and a tenth of the time to load them.
    """
    known: Shape | None = None if kind.shape_alone is None else kind.shape_alone()
    if known is None:
        known = Shape((kind,), pool.shared(Structure, (kind.profile,), (-1,)))
        kind.shape_alone = weakref.ref(known)
    return known
