# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers (specification: allocations, reshaper).

A write is one transaction: lock the consumers, then the providers in the order of their ids; load
the inventories; decide, by the pure rules of `objects.claim`; write. So racing claims queue
instead of failing, and a failure leaves nothing behind.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import allocations as statements
from placement.db.statements import collation, consumers, inventories, names, providers
from placement.feed.change_feed import ChangeFeed
from placement.insight.history.recorder import ConsumerState
from placement.objects import base, inventory
from placement.objects.claim import (
    Claim,
    Resources,
    Stock,
    Stocks,
    amounts,
    check_fit,
    check_generations,
    check_providers,
    check_size,
    named_providers,
)
from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.search.model.capacity import Capacity


@base.register
class Consumer(base.PlacementObject):
    """Whoever uses resources.

    `project_id` and `user_id` are the ids of Keystone. `consumer_type` is None where none is
    recorded.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        'uuid': fields.StringField(),
        'generation': fields.IntegerField(),
        'project_id': fields.StringField(),
        'user_id': fields.StringField(),
        'consumer_type': fields.StringField(nullable=True),
    }

    id: int
    uuid: str
    generation: int
    project_id: str
    user_id: str
    consumer_type: str | None


@base.register
class Allocation(base.Timestamped):
    """The amount of one class of one provider that a consumer has."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'provider_uuid': fields.StringField(),
        'provider_generation': fields.IntegerField(),
        'resource_class': fields.StringField(),
        'used': fields.NonNegativeIntegerField(),
    }

    provider_uuid: str
    provider_generation: int
    resource_class: str
    used: int


