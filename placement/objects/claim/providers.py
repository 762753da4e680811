# SPDX-License-Identifier: Apache-2.0
"""The providers of a write, locked in the order of their ids.

They are those that claims name, those of which a consumer has something that is to have nothing,
and those that the same transaction changes besides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import providers as statements
from placement.db.statements.change_history import GenerationOf


@dataclasses.dataclass(frozen=True, slots=True)
class LockedProviders:
    """Providers that are locked until the transaction ends.

    `ids` are by uuid; what does not exist is missing. `rows` are those of providers whose
    generation is still to be incremented, by uuid.
    """

    ids: Mapping[str, int]
    rows: Mapping[str, db.Row]

    def next_generation(self, uuid: str) -> int | GenerationOf:
        """The generation of a provider after the write, where that increments it.

        That of a single provider was incremented without a look at it.
        """
        if uuid in self.rows:
            return self.rows[uuid].generation + 1
        return GenerationOf(self.ids[uuid])


def lock_providers(
    context: RequestContext,
    named: Collection[str],
    released: Collection[int],
    also: Collection[str],
) -> LockedProviders:
    """Lock providers: those that claims name, by uuid, and those released, by id, and others.

    A single one is locked by the statement that increments its generation.
    """
    connection, cache = context.connection, context.database.id_cache
    if len(named) == 1 and not released and not also:
        (uuid,) = named
        return LockedProviders(statements.increment_generation_of(connection, uuid, cache), {})
    uuids = list(dict.fromkeys([*named, *also]))
    rows = {row.uuid: row for row in statements.lock_by_uuid(connection, uuids, released, cache)}
    return LockedProviders({uuid: row.id for uuid, row in rows.items()}, rows)
