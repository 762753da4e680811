# SPDX-License-Identifier: Apache-2.0
"""A cache that forgets one entry for each one it learns too many."""

from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar('Key', bound=Hashable)
Value = TypeVar('Value')


class BoundedCache(dict[Key, Value]):
    """The last entries added, up to a number of them; the oldest is forgotten first.

    Which entries it holds depends on nothing but what was added, so searches stay reproducible.
    It is a dictionary because it is read for each tree, which a method of its own would slow down.
    """

    __slots__ = ('_max_entries',)

    def __init__(self, max_entries: int) -> None:
        super().__init__()
        self._max_entries = max_entries

    def add(self, key: Key, value: Value) -> Value | None:
        """Remember a value; the one that was forgotten for it, if any."""
        forgotten = None
        if len(self) >= self._max_entries and key not in self:
            forgotten = self.pop(next(iter(self)))
        self[key] = value
        return forgotten
