# SPDX-License-Identifier: Apache-2.0
"""Inventories of providers, and the rules for changing them (specification: inventories)."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.changes import Part
from placement.db.mode import Mode
from placement.db.rows import Connection, Row
from placement.db.statements import inventories as statements
from placement.db.statements import names
from placement.db.transaction import in_transaction
from placement.objects import base, resource_provider
from placement.objects.resource_provider import ResourceProvider
from placement.schemas import common
from placement.search.model.capacity import Capacity

LOG = logging.getLogger(__name__)

MEMBERS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')

_CLASS_NAME = re.compile(common.RESOURCE_CLASS_PATTERN)

# Every write replaces the record: missing members get these values, not the stored ones.
DEFAULTS = {
    'reserved': 0,
    'min_unit': 1,
    'max_unit': common.MAX_INT,
    'step_size': 1,
    'allocation_ratio': 1.0,
}


@base.register
class Inventory(base.Timestamped):
    """The inventory of one resource class of one provider."""

    # Version 1.0: Initial version
    # Version 1.1: Numbers may be negative, as repairs by hand leave them
    VERSION = '1.1'

    fields = {
        'resource_class': fields.StringField(),
        'total': fields.IntegerField(),
        'reserved': fields.IntegerField(),
        'min_unit': fields.IntegerField(),
        'max_unit': fields.IntegerField(),
        'step_size': fields.IntegerField(),
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
    @in_transaction(Mode.READ)
    def find(
        cls, context: RequestContext, provider: ResourceProvider, resource_class: str
    ) -> Self | None:
        """The inventory of one class of a provider, or None."""
        rows = statements.list_by_provider(context.connection, provider.id)
        found = (row for row in rows if row.resource_class == resource_class)
        return next((cls.from_row(context, row) for row in found), None)

    def capacity(self) -> Capacity:
        """The capacity of this inventory, for the rule that search and claims share."""
        return Capacity(**self.members())

    def members(self) -> dict[str, Any]:
        """The six members that clients read and write."""
        return {name: getattr(self, name) for name in MEMBERS}

    def columns(self, provider_id: int, class_id: int) -> dict[str, Any]:
        """This inventory as a row of its table."""
        ids = {'resource_provider_id': provider_id, 'resource_class_id': class_id}
        return self.members() | ids


@base.register
class InventoryList(base.PlacementObjectList):
    """Inventories of one provider; the methods change the stored ones.

    Each method increments the generation of the provider, even if nothing changes.
    """

    # Version 1.0: Initial version
    VERSION = '1.0'

    ELEMENT = Inventory

    fields = {'objects': fields.ListOfObjectsField('Inventory')}

    @classmethod
    def from_bodies(cls, context: RequestContext, bodies: Mapping[str, Mapping[str, Any]]) -> Self:
        """The inventories in a client's body, with defaults for missing members.

        Schemas accept any object for a name that no class can have, so that the error names the
        class. Such an inventory is never written, so its members do not matter.
        """
        inventories = []
        for name, body in bodies.items():
            sent = body if _CLASS_NAME.search(name) else {'total': 1}
            values = DEFAULTS | {member: sent[member] for member in MEMBERS if member in sent}
            inventories.append(Inventory(context, resource_class=name, **values))
        return cls(context, objects=inventories)

    @classmethod
    @in_transaction(Mode.READ)
    def list_by_provider(cls, context: RequestContext, provider: ResourceProvider) -> Self:
        """All inventories of a provider."""
        return cls.from_rows(context, statements.list_by_provider(context.connection, provider.id))

    def check_capacities(self, uuid: str, may_be_empty: bool) -> None:
        """Raise `errors.InvalidInventoryCapacity` for the first capacity that is too small.

        The minimum is 0 if it `may_be_empty`, else 1. Capacity is truncated, as it is reported.
        `uuid` is that of the provider.
        """
        refusal = (
            errors.InvalidInventoryReserved if may_be_empty else errors.InvalidInventoryCapacity
        )
        for inventory in self.objects:
            capacity = inventory.capacity().reported_capacity
            if capacity < 0 or not (capacity or may_be_empty):
                raise refusal(resource_class=inventory.resource_class, uuid=uuid)

    @in_transaction(Mode.WRITE)
    def replace(self, provider: ResourceProvider, generation: int) -> None:
        """Replace all inventories of a provider.

        :raises errors.ResourceProviderGenerationConflict: the generation is not the expected one
        :raises errors.ResourceClassNotFound: a resource class does not exist
        :raises errors.InventoryInUse: allocations use an inventory
        """
        provider.lock_at(generation, errors.ResourceProviderGenerationConflict)
        write(self._context, [(provider, self)], keep_others=False)

    @in_transaction(Mode.WRITE)
    def add(self, provider: ResourceProvider) -> None:
        """Add these to the inventories of a provider.

        :raises errors.ResourceClassNotFound: a resource class does not exist
        :raises errors.InventoryExists: the provider has one of the class
        """
        provider.lock()
        classes = self._classes()
        names.resource_class_ids(self._context.connection, classes)
        for row in statements.list_by_provider(self._context.connection, provider.id):
            if row.resource_class in classes:
                raise errors.InventoryExists(resource_class=row.resource_class, uuid=provider.uuid)
        write(self._context, [(provider, self)], keep_others=True)

    @in_transaction(Mode.WRITE)
    def update_one(self, provider: ResourceProvider, generation: int) -> None:
        """Replace the inventory of the single class in this list.

        :raises errors.ResourceProviderGenerationConflict: the generation is not the expected one
        :raises errors.ResourceClassNotFound: a resource class does not exist
        :raises errors.InventoryNotFound: the provider has none of the class
        """
        connection = self._context.connection
        provider.lock_at(generation, errors.ResourceProviderGenerationConflict)
        names.resource_class_ids(connection, self._classes())
        rows = statements.list_by_provider(connection, provider.id)
        for name in self._classes() - {row.resource_class for row in rows}:
            raise errors.InventoryNotFound(resource_class=name)
        write(self._context, [(provider, self)], keep_others=True)

    @staticmethod
    @in_transaction(Mode.WRITE)
    def remove(
        context: RequestContext, provider: ResourceProvider, resource_class: str | None = None
    ) -> None:
        """Remove the inventory of one class of a provider, or all of them without a class.

        :raises errors.ResourceClassNotFound: a resource class does not exist
        :raises errors.InventoryNotFound: the provider has none of the class
        :raises errors.InventoryInUse: allocations use an inventory
        """
        connection = context.connection
        provider.lock()
        removed = statements.list_with_usage(connection, [provider.id])
        if resource_class is not None:
            names.resource_class_ids(connection, [resource_class])
            removed = [row for row in removed if row.resource_class == resource_class]
            if not removed:
                raise errors.InventoryNotFound(
                    f'No inventory of class {resource_class} found for delete'
                )
        _remove(connection, [(provider, removed)])
        provider.increment_generation(Part.INVENTORIES)

    def _classes(self) -> set[str]:
        return {inventory.resource_class for inventory in self.objects}


WantedInventories = Sequence[tuple[ResourceProvider, InventoryList]]


def write(context: RequestContext, wanted: WantedInventories, keep_others: bool) -> None:
    """Write inventories of locked providers; remove their other inventories unless `keep_others`.

    The number of statements does not depend on the number of providers.

    :raises errors.ResourceClassNotFound: a resource class does not exist
    :raises errors.InventoryInUse: allocations use a removed inventory
    """
    connection = context.connection
    class_ids = names.resource_class_ids(
        connection, (i.resource_class for _provider, inventories in wanted for i in inventories)
    )
    present: dict[int, dict[str, Row]] = {provider.id: {} for provider, _inventories in wanted}
    for row in statements.list_with_usage(connection, present):
        present[row.resource_provider_id][row.resource_class] = row
    if not keep_others:
        others = []
        for provider, inventories in wanted:
            classes = inventories._classes()
            rows = [row for name, row in present[provider.id].items() if name not in classes]
            others.append((provider, rows))
        _remove(connection, others)
    updated: dict[int, dict[str, Any]] = {}
    inserted: list[dict[str, Any]] = []
    for provider, inventories in wanted:
        for inventory in inventories:
            stored = present[provider.id].get(inventory.resource_class)
            if stored is None:
                class_id = class_ids[inventory.resource_class]
                inserted.append(inventory.columns(provider.id, class_id))
            else:
                updated[stored.id] = inventory.members()
                _warn_of_overcommit(provider, inventory, stored.used)
    statements.update(connection, updated)
    statements.insert(connection, inserted)
    resource_provider.increment_generations(
        context, [provider for provider, _ in wanted], Part.INVENTORIES
    )


def _warn_of_overcommit(provider: ResourceProvider, inventory: Inventory, used: int) -> None:
    """Warn when an update leaves an inventory over-committed, which is allowed."""
    if not inventory.capacity().allows_total(used):
        LOG.warning(
            'Resource provider %s is now over-capacity for %s',
            provider.uuid,
            inventory.resource_class,
        )


def _remove(
    connection: Connection,
    removed: Iterable[tuple[ResourceProvider, Sequence[Row]]],
) -> None:
    """Delete inventories of providers.

    :raises errors.InventoryInUse: allocations use one; names the first
    """
    ids: list[int] = []
    for provider, rows in removed:
        in_use = [row.resource_class for row in rows if row.used]
        if in_use:
            raise errors.InventoryInUse(classes=', '.join(in_use), uuid=provider.uuid)
        ids.extend(row.id for row in rows)
    statements.delete(connection, ids)
