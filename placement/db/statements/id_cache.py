# SPDX-License-Identifier: Apache-2.0
"""The ids of providers that a process remembers.

A remembered id may be that of another provider by now, or of none: a provider is deleted, SQLite
reuses ids, a database is restored from a backup. So whatever statement uses a remembered id also
compares the uuid. Only ids that were read as committed are remembered, never those that the open
transaction inserted: it may roll back.
"""

from collections.abc import Iterable, Mapping

# When it has more ids than this, all of them are dropped. Otherwise the memory of a worker would
# grow with every provider that it has ever seen.
MAX_IDS = 50_000


class IdCache:
    """Ids by uuid. Threads may share it: each step is one atomic dictionary operation."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def find(self, uuids: Iterable[str]) -> dict[str, int]:
        """Return the ids of those uuids that are remembered."""
        found = {uuid: self._ids.get(uuid) for uuid in uuids}
        return {uuid: known for uuid, known in found.items() if known is not None}

    def remember(self, ids: Mapping[str, int]) -> None:
        """Remember ids by uuid."""
        if len(self._ids) > MAX_IDS:
            self._ids = {}
        self._ids.update(ids)

    def forget(self, uuids: Iterable[str]) -> None:
        """Forget the ids of some uuids."""
        for uuid in uuids:
            self._ids.pop(uuid, None)

    def forget_all(self) -> None:
        """Forget all ids: the database may be another one."""
        self._ids = {}
