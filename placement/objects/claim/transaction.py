# SPDX-License-Identifier: Apache-2.0
"""One write of claims: lock, load, decide, write."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from placement import errors
from placement.context import RequestContext
from placement.db.engine import compound
from placement.db.engine import transactions as db
from placement.db.statements import allocations, inventories, names
from placement.db.statements import consumers as consumer_statements
from placement.db.statements import providers as provider_statements
from placement.feed.change_feed import ChangeFeed
from placement.objects.claim import at_once, decide, recorded
from placement.objects.claim.at_once import Released
from placement.objects.claim.claim import Claim, amounts, named_providers, released_consumers
from placement.objects.claim.consumers import (
    LockConsumers,
    LockedConsumers,
    lock_consumers,
    new_consumers,
)
from placement.objects.claim.providers import LockedProviders, lock_providers
from placement.schemas.common import MAX_INT
from placement.search.model.capacity import Capacity


@dataclasses.dataclass(frozen=True, slots=True)
class Locked:
    """What one write works on, all of it locked.

    `used` are pairs of a consumer's uuid and the id of a provider of which it had something
    before; `released` are the ids of those providers whose consumer is to have nothing.
    """

    consumers: LockedConsumers
    providers: LockedProviders
    used: Sequence[tuple[str, int]]
    released: Collection[int]

    @property
    def claims(self) -> Sequence[Claim]:
        """The claims, for the consumers as they are stored."""
        return self.consumers.claims

    @property
    def named_ids(self) -> list[int]:
        """The ids of the providers that claims name, after `check`."""
        return [self.providers.ids[uuid] for uuid in named_providers(self.claims)]


def replace(context: RequestContext, claims: Sequence[Claim]) -> None:
    """Let every consumer of the claims have what they say: all of it, or none.

    Raises, in this order, `errors.BadRequest` for more than the service takes at once,
    `errors.ConsumerGenerationConflict`, `errors.UnknownAllocationProvider`,
    `errors.ResourceClassNotFound` and `errors.UnableToAllocate`.
    """
    if all(claim.is_of_new_consumer for claim in claims):
        with contextlib.suppress(consumer_statements.ConsumerExists):
            return _replace_new(context, claims)
    return _replace(context, claims, lock_consumers)


def _replace_new(context: RequestContext, claims: Sequence[Claim]) -> None:
    """Write claims whose consumers are said not to exist; raises `ConsumerExists` where one does.

    The transaction is over then.
    """
    if at_once.is_possible(context, claims):
        with contextlib.suppress(at_once.Unusual):
            return _replace_at_once(context, claims)
    return _replace(context, claims, new_consumers)


@db.writer
def _replace_at_once(context: RequestContext, claims: Sequence[Claim]) -> None:
    connection, cache = context.connection, context.database.id_cache
    ids = provider_statements.find_ids(connection, named_providers(claims), cache)
    if not ids:
        raise at_once.Unusual
    locked = Locked(LockedConsumers(claims, {}), LockedProviders(ids, {}), (), ())
    class_ids = _class_ids(connection, locked)
    rows = _rows(locked, class_ids)
    (claim,), (provider_id,) = claims, ids.values()
    is_recorded = at_once.write_claim(context, claim, provider_id, rows)
    if not is_recorded:
        _insert_if_allowed(connection, locked, class_ids, rows)
    recorded.note(context, locked)
    if not is_recorded:
        _record(connection, locked)


@db.writer
def _replace(
    context: RequestContext, claims: Sequence[Claim], consumers_of: LockConsumers
) -> None:
    locked = lock(context, claims, consumers_of)
    check(locked)
    write(context, locked)


@db.writer
def release(context: RequestContext, consumer_uuid: str) -> None:
    """Let a consumer have nothing, and delete it; raises `errors.AllocationsNotFound`."""
    connection = context.connection
    if context.change_recorder is None and compound.is_supported(connection.dialect):
        released = at_once.release(context, consumer_uuid)
        if released is Released.EVERYTHING:
            return
        was_there = released is Released.CONSUMER
    else:
        # Which locks it as well, against writes of the same consumer.
        was_there = recorded.delete_consumer(context, consumer_uuid)
    touched = recorded.delete_allocations(context, consumer_uuid)
    if not touched:
        raise errors.AllocationsNotFound(uuid=consumer_uuid)
    if not was_there:
        # Its first claim was committed between the two.
        was_there = recorded.delete_consumer(context, consumer_uuid)
    if not was_there:
        recorded.note_missing_consumer(context, consumer_uuid)
    ChangeFeed(connection).record(touched, allocations_only=True)


def lock(
    context: RequestContext,
    claims: Sequence[Claim],
    consumers_of: LockConsumers = lock_consumers,
    also: Collection[str] = (),
) -> Locked:
    """Lock everything that a write of claims works on, and read what its consumers have.

    `also` names providers, by uuid, that the same transaction reshapes. Raises
    `errors.BadRequest` for more than the service takes at once.
    """
    decide.check_size(claims)
    consumers = consumers_of(context, claims)
    existing = [c.consumer_uuid for c in consumers.claims if c.consumer_uuid in consumers.before]
    used = allocations.list_providers_used(context.connection, existing)
    leaving = set(released_consumers(consumers.claims))
    released = {provider_id for uuid, provider_id in used if uuid in leaving}
    providers = lock_providers(context, named_providers(claims), released, also)
    return Locked(consumers, providers, used, released)


def check(locked: Locked) -> None:
    """Raise for a consumer's generation that is stale, then for an unknown provider."""
    generations = {uuid: row.generation for uuid, row in locked.consumers.before.items()}
    decide.check_generations(locked.claims, generations)
    decide.check_providers(locked.claims, locked.providers.ids)


