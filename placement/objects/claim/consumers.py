# SPDX-License-Identifier: Apache-2.0
"""The consumers of a write: locked, and written, before any provider is locked.

A transaction that waits for another one to insert the same project then has no provider locked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import collation
from placement.db.statements import consumers as statements
from placement.db.statements.owners import Owner
from placement.objects.claim.claim import Claim


@dataclasses.dataclass(frozen=True, slots=True)
class LockedConsumers:
    """The consumers of a write, which no other transaction changes until this one ends.

    `claims` spell them as they are stored. `before` are the rows of those that existed before, by
    uuid, with the generation that they had.
    """

    claims: Sequence[Claim]
    before: Mapping[str, db.Row]


LockConsumers = Callable[[RequestContext, Sequence[Claim]], LockedConsumers]


def lock_consumers(context: RequestContext, claims: Sequence[Claim]) -> LockedConsumers:
    """Lock the consumers that exist, and write those that are to have something.

    One that exists gets the owner of its claim and the next generation; one that does not is made.
    """
    connection = context.connection
    rows = statements.lock(connection, [claim.consumer_uuid for claim in claims])
    before = {row.uuid: row for row in rows}
    claims = _spelled_as_stored(connection, claims, before)
    owners = _owners(claims)
    new = {uuid: owner for uuid, owner in owners.items() if uuid not in before}
    statements.insert(connection, new)
    known = {before[uuid].id: owner for uuid, owner in owners.items() if uuid in before}
    statements.advance(connection, known)
    return LockedConsumers(claims, before)


def new_consumers(context: RequestContext, claims: Sequence[Claim]) -> LockedConsumers:
    """Make the consumers of claims without looking for them, since none is said to exist.

    Raises `db.statements.consumers.ConsumerExists` where one does; the transaction is over then.
    """
    statements.insert_new(context.connection, _owners(claims))
    return LockedConsumers(claims, {})


def _owners(claims: Sequence[Claim]) -> dict[str, Owner]:
    """The owners of the consumers that are to have something, by uuid."""
    return {claim.consumer_uuid: claim.owner for claim in claims if claim.resources}


def _spelled_as_stored(
    connection: db.Connection, claims: Sequence[Claim], before: Mapping[str, db.Row]
) -> Sequence[Claim]:
    """Claims with the uuids that are stored, where the database ignores letter case."""
    if not collation.has_insensitive_collation(connection):
        return claims
    stored = {uuid.lower(): uuid for uuid in before}
    return [
        claim.of(stored.get(claim.consumer_uuid.lower(), claim.consumer_uuid)) for claim in claims
    ]
