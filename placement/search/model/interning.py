# SPDX-License-Identifier: Apache-2.0
"""One object for equal values, for as long as some snapshot uses it."""

import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

Value = TypeVar('Value')


# How many entries a pool may have before it looks for dead ones the first time.
FIRST_PURGE = 10_000


class InternPool:
    """Makes equal values one object, which saves memory and lets them be compared by identity.

    A value is kept for as long as some snapshot holds it.  Entries of values that are gone are
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
