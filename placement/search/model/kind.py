# SPDX-License-Identifier: Apache-2.0
"""Values that alike providers share: a profile, and a kind, which adds capacities.

Most hosts of a cloud have the same classes, traits and aggregates, but many differ by a few
megabytes of memory. So the two are separate values: a search evaluates each profile once, and then
only compares numbers.
"""

import dataclasses
import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from placement.search.model.capacity import Capacity

Value = TypeVar('Value')

# Number of entries at which a pool first looks for dead ones.
FIRST_PURGE = 10_000

SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'
# Trait of the root of a host whose compute service is disabled.
DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED'
# Trait of providers that a nova-compute of 2026.2 or later maintains. nova requires it in each
# group once all nova-computes have that release.
OWNER_TRAIT = 'OWNER_NOVA'


class Profile:
    """Classes, traits and aggregates of providers, without amounts.

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


@dataclasses.dataclass(slots=True, weakref_slot=True, eq=False)
class ProviderKind:
    """A profile, and a capacity for each of its classes.

    Compared by identity: a pool makes equal kinds one object.
    """

    profile: Profile
    capacities: tuple[Capacity, ...]


class InternPool:
    """Pool that makes equal values one object, to save memory and to compare by identity.

    Values are held by weak references, so one lives as long as some snapshot holds it. Dead
    entries are purged when the pool has doubled since the last purge. A
    `weakref.WeakValueDictionary`, which removes them one by one, takes three times as long, and
    would dominate the load of a cloud of unlike hosts.
    """

    __slots__ = ('_purge_at', '_references')

    def __init__(self) -> None:
        self._references: dict[Hashable, weakref.ref[Any]] = {}
        self._purge_at = FIRST_PURGE

    def find(self, key: Hashable) -> Any:
        """The value of a key, or None if it was never added or has died."""
        reference = self._references.get(key)
        return None if reference is None else reference()

    def keep(self, key: Hashable, value: Value) -> Value:
        """Add a value with its key, and return the value."""
        if len(self._references) >= self._purge_at:
            self._purge()
        self._references[key] = weakref.ref(value)
        return value

    def shared(self, make: Callable[..., Value], *parts: Hashable) -> Value:
        """The single object equal to `make(*parts)`."""
        key = (make, parts)
        value = self.find(key)
        return self.keep(key, make(*parts)) if value is None else value

    def names(self, names: Iterable[str]) -> frozenset[str]:
        """The single set of these names."""
        # The set as its own key would never die.
        return self.shared(frozenset, tuple(sorted(names)))

    def _purge(self) -> None:
        # A key may hold the last reference to another entry's value, so repeat until none dies.
        before = None
        while before != len(self._references):
            before = len(self._references)
            alive = {key: ref for key, ref in self._references.items() if ref() is not None}
            self._references = alive
        self._purge_at = max(FIRST_PURGE, 2 * before)

    def __len__(self) -> int:
        return len(self._references)
