# SPDX-License-Identifier: Apache-2.0
"""The features of the API that the client uses, and the microversions that introduced them.

Like ``placement/microversions.py`` for the service, this is the only module of the client that has
version numbers (specification: microversions).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

from placement_report_client import errors


class Microversion(NamedTuple):
    """A microversion; later ones compare greater."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Microversion:
        """The version written as in ``1.10``.

        :raises ValueError: the text has another form
        """
        major, minor = text.split('.')
        return cls(int(major), int(minor))

    def before(self) -> Microversion:
        """The preceding version."""
        return self._replace(minor=self.minor - 1)

    def __str__(self) -> str:
        return f'{self.major}.{self.minor}'


#: The newest version that the client supports.
NEWEST = Microversion(1, 39)


class Feature(enum.Enum):
    """A feature that a call may need, with the version that introduced it."""

    TRAITS = (1, 6), 'traits'
    RESOURCE_CLASS_ENSURED = (1, 7), 'creating a resource class unless it exists'
    CANDIDATES = (1, 12), 'candidates that can be claimed as they are'
    LIMIT = (1, 16), 'a limited number of candidates'
    CANDIDATE_TRAITS = (1, 17), 'candidates with traits'
    AGGREGATES = (1, 19), 'aggregates guarded by a generation'
    MEMBER_OF = (1, 21), 'candidates in aggregates'
    FORBIDDEN_TRAITS = (1, 22), 'candidates without certain traits'
    PROVIDERS = (1, 23), 'trees of providers, and errors that say what a conflict is about'
    MEMBER_OF_SEVERAL = (1, 24), 'candidates in several aggregates at once'
    GROUPS = (1, 25), 'groups of resources with numbers'
    CONSUMER_GENERATIONS = (1, 28), 'allocations guarded by a generation'
    IN_TREE = (1, 31), 'candidates in one tree'
    FORBIDDEN_AGGREGATES = (1, 32), 'candidates outside of aggregates'
    NAMED_GROUPS = (1, 33), 'groups of resources with names'
    MAPPINGS = (1, 34), 'mappings of groups to providers'
    ROOT_TRAITS = (1, 35), 'candidates by traits of their root'
    SAME_SUBTREE = (1, 36), 'groups of one subtree'
    REPARENTING = (1, 37), 'another parent for a provider'
    CONSUMER_TYPES = (1, 38), 'types of consumers'
    ANY_TRAIT = (1, 39), 'candidates with one of several traits'

    def __init__(self, since: tuple[int, int], words: str) -> None:
        self.since = Microversion(*since)
        self.words = words


def newest_common(oldest: Microversion, newest: Microversion) -> Microversion:
    """The newest version that both the client and a service with this range support.

    :raises errors.TooOld: there is none
    """
    if oldest > NEWEST:
        raise errors.TooOld(
            f'this client supports microversions up to {NEWEST}, the service only those from '
            f'{oldest} to {newest}'
        )
    return min(newest, NEWEST)


def check(version: Microversion, needs: Iterable[Feature]) -> None:
    """Check that this version has all of these features.

    :raises errors.TooOld: it lacks some, which the message names
    """
    missing = sorted((f for f in needs if f.since > version), key=lambda f: f.since)
    if missing:
        reasons = ', '.join(f'{feature.words} ({feature.since})' for feature in missing)
        raise errors.TooOld(
            f'the call needs microversion {missing[-1].since} and the service supports {version} '
            f'at most; missing: {reasons}'
        )
