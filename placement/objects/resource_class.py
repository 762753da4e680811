# SPDX-License-Identifier: Apache-2.0
"""Resource classes (specification: resource_classes)."""

from collections.abc import Container
from typing import Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.changes import NameChange, NameKind, Part
from placement.db.mode import Mode
from placement.db.statements import class_ids, inventories, names
from placement.db.statements.class_ids import FIRST_CUSTOM_ID
from placement.db.statements.name_table import RESOURCE_CLASSES
from placement.db.transaction import in_transaction
from placement.objects import base


@base.register
class ResourceClass(base.Named):
    """The kind of a resource."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    KIND = NameKind.RESOURCE_CLASS
    NAMES = RESOURCE_CLASSES
    NOT_FOUND = errors.ResourceClassNotFound
    IN_USE = errors.ResourceClassInUse

    @classmethod
    def standard(cls) -> Container[str]:
        """The classes of os-resource-classes."""
        return names.STANDARD_CLASS_IDS

    @classmethod
    @in_transaction(Mode.WRITE)
    def create(cls, context: RequestContext, name: str) -> None:
        """Create a custom class.

        :raises errors.ResourceClassExists: another class has the name
        """
        _existing, created = cls.ensure(context, name)
        if not created:
            raise errors.ResourceClassExists(f'Conflicting resource class already exists: {name}')

    @in_transaction(Mode.WRITE)
    def rename(self, name: str) -> None:
        """Rename the class.

        :raises errors.StandardResourceClass: the class is a standard one
        :raises errors.ResourceClassNotFound: it was deleted meanwhile
        :raises errors.ResourceClassExists: another class has the name
        """
        connection = self._context.connection
        self._check_is_custom('update', self.name)
        self.lock()
        owner = self.NAMES.find(connection, name, lock=True)
        if owner is not None and owner.id != self.id:
            raise errors.ResourceClassExists(name=name)
        self.NAMES.rename(connection, self.id, name)
        changes = self._context.changes
        changes.provider(inventories.list_providers(connection, self.id), Part.RELATED)
        changes.name(NameChange(self.KIND, name, former_name=self.name))

    def lock(self) -> None:
        """Lock the row, also against transactions of other nodes of a cluster."""
        super().lock()
        class_ids.change(self._context.connection, [self.id])

    def check_deletable(self) -> None:
        """Raise `errors.StandardResourceClass` for a standard class."""
        self._check_is_custom('delete', f'{self.name}.')

    def _check_is_custom(self, action: str, words: str) -> None:
        if self.id < FIRST_CUSTOM_ID:
            raise errors.StandardResourceClass(action=action, name=words)


@base.register
class ResourceClassList(base.PlacementObjectList):
    """Several resource classes."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    ELEMENT = ResourceClass

    fields = {'objects': fields.ListOfObjectsField('ResourceClass')}

    @classmethod
    def list_all(cls, context: RequestContext) -> Self:
        """Every resource class."""
        rows = base.complete(
            context,
            lambda connection: connection.execute(RESOURCE_CLASSES.rows()).all(),
            lambda rows: not names.STANDARD_CLASS_IDS.keys() <= {row.name for row in rows},
        )
        return cls.from_rows(context, rows)
