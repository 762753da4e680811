# SPDX-License-Identifier: Apache-2.0
"""Blocks of neighbouring trees, and bounds by which a search passes over a whole block.

Bounds are computed on demand: only for the blocks that a search reaches and the classes that it
requests, and profile by profile only where the bound of the whole block admits the block.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterable, Sequence

from placement.search.model.kind import Profile
from placement.search.model.provider import Provider
from placement.search.model.tree import Tree

# Root ids within a block differ in this many last bits only. Smaller blocks make changes cheaper,
# larger ones let a search pass over more trees at a time.
BLOCK_BITS = 6


class Bound:
    """Providers of one block that have the same classes, and the room that none of them exceeds.

    `profile` has the traits and aggregates of any of them, `common` only those of all. Where the
    providers have one profile, both are that profile.
    """

    # No __slots__: cached properties are kept in the dictionary, and bounds are few.
    def __init__(self, providers: Sequence[Provider]) -> None:
        self.providers = providers
        self.profile = self.common = providers[0].kind.profile
        self._rooms: dict[tuple[int, bool], int] = {}
        profiles = {provider.kind.profile for provider in providers}
        if len(profiles) > 1:
            # Mostly few sets, though there may be many profiles.
            traits = {profile.traits for profile in profiles}
            aggregates = {profile.aggregates for profile in profiles}
            classes, nothing = self.profile.classes, frozenset[str]()
            self.profile = _profile_of_many(
                classes, nothing.union(*traits), nothing.union(*aggregates)
            )
            self.common = _profile_of_many(
                classes, frozenset.intersection(*traits), frozenset.intersection(*aggregates)
            )

    @property
    def is_of_one_profile(self) -> bool:
        """True if the providers have the same profile."""
        return self.common is self.profile

    @functools.cached_property
    def parts(self) -> Sequence[Bound]:
        """The bound of each profile by itself."""
        if self.is_of_one_profile:
            return (self,)
        by_profile: dict[Profile, list[Provider]] = collections.defaultdict(list)
        for provider in self.providers:
            by_profile[provider.kind.profile].append(provider)
        return [Bound(providers) for providers in by_profile.values()]

    @functools.cached_property
    def roots(self) -> int:
        """The number of the providers that are roots."""
        return sum([provider.id == provider.root_id for provider in self.providers])

    def room(self, position: int, ignores_usage: bool = False) -> int:
        """Maximum room on one of the providers for the class at this position of the profile.

        The usage is subtracted, unless `ignores_usage`.
        """
        room = self._rooms.get((position, ignores_usage))
        if room is None:
            room = max(_rooms(self.providers, position, ignores_usage))
            self._rooms[position, ignores_usage] = room
        return room


class Block:
    """Some neighbouring trees, by the ids of their roots in ascending order.

    A change replaces the block it falls into and no other, which keeps a new snapshot cheap.
    """

    def __init__(self, trees: dict[int, Tree]) -> None:
        self.trees = trees
        self._rooms_in_tree: dict[tuple[str, bool], int] = {}

    @functools.cached_property
    def bounds(self) -> Sequence[Bound]:
        """A bound for the providers of each set of classes."""
        by_classes: dict[tuple[str, ...], list[Provider]] = collections.defaultdict(list)
        for tree in self.trees.values():
            for member in tree.members:
                by_classes[member.kind.profile.classes].append(member)
        return [Bound(providers) for providers in by_classes.values()]

    def room_in_tree(self, name: str, ignores_usage: bool = False) -> int:
        """Maximum room in one tree for a class, summed over its members.

        The usage is subtracted, unless `ignores_usage`.
        """
        room = self._rooms_in_tree.get((name, ignores_usage))
        if room is None:
            room = max(_room_in_tree(tree, name, ignores_usage) for tree in self.trees.values())
            self._rooms_in_tree[name, ignores_usage] = room
        return room

    def with_trees(self, changed: dict[int, Tree | None]) -> Block:
        """A block with these trees added or replaced; None removes a tree."""
        trees = {**self.trees, **changed}
        if changed.keys() - self.trees.keys() or None in changed.values():
            trees = {root_id: tree for root_id, tree in sorted(trees.items()) if tree is not None}
        return Block(trees)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=256)
def _profile_of_many(
    classes: tuple[str, ...], traits: frozenset[str], aggregates: frozenset[str]
) -> Profile:
    """A combined profile, which no provider need have.

    Neighbouring blocks mostly share it, so a search compares it once.
    """
    return Profile(classes, traits, aggregates)


def _room_in_tree(tree: Tree, name: str, ignores_usage: bool) -> int:
    total = 0
    for member in tree.members:
        position = member.kind.profile.position.get(name)
        if position is not None:
            (room,) = _rooms((member,), position, ignores_usage)
            # Usage beyond a provider's capacity takes nothing from the others.
            total += max(0, room)
    return total


def _rooms(providers: Iterable[Provider], position: int, ignores_usage: bool) -> list[int]:
    if ignores_usage:
        return [provider.kind.capacities[position].largest for provider in providers]
    return [
        provider.kind.capacities[position].room(provider.used[position]) for provider in providers
    ]
