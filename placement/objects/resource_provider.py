# SPDX-License-Identifier: Apache-2.0
"""Resource providers and their trees (specification: resource_providers)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.changes import Part
from placement.db.mode import Mode
from placement.db.rows import Connection, Row
from placement.db.statements import provider_filters, providers
from placement.db.statements.provider_filters import ProviderFilters
from placement.db.transaction import in_transaction
from placement.objects import base
from placement.schemas.common import NOT_SENT, NotSent

ListedValue = TypeVar('ListedValue')


@base.register
class ResourceProvider(base.Timestamped):
    """A host, device, pool or service with countable resources."""

    # Version 1.0: Initial version
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        'uuid': fields.StringField(),
        'name': fields.StringField(),
        'generation': fields.IntegerField(),
        'root_provider_uuid': fields.StringField(nullable=True),
        'parent_provider_uuid': fields.StringField(nullable=True),
    }

    id: int
    uuid: str
    name: str
    generation: int
    root_provider_uuid: str | None
    parent_provider_uuid: str | None

    @classmethod
    @in_transaction(Mode.READ)
    def get_by_uuid(cls, context: RequestContext, uuid: str) -> Self:
        """The provider with a uuid, in the stored spelling.

        :raises errors.ResourceProviderNotFound: the provider does not exist
        """
        row = providers.find(context.connection, uuid)
        if row is None:
            raise errors.ResourceProviderNotFound(uuid=uuid)
        return cls.from_row(context, row)

    @classmethod
    @in_transaction(Mode.READ_ONE_MOMENT)
    def get_with(
        cls,
        context: RequestContext,
        uuid: str,
        list_by_provider: Callable[[RequestContext, ResourceProvider], ListedValue],
        missing: str = 'No resource provider with uuid {} found: ',
    ) -> tuple[Self, ListedValue]:
        """The provider with a uuid, and the result of `list_by_provider`, at one moment.

        `missing` begins the message of the error, with the uuid in place of the braces.

        :raises errors.NotFound: the provider does not exist
        """
        prefix = missing.format(uuid)
        with errors.reported_as(errors.NotFound, errors.ResourceProviderNotFound, prefix=prefix):
            provider = cls.get_by_uuid(context, uuid)
        return provider, list_by_provider(context, provider)

    @classmethod
    @in_transaction(Mode.WRITE)
    def create(
        cls, context: RequestContext, uuid: str, name: str, parent_uuid: str | None = None
    ) -> Self:
        """Create a provider, below a parent if one is given.

        :raises errors.ResourceProviderActionFailed: the name or the parent is invalid
        :raises errors.DuplicateResourceProvider: another provider has the name or uuid
        """
        connection = context.connection
        if not name:
            raise _create_failed(reason='name is required')
        parent = None
        if parent_uuid is not None:
            if parent_uuid == uuid:
                raise _create_failed(
                    reason='parent provider UUID cannot be same as UUID. '
                    'Please set parent provider UUID to None if there is no parent.'
                )
            parent = _lock_by_uuid(context, parent_uuid)
            providers.touch(connection, parent)
        _check_unique(connection, uuid, name)
        provider_id = providers.insert(
            connection,
            uuid,
            name,
            parent_id=parent.id if parent else None,
            root_id=parent.root_provider_id if parent else None,
        )
        context.changes.provider([provider_id], Part.PLACE)
        return cls.get_by_uuid(context, uuid)

    @in_transaction(Mode.WRITE)
    def update(
        self, name: str, parent_uuid: str | NotSent | None, may_reparent: bool
    ) -> ResourceProvider:
        """Change the name and, if sent, the parent; return the provider.

        :raises errors.ResourceProviderActionFailed: the parent is invalid
        :raises errors.DuplicateResourceProvider: another provider has the name or uuid
        :raises errors.ResourceProviderNotFound: the provider does not exist
        """
        connection = self._context.connection
        current = providers.mended(connection, self.lock())
        parent_id = current.parent_provider_id
        if parent_uuid is not NOT_SENT:
            parent_id = self._move(connection, current, parent_uuid, may_reparent)
        # After the parent: an invalid parent is reported before a name that is taken.
        self._check_name_is_free(connection, name)
        providers.update(connection, self.id, name=name, parent_provider_id=parent_id)
        self._context.changes.provider([self.id], Part.PLACE)
        return self.get_by_uuid(self._context, self.uuid)

    def lock(self) -> Row:
        """The row of this provider, locked until the transaction ends.

        :raises errors.ResourceProviderNotFound: it was deleted or got another uuid meanwhile
        :raises errors.DatabaseBusy: too many threads wait for its row
        """
        with _turn(self._context, self.uuid):
            rows = providers.lock(self._context.connection, [self.id])
        if not rows or rows[0].uuid != self.uuid:
            raise errors.ResourceProviderNotFound(uuid=self.uuid)
        self.generation = rows[0].generation
        return rows[0]

    def lock_at(self, generation: int, conflict: type[errors.Conflict]) -> None:
        """Lock this provider, and check its generation.

        :raises errors.Conflict: its generation is another one; the class is `conflict`
        :raises errors.ResourceProviderNotFound: see `lock`
        :raises errors.DatabaseBusy: see `lock`
        """
        self.lock()
        self.check_generation(generation, conflict)

    def check_generation(self, generation: object, conflict: type[errors.Conflict]) -> None:
        """Check the generation of this provider; log a difference.

        :raises errors.Conflict: its generation is another one; the class is `conflict`
        """
        if self.generation != generation:
            base.log_conflict('resource provider', self.uuid, self.generation, generation)
            raise conflict()

    def increment_generation(self, changed: Part) -> None:
        """Increment the generation of this locked provider, and record its `changed` part."""
        increment_generations(self._context, [self], changed)

    @in_transaction(Mode.WRITE)
    def destroy(self) -> None:
        """Delete the provider with its inventories, memberships and traits.

        :raises errors.ResourceProviderHasChildren: it has child providers
        :raises errors.ResourceProviderInUse: allocations use it
        :raises errors.ResourceProviderNotFound: the provider does not exist
        """
        connection = self._context.connection
        # A claim makes InnoDB lock the index entry of the uuid, then the row. It would deadlock
        # with a deletion that has locked only the row before.
        with _turn(self._context, self.uuid):
            providers.increment_generation_of(connection, self.uuid)
            row = self.lock()
        if providers.has_children(connection, self.id):
            raise errors.ResourceProviderHasChildren(uuid=self.uuid)
        if providers.has_allocations(connection, self.id):
            raise errors.ResourceProviderInUse(uuid=self.uuid)
        providers.delete(connection, self.id)
        changes = self._context.changes
        changes.deleted(self.id, self.uuid)
        changes.provider({row.root_provider_id} - {self.id, None}, Part.RELATED)

    def _check_name_is_free(self, connection: Connection, name: str) -> None:
        conflicting = providers.list_conflicting(connection, name, self.uuid)
        if any(row.uuid != self.uuid for row in conflicting):
            raise errors.DuplicateResourceProvider(
                f'Conflicting resource provider {name} already exists.'
            )

    def _move(
        self,
        connection: Connection,
        current: Row,
        parent_uuid: str | None,
        may_reparent: bool,
    ) -> int | None:
        """Set the roots of this provider's subtree, and return the id of the new parent.

        Checks, in this order, the existence of the parent, the permission, and loops.

        :raises errors.ResourceProviderActionFailed: one of these checks fails
        """
        if parent_uuid is None:
            if current.parent_provider_id is None:
                return None
            if not may_reparent:
                raise _update_failed(reason='un-parenting a provider is not currently allowed.')
            self._set_root(connection, {current.root_provider_id}, self.id, None)
            return None
        parent_ids = providers.list_ids(connection, {parent_uuid})
        if not parent_ids:
            raise _create_failed(reason=_NO_PARENT)
        parent_id = parent_ids[parent_uuid]
        if parent_id == current.parent_provider_id:
            return parent_id
        if current.parent_provider_id is not None and not may_reparent:
            raise _update_failed(reason='re-parenting a provider is not currently allowed.')
        parent = _lock_by_uuid(self._context, parent_uuid)
        roots = {current.root_provider_id, parent.root_provider_id}
        self._set_root(connection, roots, parent.root_provider_id, parent.id)
        providers.touch(connection, parent)
        return int(parent.id)

    def _set_root(
        self,
        connection: Connection,
        roots: set[int],
        new_root: int,
        parent_id: int | None,
    ) -> None:
        """Set the root of this provider and its descendants, after locking both trees.

        Without these locks, two concurrent moves could create a loop.

        :raises errors.ResourceProviderActionFailed: the new parent is a descendant
        """
        members = providers.lock_trees(connection, roots)
        subtree = _subtree(self.id, members)
        if parent_id in subtree:
            raise _update_failed(reason='creating loop in the provider tree is not allowed.')
        providers.move(connection, subtree, new_root)
        changes = self._context.changes
        changes.provider(subtree, Part.PLACE)
        # For the roots, the members of their trees have changed.
        changes.provider(roots - subtree, Part.RELATED)


def increment_generations(
    context: RequestContext, of: Sequence[ResourceProvider], changed: Part
) -> None:
    """Increment the generations of locked providers, and record their `changed` part."""
    if not of:
        return
    ids = [provider.id for provider in of]
    providers.increment_generations(context.connection, ids)
    context.changes.provider(ids, changed)
    for provider in of:
        provider.generation += 1


@in_transaction(Mode.READ)
def list_by_filters(context: RequestContext, filters: ProviderFilters) -> Sequence[Row]:
    """The rows of the providers that meet every filter, in no particular order.

    Each has `uuid`, `name`, `generation`, `root_provider_uuid`, `parent_provider_uuid` and
    `modified_at`.

    :raises errors.TraitNotFound: a trait does not exist
    :raises errors.ResourceClassNotFound: a resource class does not exist
    """
    return provider_filters.list_by_filters(context.connection, filters)


_NO_PARENT = 'parent provider UUID does not exist.'


_create_failed = functools.partial(errors.ResourceProviderActionFailed, action='create')
_update_failed = functools.partial(errors.ResourceProviderActionFailed, action='update')


def _turn(context: RequestContext, uuid: str) -> contextlib.AbstractContextManager[None]:
    """Return a context manager with the turn to lock a provider (`LockWaits.turn`)."""
    read = functools.partial(providers.list_generations, uuids=[uuid])
    return context.database.lock_waits.turn(uuid, read)


def _lock_by_uuid(context: RequestContext, uuid: str) -> Row:
    """Lock the future parent of a provider, so that nobody moves or deletes it; return its row.

    :raises errors.ResourceProviderActionFailed: the parent does not exist
    """
    connection = context.connection
    ids = providers.list_ids(connection, {uuid})
    with _turn(context, uuid):
        rows = providers.lock(connection, list(ids.values())) if ids else []
    # The uuid may have changed between the look-up of the id and the lock.
    if not rows or rows[0].uuid != uuid:
        raise _create_failed(reason=_NO_PARENT)
    return providers.mended(connection, rows[0])


def _check_unique(connection: Connection, uuid: str, name: str) -> None:
    conflicting = providers.list_conflicting(connection, name, uuid)
    taken = []
    if any(row.uuid == uuid for row in conflicting):
        taken.append(f'uuid: {uuid}')
    if any(row.uuid != uuid or row.name == name for row in conflicting):
        taken.append(f'name: {name}')
    if taken:
        raise errors.DuplicateResourceProvider(
            f'Conflicting resource provider {", ".join(taken)} already exists.'
        )


def _subtree(provider_id: int, members: Sequence[Row]) -> set[int]:
    """The ids of a provider and its descendants; parents may form a circle."""
    children: dict[int, list[int]] = {}
    for member in members:
        children.setdefault(member.parent_provider_id, []).append(member.id)
    subtree: set[int] = set()
    remaining = [provider_id]
    while remaining:
        member_id = remaining.pop()
        if member_id not in subtree:
            subtree.add(member_id)
            remaining.extend(children.get(member_id, ()))
    return subtree
