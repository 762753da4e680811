# SPDX-License-Identifier: Apache-2.0
"""Resource classes (specification: resource_classes)."""

from typing import Self

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import resource_classes as statements
from placement.feed.change_feed import ChangeFeed
from placement.insight.history.recorder import note_name
from placement.insight.history.statements import SubjectKind
from placement.objects import base


@base.register
class ResourceClass(base.Named):
    """The kind of a resource."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    @classmethod
    @db.reader
    def get_by_name(cls, context: RequestContext, name: str) -> Self:
        """The class with a name; raises `errors.ResourceClassNotFound`."""
        row = statements.find(context.connection, name)
        if row is None:
            raise errors.ResourceClassNotFound(name=name)
        return cls.from_row(context, row)

    @classmethod
    @db.writer
    def ensure(cls, context: RequestContext, name: str) -> bool:
        """Create the class unless it exists; returns whether it was created."""
        created = statements.find(context.connection, name) is None
        if created:
            statements.insert(context.connection, name)
            note_name(context, SubjectKind.RESOURCE_CLASS, {'name': name})
        return created

    @classmethod
    @db.writer
    def create(cls, context: RequestContext, name: str) -> None:
        """Make a custom class; raises `errors.ResourceClassExists`."""
        if not cls.ensure(context, name):
            raise errors.ResourceClassExists(f'Conflicting resource class already exists: {name}')

    @db.writer
    def rename(self, name: str) -> None:
        """Give the class another name.

        Raises `errors.StandardResourceClass`, `errors.ResourceClassNotFound` where it has gone
        meanwhile, and `errors.ResourceClassExists`.
        """
        connection = self._context.connection
        self._check_is_custom('update', self.name)
        self._lock()
        owner = statements.find(connection, name, lock=True)
        if owner is not None and owner.id != self.id:
            raise errors.ResourceClassExists(name=name)
        statements.rename(connection, self.id, name)
        ChangeFeed(connection).record(statements.list_providers(connection, self.id))
        state = {'name': name, 'former_name': self.name}
        note_name(self._context, SubjectKind.RESOURCE_CLASS, state)

    @db.writer
    def destroy(self) -> None:
        """Delete the class.

        Raises `errors.StandardResourceClass`, `errors.ResourceClassNotFound` where it has gone
        meanwhile, and `errors.ResourceClassInUse`.
        """
        connection = self._context.connection
        self._check_is_custom('delete', f'{self.name}.')
        self._lock()
        if statements.is_in_use(connection, self.id):
            raise errors.ResourceClassInUse(name=self.name)
        statements.delete(connection, self.id)
        note_name(self._context, SubjectKind.RESOURCE_CLASS, {'name': self.name, 'deleted': True})

    def _lock(self) -> None:
        """Lock the class, so that no other transaction inserts inventory of it.

        Another class may have got the id of one that was deleted.
        """
        row = statements.find(self._context.connection, self.name, lock=True)
        if row is None or row.id != self.id:
            raise errors.ResourceClassNotFound(name=self.name)

    def _check_is_custom(self, action: str, words: str) -> None:
        if self.id < statements.FIRST_CUSTOM_ID:
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
        return cls.from_rows(context, statements.list_all(context.connection))
