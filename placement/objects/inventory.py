# SPDX-License-Identifier: Apache-2.0
"""What providers have, and the rules for changing it (specification: inventories)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import inventories as statements
from placement.db.statements import names
from placement.insight.provider_states import Part
from placement.objects import base, resource_provider
from placement.objects.resource_provider import ResourceProvider
from placement.schemas import common
from placement.search.model.capacity import Capacity

LOG = logging.getLogger(__name__)

MEMBERS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')

_CLASS_NAME = re.compile(common.RESOURCE_CLASS_PATTERN)

# Every write replaces the record: what is left out gets these, not what it was before.
DEFAULTS = {
    'reserved': 0,
    'min_unit': 1,
    'max_unit': common.MAX_INT,
    'step_size': 1,
    'allocation_ratio': 1.0,
}


@base.register
class Inventory(base.Timestamped):
    """How much of one resource class one provider has."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'resource_class': fields.StringField(),
        'total': fields.NonNegativeIntegerField(),
        'reserved': fields.NonNegativeIntegerField(),
        'min_unit': fields.NonNegativeIntegerField(),
        'max_unit': fields.NonNegativeIntegerField(),
        'step_size': fields.NonNegativeIntegerField(),
        'allocation_ratio': fields.FloatField(),
    }

    resource_class: str
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float

    @classmethod
    def from_body(
        cls, context: RequestContext, resource_class: str, body: Mapping[str, Any]
    ) -> Self:
        """The inventory that a client describes, with defaults for what it leaves out.

        Under a name that no class can have, schemas let any object through, so that the error
        names the class. Such an inventory is never written, so its members do not matter.
        """
        if not _CLASS_NAME.search(resource_class):
            body = {'total': 1}
        values = DEFAULTS | {name: body[name] for name in MEMBERS if name in body}
        return cls(context, resource_class=resource_class, **values)

    @classmethod
    @db.reader
    def find(
        cls, context: RequestContext, provider: ResourceProvider, resource_class: str
    ) -> Self | None:
        """What a provider has of one class."""
        row = statements.find(context.connection, provider.id, resource_class)
        return None if row is None else cls.from_row(context, row)

    def capacity(self) -> Capacity:
        """The capacity of this inventory, by the one rule of search and claims."""
        return Capacity(**self.members())

    def check_capacity(self, uuid: str, may_be_empty: bool) -> None:
        """Raise `errors.InvalidInventoryCapacity` for a capacity below one, or below nothing.

        Capacity is judged as it is reported: truncated. `uuid` is the provider's.
        """
        capacity = self.capacity().reported_capacity
        if may_be_empty and capacity < 0:
            raise errors.InvalidInventoryReserved(resource_class=self.resource_class, uuid=uuid)
        if not may_be_empty and capacity <= 0:
            raise errors.InvalidInventoryCapacity(resource_class=self.resource_class, uuid=uuid)

    def members(self) -> dict[str, Any]:
        """The six members that clients read and write."""
        return {name: getattr(self, name) for name in MEMBERS}

    def columns(self, provider_id: int, class_id: int) -> dict[str, Any]:
        """This inventory as a row of its table."""
        ids = {'resource_provider_id': provider_id, 'resource_class_id': class_id}
        return self.members() | ids


