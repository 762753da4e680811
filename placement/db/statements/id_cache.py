# SPDX-License-Identifier: Apache-2.0
"""Ids by name that a process remembers.

Projects, users and consumer types are never deleted (specification: allocations). A provider may
be, so the statement that uses its remembered id also compares its uuid. Only ids that were read
as committed are remembered, never those that the open transaction inserted: it may roll back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# When a kind has more ids than this, all of them are dropped. Otherwise the memory of a worker
# would grow with every project and user it has ever seen.
MAX_IDS_PER_KIND = 50_000


class IdCache:
    """Ids by kind and name. Threads may share it: each step is one atomic dictionary operation."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, int]] = {}

    def find(self, kind: str, names: Iterable[str]) -> dict[str, int]:
        """Return the ids of those names that are remembered."""
        ids = self._ids.get(kind, {})
        found = {name: ids.get(name) for name in names}
        return {name: known for name, known in found.items() if known is not None}

    def remember(self, kind: str, ids: Mapping[str, int]) -> None:
        """Remember ids by name."""
        known = self._ids.get(kind)
        if known is None or len(known) > MAX_IDS_PER_KIND:
            known = self._ids[kind] = {}
        known.update(ids)

    def forget(self, kind: str, names: Iterable[str]) -> None:
        """Forget the ids of some names."""
        known = self._ids.get(kind, {})
        for name in names:
            known.pop(name, None)