@base.register
class AllocationList(base.PlacementObjectList):
    """The allocations of one consumer, which is None without any; writes are of whole claims."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    ELEMENT = Allocation

    fields = {
        'objects': fields.ListOfObjectsField('Allocation'),
        'consumer': fields.ObjectField('Consumer', nullable=True),
    }

    consumer: Consumer | None

    @classmethod
    @db.reader
    def list_by_consumer(cls, context: RequestContext, uuid: str) -> Self:
        """The allocations of a consumer; none are no error."""
        rows = statements.list_by_consumers(context.connection, [uuid])
        consumer = Consumer.from_row(context, rows[0]) if rows else None
        return cls.from_rows(context, rows, consumer=consumer)

    @staticmethod
    @db.reader
    def list_rows_by_provider(
        context: RequestContext, provider: ResourceProvider
    ) -> Sequence[db.Row]:
        """The rows of the allocations of a provider, which may be very many, with consumers."""
        return statements.list_by_providers(context.connection, [provider.id])

    @staticmethod
    @db.writer
    def replace(context: RequestContext, claims: Sequence[Claim]) -> None:
        """Replace the allocations of the consumers of all claims atomically.

        Raises, in this order, `errors.BadRequest` for more than the service takes at once,
        `errors.ConsumerGenerationConflict`, `errors.UnknownAllocationProvider`,
        `errors.ResourceClassNotFound` and `errors.UnableToAllocate`.
        """
        locked = _lock(context, claims)
        _check(locked)
        _write(context, locked)

    @staticmethod
    @db.writer
    def reshape(
        context: RequestContext,
        wanted: Mapping[str, tuple[int, InventoryList]],
        claims: Sequence[Claim],
    ) -> None:
        """Replace the inventories of providers and the allocations of consumers atomically.

        Inventories are keyed by the uuid of the provider, each with the generation that the client
        read. In between every provider has the old and the new, so that what is in use can move.
        Raises, in this order, `errors.ReshapeProviderNotFound`,
        `errors.ResourceProviderGenerationConflict`, what `replace` raises, and
        `errors.InventoryInUse`.
        """
        locked = _lock(context, claims, also=wanted)
        reshaped = [
            (_reshaped_provider(context, locked, uuid, generation), replacing)
            for uuid, (generation, replacing) in wanted.items()
        ]
        _check(locked)
        gaining = [(provider, replacing) for provider, replacing in reshaped if replacing.objects]
        inventory.write(context, gaining, keep_others=True)
        _write(context, locked)
        inventory.write(context, reshaped, keep_others=False)

    @staticmethod
    @db.writer
    def release(context: RequestContext, consumer_uuid: str) -> None:
        """Delete a consumer and its allocations; raises `errors.AllocationsNotFound`."""
        connection, recorder = context.connection, context.change_recorder
        # Which locks it as well, against writes of the same consumer.
        was_there = _delete_consumer(context, consumer_uuid)
        touched = statements.delete_by_consumer(connection, consumer_uuid)
        if not touched:
            raise errors.AllocationsNotFound(uuid=consumer_uuid)
        # If there was none, its first claim may have been committed between the two.
        was_there = was_there or _delete_consumer(context, consumer_uuid)
        if recorder is not None:
            if not was_there:
                # Very old data has allocations of consumers without a record.
                recorder.consumer(ConsumerState(consumer_uuid))
            for provider_id in touched:
                recorder.allocations(provider_id, None, None, {consumer_uuid: {}})
        ChangeFeed(connection).record(touched, allocations_only=True)


@dataclasses.dataclass(frozen=True, slots=True)
class _Locked:
    """The rows that one write works on, which no other transaction changes until it ends.

    `claims` spell their consumers as they are stored. `consumers` are those that existed before,
    by uuid, with the generation that they had. `used` are pairs of a consumer's uuid and the id of
    a provider of which it had something before. `provider_uuids` are those of providers that
    claims name, of which a released consumer had something, or that are reshaped; `providers` are
    their rows, by uuid, with the generation that they had, where these were read.
    """

    claims: Sequence[Claim]
    consumers: Mapping[str, db.Row]
    used: Sequence[tuple[str, int]]
    provider_uuids: Collection[str]
    providers: Mapping[str, db.Row]


# Lock


def _lock(context: RequestContext, claims: Sequence[Claim], also: Collection[str] = ()) -> _Locked:
    """Lock everything that a write works on, and read the providers that its consumers use.

    `also` names providers, by uuid, that the same transaction reshapes. Raises
    `errors.BadRequest` for more than the service takes at once.
    """
    check_size(claims)
    connection = context.connection
    claims, existing = _lock_consumers(connection, claims)
    used = statements.list_providers_used(connection, existing)
    leaving = {claim.consumer_uuid for claim in claims if not claim.resources}
    released = {provider_id for uuid, provider_id in used if uuid in leaving}
    uuids, rows = _lock_providers(connection, named_providers(claims), released, also)
    return _Locked(claims, existing, used, uuids, rows)


def _lock_consumers(
    connection: db.Connection, claims: Sequence[Claim]
) -> tuple[Sequence[Claim], Mapping[str, db.Row]]:
    """Lock the consumers that exist, and write those that are to have something.

    One that exists gets the owner of its claim and the next generation; one that does not is made.
    Written before any provider is locked: a transaction that waits for another one to insert the
    same project then keeps nobody from a provider.
    """
    if len(claims) == 1 and claims[0].is_of_new_consumer:
        # As most claims are; it saves a look for the consumer.
        (claim,) = claims
        if consumers.insert_absent(connection, claim.consumer_uuid, claim.owner):
            return claims, {}
    rows = consumers.lock(connection, [claim.consumer_uuid for claim in claims])
    existing = {row.uuid: row for row in rows}
    if collation.has_insensitive_collation(connection):
        stored = {uuid.lower(): uuid for uuid in existing}
        spelled = (stored.get(uuid.lower(), uuid) for uuid in (c.consumer_uuid for c in claims))
        claims = [
            dataclasses.replace(claim, consumer_uuid=uuid)
            for claim, uuid in zip(claims, spelled, strict=True)
        ]
    owners = {claim.consumer_uuid: claim.owner for claim in claims if claim.resources}
    new = {uuid: owner for uuid, owner in owners.items() if uuid not in existing}
    consumers.insert(connection, new)
    known = {existing[uuid].id: owner for uuid, owner in owners.items() if uuid in existing}
    consumers.advance(connection, known)
    return claims, existing


def _lock_providers(
    connection: db.Connection, named: Sequence[str], released: set[int], also: Collection[str]
) -> tuple[Collection[str], Mapping[str, db.Row]]:
    """Lock providers in the order of their ids, and increment the generations of those in claims.

    Returns their uuids, and their rows by uuid as they were. One provider alone is locked by the
    statement that increments its generation, without its row.
    """
    if len(named) == 1 and not released and not also:
        return named if providers.increment_generation_of(connection, named[0]) else (), {}
    ids = providers.list_ids(connection, list(dict.fromkeys([*named, *also]))).values()
    rows = {row.uuid: row for row in providers.lock(connection, {*ids, *released})}
    changed = released | {rows[uuid].id for uuid in named if uuid in rows}
    providers.increment_generations(connection, changed)
    return rows.keys(), rows


# Decide


def _check(locked: _Locked) -> None:
    """Raise for a consumer's generation that is stale, then for an unknown provider."""
    stored = {uuid: row.generation for uuid, row in locked.consumers.items()}
    check_generations(locked.claims, stored)
    check_providers(locked.claims, locked.provider_uuids)


def _reshaped_provider(
    context: RequestContext, locked: _Locked, uuid: str, generation: int
) -> ResourceProvider:
    """The provider with a uuid, if it is there with the generation that the client read."""
    stored = locked.providers.get(uuid)
    if stored is None:
        reason = errors.ResourceProviderNotFound(uuid=uuid)
        raise errors.ReshapeProviderNotFound(uuid=uuid, reason=reason)
    if stored.generation != generation:
        base.log_conflict('resource provider', uuid, stored.generation, generation)
        raise errors.ResourceProviderGenerationConflict(
            f'resource provider generation conflict for provider {uuid}: '
            f'actual: {stored.generation}, given: {generation}'
        )
    return ResourceProvider(context, id=stored.id, uuid=uuid, generation=generation)


