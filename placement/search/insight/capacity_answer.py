# SPDX-License-Identifier: Apache-2.0
"""How many consumers of a request could be claimed, as data. Trees are told by the root's uuid."""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Count:
    """How many consumers of a request could be claimed one after another.

    Where this was not counted to the end, `at_least` so many and `at_most` so many; else the two
    are equal.
    """

    at_least: int
    at_most: int

    @property
    def is_exact(self) -> bool:
        """Whether it was counted to the end."""
        return self.at_least == self.at_most

    def __add__(self, other: 'Count') -> 'Count':
        return Count(self.at_least + other.at_least, self.at_most + other.at_most)


@dataclasses.dataclass(frozen=True, slots=True)
class TreeCapacity:
    """The count of one tree for itself: as if nobody claimed anything from any other tree."""

    root: str
    now: Count
    if_empty: Count


@dataclasses.dataclass(frozen=True, slots=True)
class ClassFragmentation:
    """Of one class what is free, and what of it this request can use.

    `free` is the sum of what all providers of the class have beyond what is used; `usable` is
    what so many consumers as could be claimed (`now`, at least) would take of it.
    """

    resource_class: str
    capacity: int
    used: int
    free: int
    usable: int


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A part of the rows by tree, which are in the order of the roots' uuids: up to `limit` of
    those that come after the uuid `after`, which need not be there any more."""

    limit: int
    after: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class RequestCapacity:
    """How often a request would fit.

    `trees` are the rows that were asked for, None where none were. With `shares_pools` they do not
    add up: several trees reach the same sharing provider. `has_more` tells whether rows follow
    the last one. `work` counts places looked at, `claims` the consumers that were claimed on a
    copy to find out.
    """

    now: Count
    if_empty: Count
    fragmentation: tuple[ClassFragmentation, ...]
    shares_pools: bool
    trees: tuple[TreeCapacity, ...] | None = None
    has_more: bool = False
    work: int = 0
    claims: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether both counts were counted to the end."""
        return self.now.is_exact and self.if_empty.is_exact

    @property
    def note(self) -> str | None:
        """What has to be known of the rows by tree, in one sentence."""
        if self.trees is None or not self.shares_pools:
            return None
        return 'Trees share providers, so their rows do not add up: each is for itself.'
