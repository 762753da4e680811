# SPDX-License-Identifier: Apache-2.0
"""What alike providers share: their profile, and the capacities they have beside it.

Hosts of a cloud differ from each other in two ways. In what they are (classes, traits,
aggregates) they are mostly alike; how much they have is often a few megabytes more or less, so
that no two are quite the same. So the two are separate values: a search asks once for a profile,
whatever the amounts, and compares numbers for the rest.
"""

import weakref
from typing import Any

from placement.search.model.capacity import Capacity

SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'
# The root of a host has it whose compute service is disabled.
DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED'


class Profile:
    """What providers are, without how much they have: classes, traits and aggregates.

    Compared by identity: a pool makes equal profiles one object. `position` gives, for each
    class, the position of its capacity in a kind and of its usage in a provider.
    """

    __slots__ = ('__weakref__', 'aggregates', 'classes', 'is_sharing', 'position', 'traits')

    def __init__(
        self, classes: tuple[str, ...], traits: frozenset[str], aggregates: frozenset[str]
    ) -> None:
        self.classes = classes
        self.position = {name: position for position, name in enumerate(classes)}
        self.traits = traits
        self.aggregates = aggregates
        self.is_sharing = SHARING_TRAIT in traits and bool(aggregates)

    @property
    def sharing_aggregates(self) -> frozenset[str]:
        """The aggregates through which a provider of this profile shares what it has."""
        return self.aggregates if self.is_sharing else frozenset()


class ProviderKind:
    """All that alike providers have in common: a profile, and a capacity for each of its classes.

    Compared by identity: a pool makes equal kinds one object. `shape_alone` is for the trees that
    consist of one provider of the kind: a reference to their shape, which holds the kind.
    """

    __slots__ = ('__weakref__', 'capacities', 'profile', 'shape_alone')

    def __init__(self, profile: Profile, capacities: tuple[Capacity, ...]) -> None:
        self.profile = profile
        self.capacities = capacities
        self.shape_alone: weakref.ref[Any] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The resource classes of the inventories, in alphabetical order."""
        return self.profile.classes

    @property
    def traits(self) -> frozenset[str]:
        """The names of the traits."""
        return self.profile.traits

    @property
    def aggregates(self) -> frozenset[str]:
        """The uuids of the aggregates."""
        return self.profile.aggregates
