# SPDX-License-Identifier: Apache-2.0
"""Values that alike providers share: their profile, and the capacities they have beside it.

Hosts of a cloud differ from each other in two ways. In what they are (classes, traits,
aggregates) they are mostly alike; how much they have is often a few megabytes more or less, so
that no two are quite the same. So the two are separate values: a search asks once for a profile,
whatever the amounts, and compares numbers for the rest.
"""

import dataclasses
import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

from placement.search.model.capacity import Capacity

Value = TypeVar('Value')

# How many entries a pool may have before it looks for dead ones the first time.
FIRST_PURGE = 10_000

SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'
# The root of a host has it whose compute service is disabled.
DISABLED_TRAIT = 'COMPUTE_STATUS_DISABLED'


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
    """All that alike providers have in common: a profile, and a capacity for each of its classes.

    Compared by identity: a pool makes equal kinds one object.
    """

    profile: Profile
    capacities: tuple[Capacity, ...]


class InternPool:
    """Makes equal values one object, which saves memory and lets them be compared by identity.

    A value is kept for as long as some snapshot holds it. Entries of values that are gone are
    removed when the pool has grown to twice what was alive the last time: a plain reference for
    each value takes a third of the time of `weakref.WeakValueDictionary`, which is most of what
    loading a cloud of unlike hosts takes.
    """

    __slots__ = ('_purge_at', '_references')

    def __init__(self) -> None:
        self._references: dict[Hashable, weakref.ref[Any]] = {}
        self._purge_at = FIRST_PURGE

    def find(self, key: Hashable) -> Any:
        """The value that was kept for a key, None where there is none any more."""
        reference = self._references.get(key)
        return None if reference is None else reference()

    def keep(self, key: Hashable, value: Value) -> Value:
        """Keep a value for a key; the value."""
        if len(self._references) >= self._purge_at:
            self._purge()
        self._references[key] = weakref.ref(value)
        return value

    def shared(self, make: Callable[..., Value], *parts: Hashable) -> Value:
        """The one `make(*parts)`."""
        key = (make, parts)
        value = self.find(key)
        return self.keep(key, make(*parts)) if value is None else value

    def names(self, names: Iterable[str]) -> frozenset[str]:
        """The one set of these names."""
        # A key that held the set itself would keep it for ever.
        return self.shared(frozenset, tuple(sorted(names)))

    def _purge(self) -> None:
        # A key may hold the last reference to a value of another entry, so look more than once.
        before = None
        while before != len(self._references):
            before = len(self._references)
            alive = {key: ref for key, ref in self._references.items() if ref() is not None}
            self._references = alive
        self._purge_at = max(FIRST_PURGE, 2 * before)

    def __len__(self) -> int:
        return len(self._references)
