# SPDX-License-Identifier: Apache-2.0
"""Ids that were found and cannot change, remembered by a process.

Projects, users and consumer types are never removed (specification: allocations), and a provider
keeps its id for as long as it lives, which who uses it has to check. Only what was committed
before is remembered, never what a transaction has just inserted, for that may yet be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# When more are known of one kind, all of them are forgotten: a worker would otherwise go on
# growing with every project and user it has ever seen.
MAX_IDS_PER_KIND = 50_000


class IdCache:
    """Ids by kind and name. Threads share it: each step is one operation of a dictionary."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, int]] = {}

    def find(self, kind: str, names: Iterable[str]) -> dict[str, int]:
        """The ids of those names that are known."""
        ids = self._ids.get(kind, {})
        found = {name: ids.get(name) for name in names}
        return {name: known for name, known in found.items() if known is not None}

    def remember(self, kind: str, ids: Mapping[str, int]) -> None:
        """Know these ids from now on."""
        known = self._ids.get(kind)
        if known is None or len(known) > MAX_IDS_PER_KIND:
            known = self._ids[kind] = {}
        known.update(ids)

    def forget(self, kind: str, names: Iterable[str]) -> None:
        """Know these names no longer."""
        known = self._ids.get(kind, {})
        for name in names:
            known.pop(name, None)
