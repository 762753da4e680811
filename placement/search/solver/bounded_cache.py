# SPDX-License-Identifier: Apache-2.0
"""A cache that forgets one entry for each one it learns too many."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar('Key', bound=Hashable)
Value = TypeVar('Value')


class BoundedCache(Generic[Key, Value]):
    """The last entries added, up to a number of them; the oldest is forgotten first.

    Which entries it holds depends on nothing but what was added, so searches stay reproducible.
    """

    __slots__ = ('_entries', '_max_entries')

    def __init__(self, max_entries: int) -> None:
        self._entries: dict[Key, Value] = {}
        self._max_entries = max_entries

    def get(self, key: Key) -> Value | None:
        """The value added for a key, None where it is not known, or not any more."""
        return self._entries.get(key)

    def add(self, key: Key, value: Value) -> Value | None:
        """Remember a value; the one that was forgotten for it, if any."""
        forgotten = None
        if len(self._entries) >= self._max_entries and key not in self._entries:
            forgotten = self._entries.pop(next(iter(self._entries)))
        self._entries[key] = value
        return forgotten

    def values(self) -> Iterable[Value]:
        """Every value that is remembered, the oldest first."""
        return self._entries.values()

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)
