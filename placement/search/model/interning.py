# SPDX-License-Identifier: Apache-2.0
"""One object for equal values, for as long as some snapshot uses it."""

import weakref
from collections.abc import Hashable, Iterable
from typing import TypeVar

Value = TypeVar('Value')


class InternPool:
    """Makes equal values one object, which saves memory and lets them be compared by identity.

    Values are forgotten one by one, each with the last snapshot that holds it.
    """

    __slots__ = ('_values',)

    def __init__(self) -> None:
        self._values: weakref.WeakValueDictionary[Hashable, object] = weakref.WeakValueDictionary()

    def shared(self, make: type[Value], *parts: Hashable) -> Value:
        """The one `make(*parts)`."""
        key = (make, parts)
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = make(*parts)
        return value  # type: ignore[return-value]

    def names(self, names: Iterable[str]) -> frozenset[str]:
        """The one set of these names."""
        # A key that held the set itself would keep it for ever.
        return self.shared(frozenset, tuple(sorted(names)))
