# SPDX-License-Identifier: Apache-2.0
"""Blocks of neighbouring trees, and bounds by which a search passes over a whole block."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree

# Trees of a block have root ids that differ in the last bits only.  Smaller blocks make cheaper
# changes, larger ones let a search pass over more trees at a time.
BLOCK_BITS = 6

RoomOf = Callable[[Provider], tuple[int, ...]]


class ProfileBound(NamedTuple):
    """The providers of one profile in one block, or those of several profiles together.

    `room` holds, for each class in the order of the profile, the most that one of them has room
    for; not all of these need be the same provider's. `are_roots` tells whether any is a root.

    Profiles with the same classes are together. Then `profile` is one with the traits and
    aggregates that any of them has, `least` one with those that all of them have, and `parts` has
    the bound of each. A single profile is its own `least` and has no parts.
    """

    profile: Profile
    members: int
    are_roots: bool
    room: tuple[int, ...]
    least: Profile
    parts: tuple['ProfileBound', ...] = ()


# The number of a bound in its block, and that of a part of it; None for the whole.
Place = tuple[int, int | None]


class BlockBounds(NamedTuple):
    """What no tree of a block exceeds.

    `tree_room` is by class the most that the members of one tree have room for, all in all.
    """

    profiles: tuple[ProfileBound, ...]
    tree_room: Mapping[str, int]

    def at(self, place: Place) -> ProfileBound:
        """The bound at a place, which is that of the same profiles whatever is used."""
        number, part = place
        bound = self.profiles[number]
        return bound if part is None else bound.parts[part]


class AlikeProfiles(NamedTuple):
    """Profiles with the same classes; `most` and `least` stand for one with the traits and
    aggregates that any of them has, and for one with those that all of them have."""

    most: Profile
    least: Profile
    profiles: list[Profile]


class Block:
    """Some neighbouring trees, by the ids of their roots in ascending order.

    A change replaces the block it falls into and no other, which keeps a new snapshot cheap. The
    bounds are worked out when a search first asks for them.
    """

    __slots__ = ('_alike', '_bounds', '_unused_bounds', 'trees')

    def __init__(self, trees: dict[int, Tree]) -> None:
        self.trees = trees
        self._alike: list[AlikeProfiles] | None = None
        self._bounds: BlockBounds | None = None
        self._unused_bounds: BlockBounds | None = None

    @property
    def bounds(self) -> BlockBounds:
        """What the trees have room for beside what is used."""
        if self._bounds is None:
            self._bounds = self._bounds_of(_free_room)
        return self._bounds

    @property
    def unused_bounds(self) -> BlockBounds:
        """What the trees would have room for if nothing were used."""
        if self._unused_bounds is None:
            self._unused_bounds = self._bounds_of(_largest_room)
        return self._unused_bounds

    def _bounds_of(self, room_of: RoomOf) -> BlockBounds:
        by_profile: dict[Profile, list[tuple[int, ...]]] = {}
        roots: set[Profile] = set()
        tree_room: dict[str, int] = {}
        for tree in self.trees.values():
            for member in tree.members:
                profile = member.kind.profile
                rooms = by_profile.get(profile)
                if rooms is None:
                    rooms = by_profile[profile] = []
                rooms.append(room_of(member))
            roots.add(tree.members[0].kind.profile)
            if len(tree.members) > 1:
                _raise_to(tree_room, _room_in_tree(tree, room_of))
        if self._alike is None:
            # Both bounds have the same: a search judges each profile once.
            self._alike = _alike_profiles(by_profile)
        bounds = {
            profile: ProfileBound(profile, len(rooms), profile in roots, _most(rooms), profile)
            for profile, rooms in by_profile.items()
        }
        together = tuple([_together(alike, bounds) for alike in self._alike])
        # A tree of one provider has no more room than that provider.
        for bound in together:
            _raise_to(tree_room, dict(zip(bound.profile.classes, bound.room, strict=True)))
        return BlockBounds(together, tree_room)

    def with_trees(self, changed: dict[int, Tree | None]) -> 'Block':
        """A block with these trees put in, or taken out where None is given."""
        trees = {**self.trees, **changed}
        if changed.keys() - self.trees.keys() or None in changed.values():
            trees = {root_id: tree for root_id, tree in sorted(trees.items()) if tree is not None}
        return Block(trees)  # type: ignore[arg-type]


def _alike_profiles(profiles: Iterable[Profile]) -> list[AlikeProfiles]:
    by_classes: dict[tuple[str, ...], list[Profile]] = {}
    for profile in profiles:
        by_classes.setdefault(profile.classes, []).append(profile)
    return [_alike(profiles) for profiles in by_classes.values()]


def _alike(profiles: list[Profile]) -> AlikeProfiles:
    first = profiles[0]
    if len(profiles) == 1:
        return AlikeProfiles(first, first, profiles)
    # Mostly few sets, though there may be many profiles.
    traits = {profile.traits for profile in profiles}
    aggregates = {profile.aggregates for profile in profiles}
    nothing = frozenset[str]()
    return AlikeProfiles(
        Profile(first.classes, nothing.union(*traits), nothing.union(*aggregates)),
        Profile(
            first.classes, frozenset.intersection(*traits), frozenset.intersection(*aggregates)
        ),
        profiles,
    )


def _together(alike: AlikeProfiles, bounds: Mapping[Profile, ProfileBound]) -> ProfileBound:
    parts = tuple([bounds[profile] for profile in alike.profiles])
    if len(parts) == 1:
        return parts[0]
    return ProfileBound(
        alike.most,
        sum([one.members for one in parts]),
        any(one.are_roots for one in parts),
        _most([one.room for one in parts]),
        alike.least,
        parts,
    )


def _most(rooms: list[tuple[int, ...]]) -> tuple[int, ...]:
    return rooms[0] if len(rooms) == 1 else tuple(map(max, zip(*rooms, strict=True)))


def _room_in_tree(tree: Tree, room_of: RoomOf) -> dict[str, int]:
    total: dict[str, int] = {}
    for member in tree.members:
        for name, room in zip(member.kind.profile.classes, room_of(member), strict=True):
            # What one has allocated beyond its capacity takes nothing from the others.
            if room > 0:
                total[name] = total.get(name, 0) + room
    return total


def _raise_to(most: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if amount > most.get(name, 0):
            most[name] = amount


def _free_room(provider: Provider) -> tuple[int, ...]:
    return tuple(
        [
            # As Capacity.room, written out: this is most of the work after a claim.
            free if (free := capacity.ceiling - used) < capacity.max_unit else capacity.max_unit
            for capacity, used in zip(provider.kind.capacities, provider.used, strict=True)
        ]
    )


def _largest_room(provider: Provider) -> tuple[int, ...]:
    return tuple([capacity.largest for capacity in provider.kind.capacities])