# Write


def _write(context: RequestContext, locked: _Locked) -> None:
    """Write claims that are locked, after `_check`, if they fit.

    Raises `errors.ResourceClassNotFound` and `errors.UnableToAllocate`.
    """
    connection, claims = context.connection, locked.claims
    wanted = list(amounts(claims))
    class_ids = names.resource_class_ids(connection, (amount.resource_class for amount in wanted))
    classes = sorted(class_ids, key=class_ids.__getitem__)
    stocks, named = _load_stocks(connection, locked)
    check_fit(claims, classes, stocks)
    statements.delete(connection, {uuid for uuid, _provider_id in locked.used})
    statements.insert(
        connection,
        [
            {
                'resource_provider_id': named[amount.provider_uuid].id,
                'consumer_id': amount.consumer_uuid,
                'resource_class_id': class_ids[amount.resource_class],
                'used': amount.amount,
            }
            for amount in wanted
        ],
    )
    _note(context, locked, named)
    leaving = [claim.consumer_uuid for claim in claims if not claim.resources]
    existing = locked.consumers
    consumers.delete(connection, [existing[uuid].id for uuid in leaving if uuid in existing])
    touched = {row.id for row in named.values()} | {
        provider_id for _uuid, provider_id in locked.used
    }
    ChangeFeed(connection).record(touched, allocations_only=True)


def _load_stocks(
    connection: db.Connection, locked: _Locked
) -> tuple[Stocks, Mapping[str, db.Row]]:
    """The inventories of the providers that claims name, and what is used of them.

    Returns a row of each of these providers as well, by uuid, unless it has no inventory.
    """
    replaced = {uuid for uuid, _provider_id in locked.used}
    named = named_providers(locked.claims)
    rows = inventories.list_with_providers(connection, named, replaced) if named else ()
    stocks = {
        (row.uuid, row.resource_class): Stock(
            Capacity(*(getattr(row, name) for name in inventory.MEMBERS)),
            row.used,
            row.released,
        )
        for row in rows
    }
    return stocks, {row.uuid: row for row in rows}


# The history


def _delete_consumer(context: RequestContext, uuid: str) -> bool:
    """Delete a consumer, and note its owner for the history; returns whether there was one."""
    recorder = context.change_recorder
    if recorder is None:
        return consumers.delete_by_uuid(context.connection, uuid)
    row = consumers.delete_with_owner(context.connection, uuid)
    if row is not None:
        recorder.consumer(ConsumerState(row.uuid, row.project_id, row.user_id))
    return row is not None


def _note(context: RequestContext, locked: _Locked, named: Mapping[str, db.Row]) -> None:
    """Note consumers and providers for the history, before consumers that leave are deleted.

    Consumers that were there before are read, with the owners that the write gave them. What the
    write made is as the claim says; where a database ignores letter case, so are the names of its
    owners, which may be stored in another spelling.
    """
    recorder = context.change_recorder
    if recorder is None:
        return
    ids = [row.id for row in locked.consumers.values()]
    none: Sequence[db.Row] = ()
    rows = recorder.attempt(lambda: consumers.list_with_owners(context.connection, ids), none)
    known = {row.uuid: row for row in rows}
    for claim in locked.claims:
        if claim.resources or claim.consumer_uuid in known:
            recorder.consumer(_state(claim, known.get(claim.consumer_uuid)))
    states = {row.id: (row.uuid, row.generation) for row in named.values()}
    states |= {row.id: (row.uuid, row.generation + 1) for row in locked.providers.values()}
    for provider_id, resources in _by_provider(locked, named).items():
        # Without a lock, because its generation stays, another transaction may change it.
        uuid, generation = states.get(provider_id, (None, None))
        recorder.allocations(provider_id, uuid, generation, resources)


def _state(claim: Claim, known: db.Row | None) -> ConsumerState:
    """A consumer after the write of its claim; without resources it is about to be deleted."""
    if known is None:
        project_id, user_id, consumer_type = claim.owner
        generation: int | None = consumers.FIRST_GENERATION
    else:
        project_id, user_id, consumer_type = known.project_id, known.user_id, known.consumer_type
        generation = known.generation if claim.resources else None
    return ConsumerState(
        claim.consumer_uuid, project_id, user_id, generation, consumer_type, claim.resources
    )


def _by_provider(
    locked: _Locked, named: Mapping[str, db.Row]
) -> Mapping[int, Mapping[str, Resources]]:
    """The amounts that consumers have of each provider that they had or have something of."""
    resources_by_provider: dict[int, dict[str, Resources]] = {}
    for consumer_uuid, provider_id in locked.used:
        resources_by_provider.setdefault(provider_id, {})[consumer_uuid] = {}
    for claim in locked.claims:
        for uuid, resources in claim.resources.items():
            provider_id = named[uuid].id
            resources_by_provider.setdefault(provider_id, {})[claim.consumer_uuid] = resources
    return resources_by_provider
