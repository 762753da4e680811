# SPDX-License-Identifier: Apache-2.0
"""Claims: what consumers take from providers (specification: allocations).

A write is one transaction that holds everything it touches from the start, consumers first and
then providers in the order of their ids. So racing claims queue instead of failing, and a failure
leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import allocations as statements
from placement.db.statements import consumers, inventories, names, providers
from placement.feed import changes
from placement.objects import base, consumer
from placement.objects.resource_provider import ResourceProvider
from placement.schemas.common import MAX_INT
from placement.schemas.not_sent import NOT_SENT, NotSent
from placement.search.model.capacity import Capacity

LOG = logging.getLogger(__name__)

Resources = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """Everything that one consumer is to have, in place of what it has.

    `resources` are amounts by provider and class; without any the consumer is to have nothing.
    An unchecked generation may be any, an unchecked type stays what it is.
    """

    consumer_uuid: str
    resources: Mapping[str, Resources]
    project_id: str
    user_id: str
    generation: int | NotSent | None
    consumer_type: str | NotSent

    @classmethod
    def from_body(
        cls,
        consumer_uuid: str,
        body: Mapping[str, Any],
        incomplete_project: str,
        incomplete_user: str,
    ) -> Claim:
        """The claim that a client describes; a client that says no owner means the incomplete."""
        project_id, user_id = body['project_id'], body['user_id']
        return cls(
            consumer_uuid=consumer_uuid,
            resources={
                uuid: allocation['resources'] for uuid, allocation in body['allocations'].items()
            },
            project_id=incomplete_project if project_id is NOT_SENT else project_id,
            user_id=incomplete_user if user_id is NOT_SENT else user_id,
            generation=body['consumer_generation'],
            consumer_type=body['consumer_type'],
        )

    @property
    def is_of_new_consumer(self) -> bool:
        """Whether the client says that there is no such consumer yet, and it is to have some."""
        return self.generation is None and bool(self.resources)

    def of(self, consumer_uuid: str) -> Claim:
        """The same for a consumer of this uuid."""
        if consumer_uuid == self.consumer_uuid:
            return self
        return dataclasses.replace(self, consumer_uuid=consumer_uuid)


@base.register
class Allocation(base.Timestamped):
    """An amount of one resource class of one provider, taken by one consumer."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'provider_uuid': fields.StringField(),
        'consumer_uuid': fields.StringField(),
        'resource_class': fields.StringField(),
        'used': fields.IntegerField(),
    }

    provider_uuid: str
    consumer_uuid: str
    resource_class: str
    used: int