def write(context: RequestContext, locked: Locked) -> None:
    """Write claims that are locked, after `check`.

    Raises `errors.ResourceClassNotFound` and `errors.UnableToAllocate`.
    """
    connection = context.connection
    class_ids = _class_ids(connection, locked)
    rows = _rows(locked, class_ids)
    if not _insert_optimistically(connection, locked, rows):
        _insert_if_allowed(connection, locked, class_ids, rows)
    recorded.note(context, locked)
    before = locked.consumers.before
    leaving = [uuid for uuid in released_consumers(locked.claims) if uuid in before]
    consumer_statements.delete(connection, [before[uuid].id for uuid in leaving])
    _record(connection, locked)


def _class_ids(connection: db.Connection, locked: Locked) -> Mapping[str, int]:
    """The ids of the classes that claims name; raises `errors.ResourceClassNotFound`."""
    wanted = (one.resource_class for one in amounts(locked.claims))
    return names.resource_class_ids(connection, wanted)


def _rows(locked: Locked, class_ids: Mapping[str, int]) -> list[dict[str, Any]]:
    """The rows of the allocations that claims describe."""
    return [
        {
            'resource_provider_id': locked.providers.ids[one.provider_uuid],
            'consumer_id': one.consumer_uuid,
            'resource_class_id': class_ids[one.resource_class],
            'used': one.amount,
        }
        for one in amounts(locked.claims)
    ]


def _insert_optimistically(
    connection: db.Connection, locked: Locked, rows: Sequence[Mapping[str, Any]]
) -> bool:
    """Insert what one consumer that had nothing claims, if it fits beyond float precision.

    Most new servers come to a host like this; the inventories need not be read then. Returns
    whether it was inserted.
    """
    if locked.used or len(locked.claims) > 1 or any(row['used'] > MAX_INT for row in rows):
        return False
    return allocations.insert_optimistically(connection, rows)


def _insert_if_allowed(
    connection: db.Connection,
    locked: Locked,
    class_ids: Mapping[str, int],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Read the inventories and insert what is claimed; raises `errors.UnableToAllocate`."""
    classes = sorted(class_ids, key=class_ids.__getitem__)
    decide.check_fit(locked.claims, classes, _load(connection, locked))
    allocations.delete(connection, {uuid for uuid, _provider_id in locked.used})
    allocations.insert(connection, rows)


def _load(connection: db.Connection, locked: Locked) -> decide.Stocks:
    """The inventories of the providers that claims name, and what is used of them."""
    if not locked.named_ids:
        return {}
    uuids = {provider_id: uuid for uuid, provider_id in locked.providers.ids.items()}
    consumers = {uuid for uuid, _provider_id in locked.used}
    return {
        (uuids[row.resource_provider_id], row.resource_class): decide.Stock(
            Capacity(
                row.total,
                row.reserved,
                row.min_unit,
                row.max_unit,
                row.step_size,
                row.allocation_ratio,
            ),
            row.used,
            row.released if consumers else 0,
        )
        for row in inventories.list_with_usage(connection, locked.named_ids, consumers)
    }


def _record(connection: db.Connection, locked: Locked) -> None:
    """Increment the generations that the locks did not, and tell the change feed."""
    changed = {*locked.named_ids, *locked.released}
    if changed and locked.providers.rows:
        provider_statements.increment_generations(connection, changed)
    touched = {*changed, *(provider_id for _uuid, provider_id in locked.used)}
    ChangeFeed(connection).record(touched, allocations_only=True)
