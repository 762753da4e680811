# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers (specification: allocations, reshaper).

A write is one transaction. It locks the consumers, then the providers in the order of their ids,
loads the inventories, applies the rules of `objects.claim`, and writes. So racing claims queue
instead of failing, and a failure leaves nothing behind. New projects and users are inserted after
all locks are taken, so that a claim that waits for a provider does not block other claims of the
same project.
"""

import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.changes import ConsumerChange
from placement.db.mode import Mode
from placement.db.rows import Connection, Row
from placement.db.statements import allocations as statements
from placement.db.statements import collation, consumers, inventories, names, providers
from placement.db.statements.allocations import HeldAmount
from placement.db.statements.owners import OwnerNames
from placement.db.transaction import in_transaction
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
    """A user of resources, such as a server.

    `project_id` and `user_id` are the ids of Keystone. `consumer_type` is None if unknown.
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
    """The amount of one class of one provider that a consumer holds."""

    # Version 1.0: Initial version
    # Version 1.1: `used` may be negative, as repairs by hand leave it
    VERSION = '1.1'

    fields = {
        'provider_uuid': fields.StringField(),
        'provider_generation': fields.IntegerField(),
        'resource_class': fields.StringField(),
        'used': fields.IntegerField(),
    }

    provider_uuid: str
    provider_generation: int
    resource_class: str
    used: int


@base.register
class AllocationList(base.PlacementObjectList):
    """The allocations of one consumer; `consumer` is None if there are none."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    ELEMENT = Allocation

    fields = {
        'objects': fields.ListOfObjectsField('Allocation'),
        'consumer': fields.ObjectField('Consumer', nullable=True),
    }

    consumer: Consumer | None

    @classmethod
    @in_transaction(Mode.READ)
    def list_by_consumer(cls, context: RequestContext, uuid: str) -> Self:
        """The allocations of a consumer; may be empty."""
        rows = statements.list_by_consumers(context.connection, [uuid])
        consumer = Consumer.from_row(context, rows[0]) if rows else None
        return cls.from_rows(context, rows, consumer=consumer)

    @staticmethod
    @in_transaction(Mode.READ)
    def list_rows_by_provider(
        context: RequestContext, provider: ResourceProvider
    ) -> Sequence[Row]:
        """The allocations of a provider with consumers, as rows because there may be many."""
        return statements.list_by_providers(context.connection, [provider.id])

    @staticmethod
    @in_transaction(Mode.WRITE)
    def replace(context: RequestContext, claims: Sequence[Claim]) -> None:
        """Replace the allocations of the consumers of all claims atomically.

        Errors are checked in this order.

        :raises errors.BadRequest: there are more amounts than one request may write
        :raises errors.ConsumerGenerationConflict: the generation of a consumer is another one
        :raises errors.UnknownAllocationProvider: a provider does not exist
        :raises errors.ResourceClassNotFound: a resource class does not exist
        :raises errors.UnableToAllocate: an amount does not fit
        """
        locked = _lock(context, claims)
        _check(locked)
        _write(context, locked)

    @staticmethod
    @in_transaction(Mode.WRITE)
    def reshape(
        context: RequestContext,
        wanted: Mapping[str, tuple[int, InventoryList]],
        claims: Sequence[Claim],
    ) -> None:
        """Replace the inventories of providers and the allocations of consumers atomically.

        Inventories are keyed by the uuid of the provider, each with the generation that the client
        read. While allocations move, every provider has its old and its new inventories. Errors
        are checked in this order.

        :raises errors.ReshapeProviderNotFound: a provider does not exist
        :raises errors.ResourceProviderGenerationConflict: the generation of one is another one
        :raises errors.PlacementError: the errors of `replace`
        :raises errors.InventoryInUse: allocations use a removed inventory
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
    @in_transaction(Mode.WRITE)
    def release(context: RequestContext, consumer_uuid: str) -> None:
        """Delete a consumer and its allocations.

        :raises errors.AllocationsNotFound: the consumer has no allocations
        """
        connection, names_owner = context.connection, bool(context.sinks)
        # The deletion also locks the consumer against concurrent writes.
        owner = consumers.delete_by_uuid(connection, consumer_uuid, names_owner)
        touched = statements.delete_by_consumer(connection, consumer_uuid)
        if not touched:
            raise errors.AllocationsNotFound(uuid=consumer_uuid)
        if owner is None:
            # Its first claim may have been committed between the two statements. In very old data
            # a consumer has no record.
            owner = consumers.delete_by_uuid(connection, consumer_uuid, names_owner)
        context.changes.consumer(ConsumerChange(consumer_uuid, stored=owner))
        for provider_id in touched:
            context.changes.allocations(provider_id, {consumer_uuid: {}})