@base.register
class AllocationList(base.PlacementObjectList):
    """Several allocations."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {'objects': fields.ListOfObjectsField('Allocation')}

    @classmethod
    @db.reader
    def list_by_consumer(
        cls, context: RequestContext, uuid: str
    ) -> tuple[Sequence[db.Row], consumer.Consumer | None]:
        """The rows of what a consumer has, and the consumer; None when it has nothing."""
        rows = statements.list_by_consumer(context.connection, uuid)
        owner = consumer.Consumer.from_row(context, rows[0]) if rows else None
        return rows, owner

    @classmethod
    @db.reader
    def list_by_provider(
        cls, context: RequestContext, provider: ResourceProvider
    ) -> Sequence[db.Row]:
        """The rows of what is taken from a provider."""
        return statements.list_by_provider(context.connection, provider.id)

    @classmethod
    def replace(cls, context: RequestContext, claims: Sequence[Claim]) -> None:
        """Let every consumer of the claims have what they say: all of it, or none.

        Raises, in this order, `errors.ConsumerGenerationConflict`,
        `errors.UnknownAllocationProvider`, `errors.ResourceClassNotFound` and
        `errors.UnableToAllocate`.
        """
        if all(claim.is_of_new_consumer for claim in claims):
            with contextlib.suppress(consumers.ConsumerExists):
                return cls._replace(context, claims, are_new=True)
        return cls._replace(context, claims)

    @classmethod
    @db.writer
    def _replace(
        cls, context: RequestContext, claims: Sequence[Claim], are_new: bool = False
    ) -> None:
        write = ClaimWrite(context, claims, are_new=are_new)
        write.check()
        write.execute()

    @classmethod
    @db.writer
    def delete_by_consumer(cls, context: RequestContext, uuid: str) -> None:
        """Let a consumer have nothing, and forget it; raises `errors.AllocationsNotFound`."""
        connection = context.connection
        # Which holds it as well, against writes of the same consumer.
        was_there = consumers.delete_by_uuid(connection, uuid)
        touched = statements.delete_by_consumer(connection, uuid)
        if not touched:
            raise errors.AllocationsNotFound(uuid=uuid)
        if not was_there:
            # Its first claim was committed between the two.
            consumers.delete_by_uuid(connection, uuid)
        changes.record(connection, touched, allocations_only=True)


class ClaimWrite:
    """One write of claims in an open transaction; making it takes every lock.

    `also` names providers that the same transaction works on besides. Consumers that `are_new` are
    made at once, which needs no look for them: raises `consumers.ConsumerExists` where one exists.
    """

    def __init__(
        self,
        context: RequestContext,
        claims: Sequence[Claim],
        also: Collection[str] = (),
        are_new: bool = False,
    ) -> None:
        connection = context.connection
        self._context = context
        self._connection = connection
        self._consumers = (
            consumer.New(connection)
            if are_new
            else consumer.Locked(connection, [claim.consumer_uuid for claim in claims])
        )
        self._claims = [claim.of(self._consumers.uuid_of(claim.consumer_uuid)) for claim in claims]
        # Before any provider is held: whoever makes the same project then waits for nobody else.
        self._owners = self._ensure_owners()
        self._are_consumers_written = are_new
        if are_new:
            self._consumers.write(self._owners)
        known = [c.consumer_uuid for c in self._claims if c.consumer_uuid in self._consumers]
        self._used = statements.list_providers_used(connection, known)
        self._released = self._providers_released()
        self._named = list({uuid: None for claim in claims for uuid in claim.resources})
        self._lock_providers(also)

    def _providers_released(self) -> set[int]:
        """The ids of providers of which a consumer has something that is to have nothing."""
        cleared = {claim.consumer_uuid for claim in self._claims if not claim.resources}
        return {provider_id for uuid, provider_id in self._used if uuid in cleared}

    def _lock_providers(self, also: Collection[str]) -> None:
        """Hold every provider; a single one by the statement that counts up its generation."""
        known = self._context.database.id_cache
        #: Providers by uuid, for those who work on them besides.
        self.providers: Mapping[str, db.Row] = {}
        self._are_generations_incremented = (
            len(self._named) == 1 and not self._released and not also
        )
        if self._are_generations_incremented:
            self._ids = providers.increment_generation_of(self._connection, self._named[0], known)
        else:
            wanted = [*self._named, *(uuid for uuid in also if uuid not in self._named)]
            locked = providers.lock_by_uuid(self._connection, wanted, self._released, known)
            self.providers = {row.uuid: row for row in locked}
            self._ids = {row.uuid: row.id for row in locked}

    def check(self) -> None:
        """Raise for a consumer's generation that is stale, then for an unknown provider."""
        for claim in self._claims:
            if claim.generation is not NOT_SENT:
                self._consumers.check_generation(claim.consumer_uuid, claim.generation)
        for uuid in self._named:
            if uuid not in self._ids:
                raise errors.UnknownAllocationProvider(uuid=uuid)

    def execute(self) -> None:
        """Write everything, after `check`.

        Raises `errors.ResourceClassNotFound` and `errors.UnableToAllocate`.
        """
        connection = self._connection
        class_ids = names.resource_class_ids(
            connection, (name for _claim, _uuid, name, _amount in self._amounts())
        )
        rows = self._rows(class_ids)
        if not self._insert_optimistically(rows):
            self._replace_after_check(rows, class_ids)
        if not self._are_consumers_written:
            self._consumers.write(self._owners)
        self._consumers.delete([c.consumer_uuid for c in self._claims if not c.resources])
        changed = {*self._ids_of_named(), *self._released}
        if changed and not self._are_generations_incremented:
            providers.increment_generations(connection, changed)
        touched = {*changed, *(provider_id for _uuid, provider_id in self._used)}
        changes.record(connection, touched, allocations_only=True)

    def _insert_optimistically(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Insert what a consumer that held nothing claims, if that fits beyond doubt.

        So servers come to most hosts: then nobody has to read what there is. Returns whether it
        was inserted.
        """
        if self._used or len(self._claims) > 1 or any(row['used'] > MAX_INT for row in rows):
            return False
        return statements.insert_optimistically(self._connection, rows)

    def _replace_after_check(
        self, rows: Sequence[Mapping[str, Any]], class_ids: Mapping[str, int]
    ) -> None:
        """Insert what is claimed in place of what the consumers hold, amount by amount."""
        connection = self._connection
        holding = {uuid for uuid, _provider_id in self._used}
        if self._named:
            self._check_room(_Room(connection, self._ids_of_named(), holding), class_ids)
        statements.delete(connection, holding)
        statements.insert(connection, rows)

    def _amounts(self) -> Iterator[tuple[Claim, str, str, int]]:
        """Every amount with its claim, provider and class."""
        for claim in self._claims:
            for uuid, resources in claim.resources.items():
                for name, amount in resources.items():
                    yield claim, uuid, name, amount

    def _ids_of_named(self) -> list[int]:
        return [self._ids[uuid] for uuid in self._named]

    def _check_room(self, room: _Room, class_ids: Mapping[str, int]) -> None:
        """Raise for the first amount that does not fit; a provider with nothing of use first."""
        lacking = [uuid for uuid in self._named if not room.has_any(self._ids[uuid], class_ids)]
        if lacking:
            wanted = ', '.join(sorted(class_ids, key=class_ids.__getitem__))
            raise errors.InventoryMissing(classes=wanted, uuid=', '.join(lacking))
        for _claim, uuid, name, amount in self._amounts():
            room.take(self._ids[uuid], uuid, name, amount)

    def _ensure_owners(self) -> dict[str, dict[str, Any]]:
        """Project, user and type of the consumers that are to have some, as columns by uuid."""
        context = self._context
        kept = [claim for claim in self._claims if claim.resources]
        projects = consumer.Project.ensure(context, {c.project_id for c in kept})
        users = consumer.User.ensure(context, {c.user_id for c in kept})
        types = consumer.ConsumerType.ensure(
            context, {c.consumer_type for c in kept if c.consumer_type is not NOT_SENT}
        )
        owners: dict[str, dict[str, Any]] = {}
        for claim in kept:
            owners[claim.consumer_uuid] = {
                'project_id': projects[claim.project_id],
                'user_id': users[claim.user_id],
            }
            if claim.consumer_type is not NOT_SENT:
                owners[claim.consumer_uuid]['consumer_type_id'] = types[claim.consumer_type]
        return owners

    def _rows(self, class_ids: Mapping[str, int]) -> list[dict[str, Any]]:
        return [
            {
                'resource_provider_id': self._ids[uuid],
                'consumer_id': claim.consumer_uuid,
                'resource_class_id': class_ids[name],
                'used': amount,
            }
            for claim, uuid, name, amount in self._amounts()
        ]


class _Room:
    """What is left of some providers while the amounts of one write are taken, one by one.

    What the consumers of the write hold already counts as free.
    """

    def __init__(
        self, connection: db.Connection, provider_ids: Collection[int], leaving: Collection[str]
    ) -> None:
        rows = inventories.list_with_usage(connection, provider_ids, leaving)
        self._rows = {(row.resource_provider_id, row.resource_class): row for row in rows}
        self._used = {
            key: row.used - row.released if leaving else row.used
            for key, row in self._rows.items()
        }

    def has_any(self, provider_id: int, resource_classes: Collection[str]) -> bool:
        """Whether a provider has inventory of one of some classes at least."""
        return any((provider_id, name) in self._rows for name in resource_classes)

    def take(self, provider_id: int, uuid: str, resource_class: str, amount: int) -> None:
        """Take an amount of a provider; raises `errors.UnableToAllocate` where it does not fit."""
        key = (provider_id, resource_class)
        row = self._rows.get(key)
        if row is None:
            raise errors.InventoryMissing(classes=resource_class, uuid=uuid)
        capacity = Capacity(
            row.total,
            row.reserved,
            row.min_unit,
            row.max_unit,
            row.step_size,
            row.allocation_ratio,
        )
        if capacity.unit_refusal(amount) is not None:
            LOG.warning(
                'Allocation of %d %s on resource provider %s violates min_unit %d, max_unit %d '
                'or step_size %d.',
                amount,
                resource_class,
                uuid,
                row.min_unit,
                row.max_unit,
                row.step_size,
            )
            raise errors.InventoryConstraintsViolated(resource_class=resource_class, uuid=uuid)
        self._used[key] += amount
        self._check_total(capacity, uuid, row, self._used[key])

    def _check_total(self, capacity: Capacity, uuid: str, row: db.Row, used_after: int) -> None:
        if not capacity.allows_total(used_after, used_before=row.used):
            LOG.warning(
                'Over capacity for %s on resource provider %s: %d would be used of %s, now %d.',
                row.resource_class,
                uuid,
                used_after,
                capacity.capacity,
                row.used,
            )
            raise errors.CapacityExceeded(resource_class=row.resource_class, uuid=uuid)
        if not capacity.allows_total(used_after):
            LOG.warning(
                '%s on resource provider %s stays over capacity, but no more than before: '
                '%d of %s, formerly %d.',
                row.resource_class,
                uuid,
                used_after,
                capacity.capacity,
                row.used,
            )
