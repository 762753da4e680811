# SPDX-License-Identifier: Apache-2.0
"""Resource classes (specification: resource_classes)."""

from typing import Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import inventories
from placement.db.statements.name_table import FIRST_CUSTOM_ID, RESOURCE_CLASSES
from placement.feed.change_feed import ChangeFeed
from placement.insight.history.recorder import note_name
from placement.insight.history.statements import SubjectKind
from placement.objects import base


@base.register
class ResourceClass(base.Named):
    """The kind of a resource."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    KIND = SubjectKind.RESOURCE_CLASS
    NAMES = RESOURCE_CLASSES
    NOT_FOUND = errors.ResourceClassNotFound
    IN_USE = errors.ResourceClassInUse

    @classmethod
    @db.writer
    def create(cls, context: RequestContext, name: str) -> None:
        """Make a custom class; raises `errors.ResourceClassExists`."""
        _existing, created = cls.ensure(context, name)
        if not created:
            raise errors.ResourceClassExists(f'Conflicting resource class already exists: {name}')

    @db.writer
    def rename(self, name: str) -> None:
        """Give the class another name.

        Raises `errors.StandardResourceClass`, `errors.ResourceClassNotFound` where it has gone
        meanwhile, and `errors.ResourceClassExists`.
        """
        connection = self._context.connection
        self._check_is_custom('update', self.name)
        self.lock()
        owner = self.NAMES.find(connection, name, lock=True)
        if owner is not None and owner.id != self.id:
            raise errors.ResourceClassExists(name=name)
        self.NAMES.rename(connection, self.id, name)
        ChangeFeed(connection).record(inventories.list_providers(connection, self.id))
        state = {'name': name, 'former_name': self.name}
        note_name(self._context, self.KIND, state)

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
    @db.reader
    def list_all(cls, context: RequestContext) -> Self:
        """Every resource class."""
        return cls.from_rows(context, context.connection.execute(RESOURCE_CLASSES.rows()))