@dataclasses.dataclass(frozen=True, slots=True)
class _Locked:
    """The locked rows of one write, as they were before it."""

    # With the uuids of consumers spelled as stored.
    claims: Sequence[Claim]
    # Existing consumers by uuid.
    consumers: Mapping[str, Row]
    # Amounts held by the consumers, even without a record.
    held: Sequence[HeldAmount]
    # The claims without those whose consumer was inserted during the locking.
    unwritten: Sequence[Claim]
    # Providers that claims name, that released consumers used, or that are reshaped.
    provider_uuids: Set[str]
    # Rows of these providers by uuid, if they were read.
    providers: Mapping[str, Row]


# Lock


def _lock(context: RequestContext, claims: Sequence[Claim], also: Collection[str] = ()) -> _Locked:
    """Lock the consumers and providers of a write, and read the amounts held before.

    `also` names providers, by uuid, that the same transaction reshapes.

    :raises errors.BadRequest: there are more amounts than one request may write
    :raises errors.DatabaseBusy: too many threads wait for a provider
    """
    check_size(claims)
    claims, existing, held, unwritten = _lock_consumers(context.connection, claims)
    leaving = {claim.consumer_uuid for claim in claims if not claim.resources}
    released = {amount.provider_id for amount in held if amount.consumer_uuid in leaving}
    uuids, rows = _lock_providers(context, named_providers(claims), released, also)
    return _Locked(claims, existing, held, unwritten, uuids, rows)


def _lock_consumers(
    connection: Connection, claims: Sequence[Claim]
) -> tuple[Sequence[Claim], Mapping[str, Row], Sequence[HeldAmount], Sequence[Claim]]:
    """Lock existing consumers; create the consumer of a single claim if its owner exists.

    Returns `claims`, `consumers`, `held` and `unwritten` of `_Locked`.
    """
    if len(claims) == 1 and claims[0].is_of_new_consumer:
        # The most frequent case; saves the lookup of the consumer.
        (claim,) = claims
        if consumers.insert_absent(connection, claim.consumer_uuid, claim.owner):
            return claims, {}, (), ()
    rows = consumers.lock(connection, [claim.consumer_uuid for claim in claims])
    existing = {row.uuid: row for row in rows}
    if collation.has_insensitive_collation(connection):
        stored = {uuid.lower(): uuid for uuid in existing}
        spelled = (stored.get(uuid.lower(), uuid) for uuid in (c.consumer_uuid for c in claims))
        claims = [
            dataclasses.replace(claim, consumer_uuid=uuid)
            for claim, uuid in zip(claims, spelled, strict=True)
        ]
    held, unwritten = _lock_held(connection, claims, existing)
    return claims, existing, held, unwritten


def _lock_held(
    connection: Connection, claims: Sequence[Claim], existing: Mapping[str, Row]
) -> tuple[Sequence[HeldAmount], Sequence[Claim]]:
    """Read the amounts that consumers hold, which no other transaction can change from here on.

    In very old data, consumers may have allocations without a record. They get a record here,
    which other writes of the same consumer wait for; it is deleted again if the claim is empty.
    Also returns the other claims, whose consumers are written later.
    """
    owners = {claim.consumer_uuid: claim.owner for claim in claims}
    held = statements.list_held(connection, list(owners))
    unrecorded = owners.keys() & {amount.consumer_uuid for amount in held} - existing.keys()
    if not unrecorded:
        return held, claims
    consumers.insert(connection, {uuid: owners[uuid] for uuid in unrecorded})
    unwritten = [claim for claim in claims if claim.consumer_uuid not in unrecorded]
    return statements.list_held(connection, list(owners)), unwritten


def _lock_providers(
    context: RequestContext, named: Sequence[str], released: set[int], also: Collection[str]
) -> tuple[Set[str], Mapping[str, Row]]:
    """Lock providers in the order of their ids; increment the generations of claimed ones.

    Returns their uuids, and their former rows by uuid. A single provider is locked by the
    statement that increments its generation, without reading the row.
    """
    connection, turn = context.connection, context.database.lock_waits.turn
    if len(named) == 1 and not released and not also:
        (uuid,) = named
        read = functools.partial(providers.list_generations, uuids=named)
        with turn(uuid, read):
            is_there = providers.increment_generation_of(connection, uuid)
        return frozenset(named if is_there else ()), {}
    known = providers.list_ids(connection, {*named, *also})
    uuids = {provider_id: uuid for uuid, provider_id in known.items()}
    ids = {*uuids, *released}
    first = min(ids, default=0)
    read = functools.partial(providers.list_generations, ids=ids)
    # Turns are keyed by uuid, or by id where that is not read: a released provider.
    with turn(uuids.get(first, first), read):
        rows = {row.uuid: row for row in providers.lock(connection, ids)}
    changed = released | {rows[uuid].id for uuid in named if uuid in rows}
    providers.increment_generations(connection, changed)
    return rows.keys(), rows