@base.register
class InventoryList(base.PlacementObjectList):
    """Inventories of one provider; its methods change what the provider has.

    Each of them increments the generation of the provider, also when nothing changes.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {'objects': fields.ListOfObjectsField('Inventory')}

    @classmethod
    def from_bodies(cls, context: RequestContext, bodies: Mapping[str, Mapping[str, Any]]) -> Self:
        """The inventories that a client describes, by resource class."""
        inventories = [Inventory.from_body(context, name, body) for name, body in bodies.items()]
        return cls(context, objects=inventories)

    def check_capacities(self, uuid: str, may_be_empty: bool) -> None:
        """Raise `errors.InvalidInventoryCapacity` for the first that has none."""
        for inventory in self.objects:
            inventory.check_capacity(uuid, may_be_empty)

    @db.writer
    def replace(self, provider: ResourceProvider, generation: int) -> None:
        """Let a provider have exactly this.

        Raises `errors.ResourceProviderGenerationConflict`, `errors.ResourceClassNotFound` and
        `errors.InventoryInUse`.
        """
        provider.lock_at(generation, errors.ResourceProviderGenerationConflict)
        write(self._context, [(provider, self)], keep_others=False)

    @db.writer
    def add(self, provider: ResourceProvider) -> None:
        """Let a provider have this besides what it has.

        Raises `errors.ResourceClassNotFound` and `errors.InventoryExists`.
        """
        connection = self._context.connection
        provider.lock()
        class_ids = self._class_ids(connection)
        present = statements.list_by_provider(connection, provider.id)
        for row in present:
            if row.resource_class in class_ids:
                raise errors.InventoryExists(resource_class=row.resource_class, uuid=provider.uuid)
        statements.insert(connection, self._columns(provider, class_ids))
        provider.increment_generation(Part.INVENTORIES)

    @db.writer
    def update_one(self, provider: ResourceProvider, generation: int) -> None:
        """Change what a provider has of the one class in this list.

        Raises `errors.ResourceProviderGenerationConflict`, `errors.ResourceClassNotFound` and
        `errors.InventoryNotFound`.
        """
        connection = self._context.connection
        provider.lock_at(generation, errors.ResourceProviderGenerationConflict)
        class_ids = self._class_ids(connection)
        present = statements.list_with_usage(connection, [provider.id])
        row_ids = {row.resource_class: row.id for row in present}
        for name in class_ids:
            if name not in row_ids:
                raise errors.InventoryNotFound(resource_class=name)
        statements.update(
            connection, {row_ids[i.resource_class]: i.members() for i in self.objects}
        )
        self._warn_of_overcommit(provider, present)
        provider.increment_generation(Part.INVENTORIES)

    def _class_ids(self, connection: db.Connection) -> dict[str, int]:
        return names.resource_class_ids(connection, (i.resource_class for i in self.objects))

    def _columns(
        self, provider: ResourceProvider, class_ids: Mapping[str, int]
    ) -> list[dict[str, Any]]:
        return [i.columns(provider.id, class_ids[i.resource_class]) for i in self.objects]

    def _warn_of_overcommit(self, provider: ResourceProvider, present: Iterable[db.Row]) -> None:
        """Log what is shrunk below its use: that is allowed, and worth knowing."""
        used = {row.resource_class: row.used for row in present}
        for inventory in self.objects:
            if not inventory.capacity().allows_total(used.get(inventory.resource_class, 0)):
                LOG.warning(
                    'Resource provider %s is now over-capacity for %s',
                    provider.uuid,
                    inventory.resource_class,
                )


@db.reader
def list_by_provider(context: RequestContext, provider: ResourceProvider) -> Sequence[db.Row]:
    """The rows of everything a provider has."""
    return statements.list_by_provider(context.connection, provider.id)


Wanted = Sequence[tuple[ResourceProvider, InventoryList]]


def write(context: RequestContext, wanted: Wanted, keep_others: bool) -> None:
    """Let providers, which are locked, have these, and what they had besides if that is kept.

    The number of statements does not depend on that of the providers. Raises
    `errors.ResourceClassNotFound` and `errors.InventoryInUse`.
    """
    connection = context.connection
    class_ids = names.resource_class_ids(
        connection, (i.resource_class for _provider, inventories in wanted for i in inventories)
    )
    present: dict[int, list[db.Row]] = {provider.id: [] for provider, _inventories in wanted}
    for row in statements.list_with_usage(connection, present):
        present[row.resource_provider_id].append(row)
    if not keep_others:
        removed = [_superfluous(present[p.id], inventories) for p, inventories in wanted]
        _remove(connection, list(zip((p for p, _ in wanted), removed, strict=True)))
    _replace(connection, wanted, class_ids, present)
    for provider, inventories in wanted:
        inventories._warn_of_overcommit(provider, present[provider.id])
    resource_provider.increment_generations(
        context, [provider for provider, _ in wanted], Part.INVENTORIES
    )


def _superfluous(present: Sequence[db.Row], wanted: InventoryList) -> list[db.Row]:
    """What is there and not wanted."""
    classes = {inventory.resource_class for inventory in wanted}
    return [row for row in present if row.resource_class not in classes]


def _replace(
    connection: db.Connection,
    wanted: Wanted,
    class_ids: Mapping[str, int],
    present: Mapping[int, Sequence[db.Row]],
) -> None:
    """Update what is there and insert what is not."""
    updated: dict[int, dict[str, Any]] = {}
    inserted: list[dict[str, Any]] = []
    for provider, inventories in wanted:
        row_ids = {row.resource_class: row.id for row in present[provider.id]}
        for inventory in inventories:
            name = inventory.resource_class
            if name in row_ids:
                updated[row_ids[name]] = inventory.members()
            else:
                inserted.append(inventory.columns(provider.id, class_ids[name]))
    statements.update(connection, updated)
    statements.insert(connection, inserted)


@db.writer
def clear(context: RequestContext, provider: ResourceProvider) -> None:
    """Remove everything a provider has; raises `errors.InventoryInUse`."""
    connection = context.connection
    provider.lock()
    present = statements.list_with_usage(connection, [provider.id])
    _remove(connection, [(provider, present)])
    provider.increment_generation(Part.INVENTORIES)


@db.writer
def remove_one(context: RequestContext, provider: ResourceProvider, resource_class: str) -> None:
    """Remove what a provider has of one class.

    Raises `errors.ResourceClassNotFound`, `errors.InventoryNotFound` and
    `errors.InventoryInUse`.
    """
    connection = context.connection
    provider.lock()
    names.resource_class_ids(connection, [resource_class])
    present = statements.list_with_usage(connection, [provider.id])
    removed = [row for row in present if row.resource_class == resource_class]
    if not removed:
        raise errors.InventoryNotFound(f'No inventory of class {resource_class} found for delete')
    _remove(connection, [(provider, removed)])
    provider.increment_generation(Part.INVENTORIES)


def _remove(
    connection: db.Connection,
    removed: Iterable[tuple[ResourceProvider, Sequence[db.Row]]],
) -> None:
    """Delete inventories of providers; raises `errors.InventoryInUse` for the first in use."""
    ids: list[int] = []
    for provider, rows in removed:
        in_use = [row.resource_class for row in rows if row.used]
        if in_use:
            raise errors.InventoryInUse(classes=', '.join(in_use), uuid=provider.uuid)
        ids.extend(row.id for row in rows)
    statements.delete(connection, ids)
