# SPDX-License-Identifier: Apache-2.0
"""The base of all objects, and the log of generation conflicts."""

import datetime
import logging
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements.name_table import NameTable
from placement.insight.history.recorder import note_name
from placement.insight.history.statements import SubjectKind

LOG = logging.getLogger('placement.objects.generations')

register = ovo.VersionedObjectRegistry.register


def log_conflict(noun: str, uuid: str, stored: int | None, given: object) -> None:
    """Log that a request was for another generation than the stored one.

    None says that a consumer does not exist, or must not. Clients are expected to meet conflicts,
    and to begin again: that is no warning.
    """
    LOG.info(
        'Generation conflict: %s %s has generation %s, the request was for %s.',
        noun,
        uuid,
        'null' if stored is None else stored,
        'null' if given is None else given,
    )


class PlacementObject(ovo.VersionedObject):
    """A versioned object of this project, made from what a statement returned."""

    _context: RequestContext

    OBJ_SERIAL_NAMESPACE = 'placement_object'
    OBJ_PROJECT_NAMESPACE = 'placement'

    @classmethod
    def from_row(cls, context: RequestContext, row: Any) -> Self:
        """An object with those of its fields that the row has."""
        values = {name: getattr(row, name) for name in cls.fields if hasattr(row, name)}
        record = cls(context, **values)
        record.obj_reset_changes()
        return record


class Timestamped(PlacementObject):
    """An object that knows when it was made and last changed, in UTC without time zone."""

    fields = {
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'updated_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    created_at: datetime.datetime | None
    updated_at: datetime.datetime | None


class Named(Timestamped):
    """An object that has a name of its own: a resource class or a trait.

    `KIND` is what the history calls it, and `NAMES` has its statements. `NOT_FOUND` and `IN_USE`
    are raised with its name.
    """

    KIND: ClassVar[SubjectKind]
    NAMES: ClassVar[NameTable]
    NOT_FOUND: ClassVar[type[errors.NotFound]]
    IN_USE: ClassVar[type[errors.Conflict]]

    fields = {'id': fields.IntegerField(), 'name': fields.StringField()}

    id: int
    name: str

    @classmethod
    @db.reader
    def get_by_name(cls, context: RequestContext, name: str) -> Self:
        """The object with a name; raises `NOT_FOUND`."""
        row = cls.NAMES.find(context.connection, name)
        if row is None:
            raise cls.NOT_FOUND(name=name)
        return cls.from_row(context, row)

    @classmethod
    @db.writer
    def ensure(cls, context: RequestContext, name: str) -> tuple[Self, bool]:
        """The custom object with a name, and whether it had to be made."""
        created = cls.NAMES.find(context.connection, name) is None
        if created:
            cls.NAMES.insert(context.connection, name)
            note_name(context, cls.KIND, {'name': name})
        return cls.get_by_name(context, name), created

    @db.writer
    def destroy(self) -> None:
        """Delete the object.

        Raises what `check_deletable` raises, `NOT_FOUND` where it has gone meanwhile, and
        `IN_USE`.
        """
        self.check_deletable()
        self.lock()
        if self.NAMES.is_in_use(self._context.connection, self.id):
            raise self.IN_USE(name=self.name)
        self.NAMES.delete(self._context.connection, self.id)
        note_name(self._context, self.KIND, {'name': self.name, 'deleted': True})

    def lock(self) -> None:
        """Lock the row, so that no other transaction refers to it.

        One that was deleted may have left its id to another one.
        """
        row = self.NAMES.find(self._context.connection, self.name, lock=True)
        if row is None or row.id != self.id:
            raise self.NOT_FOUND(name=self.name)

    def check_deletable(self) -> None:
        """Raise the error for a standard name, which nobody may delete."""


class PlacementObjectList(ovo.ObjectListBase, PlacementObject):
    """Several objects of one kind.

    Long lists that are only shown are rows instead, since an object costs 7 to 14 microseconds:
    the standard traits would take twice as long as their whole request does without.
    """

    ELEMENT: ClassVar[type[PlacementObject]]

    objects: list[Any]

    @classmethod
    def from_rows(cls, context: RequestContext, rows: Iterable[Any], **values: Any) -> Self:
        """The objects that rows describe, as the elements of a list with these other fields."""
        return cls(context, objects=[cls.ELEMENT.from_row(context, row) for row in rows], **values)
