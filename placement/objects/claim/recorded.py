# SPDX-License-Identifier: Apache-2.0
"""What the history tells of a write of claims: every consumer and every provider it touches."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from placement.context import RequestContext
from placement.db.engine.transactions import Row
from placement.db.statements import allocations
from placement.db.statements import consumers as statements
from placement.insight.change_recorder import ConsumerState
from placement.objects.claim.claim import Claim, Resources

if TYPE_CHECKING:
    from placement.objects.claim.transaction import Locked


def note(context: RequestContext, locked: Locked) -> None:
    """Let the history, if there is one, tell of claims, before consumers that leave are deleted.

    Consumers that were there before are read, with the owners that the write gave them. What the
    write made is as the claim says; where a database ignores letter case, so are the names of its
    owners, which may be stored in another spelling.
    """
    recorder = context.change_recorder
    if recorder is None:
        return
    before = locked.consumers.before
    rows: Sequence[Row] = ()
    if before:
        ids = [row.id for row in before.values()]
        rows = recorder.attempt(lambda: statements.list_with_owners(context.connection, ids), rows)
    known = {row.uuid: row for row in rows}
    for claim in locked.claims:
        if claim.resources or claim.consumer_uuid in known:
            recorder.consumer(_state(claim, known.get(claim.consumer_uuid)))
    uuids = {provider_id: uuid for uuid, provider_id in locked.providers.ids.items()}
    for provider_id, resources in _by_provider(locked).items():
        uuid = uuids.get(provider_id)
        # Without a lock, because its generation stays, another transaction may change it.
        generation = None if uuid is None else locked.providers.next_generation(uuid)
        recorder.allocations(provider_id, uuid, generation, resources)


def delete_consumer(context: RequestContext, uuid: str) -> bool:
    """Delete the consumer with a uuid, which locks it as well; returns whether there was one.

    The history, if there is one, is told to whom it belonged.
    """
    recorder = context.change_recorder
    if recorder is None:
        return statements.delete_by_uuid(context.connection, uuid)
    row = statements.delete_with_owner(context.connection, uuid)
    if row is not None:
        recorder.consumer(ConsumerState(row.uuid, row.project_id, row.user_id))
    return row is not None


def delete_allocations(context: RequestContext, consumer_uuid: str) -> Collection[int]:
    """Delete all that a consumer has; returns the ids of the providers that it had it of.

    The history, if there is one, is told that those providers have lost it.
    """
    recorder = context.change_recorder
    if recorder is None:
        return allocations.delete_by_consumer(context.connection, consumer_uuid)
    uuids = allocations.delete_by_consumer_with_uuids(context.connection, consumer_uuid)
    for provider_id, uuid in uuids.items():
        recorder.allocations(provider_id, uuid, None, {consumer_uuid: {}})
    return uuids.keys()


def note_missing_consumer(context: RequestContext, uuid: str) -> None:
    """Let the history tell of a consumer without a record, as very old data has them."""
    if context.change_recorder is not None:
        context.change_recorder.consumer(ConsumerState(uuid))


def _state(claim: Claim, known: Row | None) -> ConsumerState:
    """A consumer after the write of its claim; without resources it is about to be deleted."""
    if known is None:
        project_id, user_id, consumer_type = claim.owner
        generation: int | None = statements.FIRST_GENERATION
    else:
        project_id, user_id, consumer_type = known.project_id, known.user_id, known.consumer_type
        generation = known.generation if claim.resources else None
    return ConsumerState(
        claim.consumer_uuid, project_id, user_id, generation, consumer_type, claim.resources
    )


def _by_provider(locked: Locked) -> Mapping[int, Mapping[str, Resources]]:
    """What the consumers of a write have of each provider that they had or have something of."""
    found: dict[int, dict[str, Resources]] = {}
    for consumer_uuid, provider_id in locked.used:
        found.setdefault(provider_id, {})[consumer_uuid] = {}
    for claim in locked.claims:
        for uuid, resources in claim.resources.items():
            provider_id = locked.providers.ids[uuid]
            found.setdefault(provider_id, {})[claim.consumer_uuid] = resources
    return found