# Decide


def _check(locked: _Locked) -> None:
    """Check the generations of consumers, then the existence of providers."""
    stored = {uuid: row.generation for uuid, row in locked.consumers.items()}
    check_generations(locked.claims, stored)
    check_providers(locked.claims, locked.provider_uuids)


def _reshaped_provider(
    context: RequestContext, locked: _Locked, uuid: str, generation: int
) -> ResourceProvider:
    """The locked provider with a uuid, after a check of its existence and generation."""
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
    """Write locked claims, after `_check`, if they fit.

    :raises errors.ResourceClassNotFound: a resource class does not exist
    :raises errors.UnableToAllocate: an amount does not fit
    """
    connection, claims = context.connection, locked.claims
    _write_consumers(connection, locked.unwritten, locked.consumers)
    wanted = list(amounts(claims))
    class_ids = names.resource_class_ids(connection, (amount.resource_class for amount in wanted))
    classes = sorted(class_ids, key=class_ids.__getitem__)
    stocks, named = _load_stocks(connection, locked)
    check_fit(claims, classes, stocks)
    holding = {amount.consumer_uuid for amount in locked.held}
    statements.delete(connection, holding)
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
    _name_changes(context, locked, named)
    leaving = {claim.consumer_uuid for claim in claims if not claim.resources}
    consumers.delete(connection, leaving & (locked.consumers.keys() | holding))


def _write_consumers(
    connection: Connection, claims: Sequence[Claim], existing: Mapping[str, Row]
) -> None:
    """Create missing consumers; increment the generations of others, and set their owners.

    While a transaction inserts a project, others that insert the same one wait. So providers are
    locked before: the transaction that others wait for never waits for a provider itself.
    """
    owners = {claim.consumer_uuid: claim.owner for claim in claims if claim.resources}
    consumers.insert(connection, {u: owner for u, owner in owners.items() if u not in existing})
    known = {existing[u].id: owner for u, owner in owners.items() if u in existing}
    consumers.advance(connection, known)


def _load_stocks(connection: Connection, locked: _Locked) -> tuple[Stocks, Mapping[str, Row]]:
    """The inventories of claimed providers with their usage.

    Also returns a row of each of these providers by uuid, unless it has no inventory.
    """
    returned: Counter[tuple[int, int]] = Counter()
    for amount in locked.held:
        returned[amount.provider_id, amount.class_id] += amount.used
    named = named_providers(locked.claims)
    rows = inventories.list_with_providers(connection, named) if named else ()
    stocks = {
        (row.uuid, row.resource_class): Stock(
            Capacity(*(getattr(row, name) for name in inventory.MEMBERS)),
            row.used,
            returned[row.id, row.resource_class_id],
        )
        for row in rows
    }
    return stocks, {row.uuid: row for row in rows}


# Name the changes


def _name_changes(context: RequestContext, locked: _Locked, named: Mapping[str, Row]) -> None:
    """Record the changes of consumers and providers."""
    holding = {amount.consumer_uuid for amount in locked.held}
    for claim in locked.claims:
        stored = locked.consumers.get(claim.consumer_uuid)
        if claim.resources or stored is not None or claim.consumer_uuid in holding:
            context.changes.consumer(_consumer_change(claim, stored))
    states = {row.id: (row.uuid, row.generation) for row in named.values()}
    states |= {row.id: (row.uuid, row.generation + 1) for row in locked.providers.values()}
    for provider_id, resources in _by_provider(locked, named).items():
        # Not locked, because its generation stays: another transaction may change it.
        uuid, generation = states.get(provider_id, (None, None))
        context.changes.allocations(provider_id, resources, uuid, generation)


def _consumer_change(claim: Claim, stored: Row | None) -> ConsumerChange:
    """The change of a claim's consumer, which an empty claim deletes."""
    uuid, resources = claim.consumer_uuid, claim.resources
    given = OwnerNames(*claim.owner) if resources else OwnerNames()
    if stored is None:
        generation = consumers.FIRST_GENERATION if resources else None
        return ConsumerChange(uuid, given, None, generation, resources)
    generation = stored.generation + 1 if resources else None
    return ConsumerChange(uuid, given, consumers.owner_ids(stored), generation, resources)


def _by_provider(
    locked: _Locked, named: Mapping[str, Row]
) -> Mapping[int, Mapping[str, Resources]]:
    """The amounts of each consumer by provider, for all providers used before or after."""
    resources_by_provider: dict[int, dict[str, Resources]] = {}
    for amount in locked.held:
        resources_by_provider.setdefault(amount.provider_id, {})[amount.consumer_uuid] = {}
    for claim in locked.claims:
        for uuid, resources in claim.resources.items():
            provider_id = named[uuid].id
            resources_by_provider.setdefault(provider_id, {})[claim.consumer_uuid] = resources
    return resources_by_provider
