# SPDX-License-Identifier: Apache-2.0
"""Who uses resources, and to whom they belong (specification: allocations).

There is no way to make any of these on their own: they come with the allocations of a consumer,
in the same transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import collation, names
from placement.db.statements import consumers as statements
from placement.objects import base


class Label(base.PlacementObject):
    """What consumers are told apart by; it stays when nobody has it any more."""

    _kind: ClassVar[names.NameColumn]

    @classmethod
    def ensure(cls, context: RequestContext, labels: Collection[str]) -> dict[str, int]:
        """Internal ids of labels; those that nobody mentioned before are made."""
        return names.ensure(context.connection, cls._kind, labels, context.database.id_cache)


@base.register
class Project(Label):
    """A project, known only by the id that Keystone gave it."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {'external_id': fields.StringField()}

    _kind = names.PROJECT


@base.register
class User(Label):
    """A user, known only by the id that Keystone gave it."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {'external_id': fields.StringField()}

    _kind = names.USER


@base.register
class ConsumerType(Label):
    """A label of consumers, such as INSTANCE."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {'name': fields.StringField()}

    _kind = names.CONSUMER_TYPE


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


# The generation that the write which makes a consumer leaves it with.
FIRST_GENERATION = 1


class Locked:
    """The consumers of one write that exist already, held until its transaction ends."""

    _insert = staticmethod(statements.insert)

    def __init__(self, connection: db.Connection, uuids: Collection[str]) -> None:
        self._rows = {row.uuid: row for row in statements.lock(connection, uuids)}
        self._connection = connection

    def uuid_of(self, uuid: str) -> str:
        """A uuid as it is stored; where the database ignores case another may have been given."""
        return collation.stored_uuids(self._connection, [uuid], self._rows)[uuid]

    def __contains__(self, uuid: str) -> bool:
        return uuid in self._rows

    def check_generation(self, uuid: str, given: int | None) -> None:
        """Raise `errors.ConsumerGenerationConflict` unless `given` is the one recorded.

        None says that there is no such consumer yet.
        """
        row = self._rows.get(uuid)
        if row is None and given is not None:
            raise errors.ConsumerGenerationConflict(expected='null', given=given)
        if row is not None and row.generation != given:
            raise errors.ConsumerGenerationConflict(expected=row.generation, given=given)

    def write(self, owners: Mapping[str, Mapping[str, Any]]) -> None:
        """Make or change consumers, given as columns by uuid, and count up their generation.

        Those that are written alike are written by one statement.
        """
        self._insert(
            self._connection,
            [
                {'consumer_type_id': None, 'uuid': uuid, 'generation': FIRST_GENERATION, **columns}
                for uuid, columns in owners.items()
                if uuid not in self._rows
            ],
        )
        alike: dict[tuple[Any, ...], list[int]] = {}
        for uuid, columns in owners.items():
            if uuid in self._rows:
                alike.setdefault(tuple(columns.items()), []).append(self._rows[uuid].id)
        for values, ids in alike.items():
            statements.advance(self._connection, ids, dict(values))

    def delete(self, uuids: Collection[str]) -> None:
        """Delete those of the consumers that exist."""
        statements.delete(
            self._connection, [self._rows[uuid].id for uuid in uuids if uuid in self._rows]
        )


class New(Locked):
    """The consumers of one write of which none exists yet, so that nobody looks for them.

    `write` raises `ConsumerExists` of `db.consumers` when one does; the rows it inserts are held.
    """

    _insert = staticmethod(statements.insert_new)

    def __init__(self, connection: db.Connection) -> None:
        super().__init__(connection, [])
