# SPDX-License-Identifier: Apache-2.0
"""The base of all objects, and the log of generation conflicts."""

import datetime
import logging
from collections.abc import Callable, Container, Iterable
from typing import Any, ClassVar, Self, TypeVar

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.changes import NameChange, NameKind
from placement.db.mode import Mode
from placement.db.rows import Connection
from placement.db.schema import standard_names
from placement.db.statements.name_table import NameTable
from placement.db.transaction import in_transaction

Found = TypeVar('Found')

LOG = logging.getLogger('placement.objects.generations')

register = ovo.VersionedObjectRegistry.register


def log_conflict(noun: str, uuid: str, stored: int | None, given: object) -> None:
    """Log that a request expected another generation than the stored one.

    None stands for a consumer that does not exist. The level is INFO, because conflicts are normal
    and clients retry.
    """
    LOG.info(
        'Generation conflict: %s %s has generation %s, the request was for %s.',
        noun,
        uuid,
        'null' if stored is None else stored,
        'null' if given is None else given,
    )


def complete(
    context: RequestContext, read: Callable[[Connection], Found], lacks: Callable[[Found], bool]
) -> Found:
    """Return the result of `read`; if it lacks standard names, insert them and read again.

    They may be missing after the database of a running worker was recreated or restored.
    """

    def run() -> Found:
        return context.transaction(Mode.READ, lambda: read(context.connection), complete.__name__)

    found = run()
    if not context.is_in_transaction and lacks(found):
        database = context.database
        database.retry(lambda: standard_names.sync(database), 'standard_names.sync')
        found = run()
    return found


class PlacementObject(ovo.VersionedObject):
    """A versioned object of this project, created from a row."""

    _context: RequestContext

    OBJ_SERIAL_NAMESPACE = 'placement_object'
    OBJ_PROJECT_NAMESPACE = 'placement'

    @classmethod
    def from_row(cls, context: RequestContext, row: Any) -> Self:
        """An object with the fields that are columns of the row."""
        values = {name: getattr(row, name) for name in cls.fields if hasattr(row, name)}
        record = cls(context, **values)
        record.obj_reset_changes()
        return record


class Timestamped(PlacementObject):
    """An object with the times of its creation and last change, in UTC without time zone."""

    fields = {
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'updated_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    created_at: datetime.datetime | None
    updated_at: datetime.datetime | None


class Named(Timestamped):
    """A resource class or a trait.

    `KIND` is its kind in the history, and `NAMES` has its statements. `NOT_FOUND` and `IN_USE`
    are errors with its name.
    """

    KIND: ClassVar[NameKind]
    NAMES: ClassVar[NameTable]
    NOT_FOUND: ClassVar[type[errors.NotFound]]
    IN_USE: ClassVar[type[errors.Conflict]]

    fields = {'id': fields.IntegerField(), 'name': fields.StringField()}

    id: int
    name: str

    @classmethod
    def get_by_name(cls, context: RequestContext, name: str) -> Self:
        """The object with a name.

        :raises NOT_FOUND: there is none
        """
        row = complete(
            context,
            lambda connection: cls.NAMES.find(connection, name),
            lambda row: row is None and name in cls.standard(),
        )
        if row is None:
            raise cls.NOT_FOUND(name=name)
        return cls.from_row(context, row)

    @classmethod
    def standard(cls) -> Container[str]:
        """The standard names."""
        raise NotImplementedError

    @classmethod
    @in_transaction(Mode.WRITE)
    def ensure(cls, context: RequestContext, name: str) -> tuple[Self, bool]:
        """The custom object with a name, and True if it was created."""
        created = cls.NAMES.find(context.connection, name) is None
        if created:
            cls.NAMES.insert(context.connection, name)
            context.changes.name(NameChange(cls.KIND, name))
        return cls.get_by_name(context, name), created

    @in_transaction(Mode.WRITE)
    def destroy(self) -> None:
        """Delete the object.

        :raises NOT_FOUND: it was deleted meanwhile
        :raises IN_USE: providers refer to it
        :raises errors.PlacementError: see `check_deletable`
        """
        self.check_deletable()
        self.lock()
        if self.NAMES.is_in_use(self._context.connection, self.id):
            raise self.IN_USE(name=self.name)
        self.NAMES.delete(self._context.connection, self.id)
        self._context.changes.name(NameChange(self.KIND, self.name, is_deleted=True))

    def lock(self) -> None:
        """Lock the row, so that no other transaction can refer to it.

        The name is compared, because the id of a deleted row may have been assigned again.
        """
        row = self.NAMES.find(self._context.connection, self.name, lock=True)
        if row is None or row.id != self.id:
            raise self.NOT_FOUND(name=self.name)

    def check_deletable(self) -> None:
        """Raise the error for a standard name, which must not be deleted."""


class PlacementObjectList(ovo.ObjectListBase, PlacementObject):
    """Several objects of one kind.

    Long read-only lists are rows instead: creating an object for each standard trait would take
    twice as long as the whole request does without.
    """

    ELEMENT: ClassVar[type[PlacementObject]]

    objects: list[Any]

    @classmethod
    def from_rows(cls, context: RequestContext, rows: Iterable[Any], **values: Any) -> Self:
        """A list of the objects of rows; `values` are the other fields of the list."""
        return cls(context, objects=[cls.ELEMENT.from_row(context, row) for row in rows], **values)
