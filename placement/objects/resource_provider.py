# SPDX-License-Identifier: Apache-2.0
"""Resource providers and the trees they form (specification: resource_providers)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Self, TypeVar

from oslo_versionedobjects import fields

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import provider_filters, providers
from placement.db.statements.provider_filters import ProviderFilters
from placement.feed.change_feed import ChangeFeed
from placement.insight.history.recorder import note_deleted_provider, note_providers
from placement.insight.history.statements import Part
from placement.objects import base
from placement.schemas.common import NOT_SENT, NotSent

ListedValue = TypeVar('ListedValue')


@base.register
class ResourceProvider(base.Timestamped):
    """Something with countable resources."""

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
    @db.reader
    def get_by_uuid(cls, context: RequestContext, uuid: str) -> Self:
        """The provider with a uuid, spelled as it is stored.

        Raises `errors.ResourceProviderNotFound`.
        """
        row = providers.find(context.connection, uuid)
        if row is None:
            raise errors.ResourceProviderNotFound(uuid=uuid)
        return cls.from_row(context, row)

    @classmethod
    @db.reader
    def get_with(
        cls,
        context: RequestContext,
        uuid: str,
        list_by_provider: Callable[[RequestContext, ResourceProvider], ListedValue],
        missing: str = 'No resource provider with uuid {} found: ',
    ) -> tuple[Self, ListedValue]:
        """The provider with a uuid, and what is listed of it, read in one transaction.

        Raises `errors.NotFound`, with words before those of `errors.ResourceProviderNotFound`.
        """
        prefix = missing.format(uuid)
        with errors.reported_as(errors.NotFound, errors.ResourceProviderNotFound, prefix=prefix):
            provider = cls.get_by_uuid(context, uuid)
        return provider, list_by_provider(context, provider)

    @classmethod
    @db.writer
    def create(
        cls, context: RequestContext, uuid: str, name: str, parent_uuid: str | None = None
    ) -> Self:
        """A new provider, below a parent where one is given.

        Raises `errors.ResourceProviderActionFailed` for a name or parent that cannot be, and
        `errors.DuplicateResourceProvider`.
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
            parent = _lock_by_uuid(connection, parent_uuid)
            providers.gain_child(connection, parent)
        _check_unique(connection, uuid, name)
        provider_id = providers.insert(
            connection,
            uuid,
            name,
            parent_id=parent.id if parent else None,
            root_id=parent.root_provider_id if parent else None,
        )
        record_changes(context, [provider_id], Part.PLACE)
        return cls.get_by_uuid(context, uuid)

    @db.writer
    def update(
        self, name: str, parent_uuid: str | NotSent | None, may_reparent: bool
    ) -> ResourceProvider:
        """The provider as it is after a change of its name and, if sent, its parent.

        Raises `errors.ResourceProviderActionFailed` for a parent that cannot be,
        `errors.DuplicateResourceProvider` and `errors.ResourceProviderNotFound`.
        """
        connection = self._context.connection
        current = self.lock()
        parent_id = current.parent_provider_id
        if parent_uuid is not NOT_SENT:
            parent_id = self._move(connection, current, parent_uuid, may_reparent)
        # Only now: an impossible parent is reported before a name that is taken.
        self._check_name_is_free(connection, name)
        providers.update(connection, self.id, name=name, parent_provider_id=parent_id)
        record_changes(self._context, [self.id], Part.PLACE)
        return self.get_by_uuid(self._context, self.uuid)

    def lock(self) -> db.Row:
        """The row of this provider, locked until the transaction ends.

        Raises `errors.ResourceProviderNotFound` when it was deleted meanwhile.
        """
        rows = providers.lock(self._context.connection, [self.id])
        if not rows or rows[0].uuid != self.uuid:
            raise errors.ResourceProviderNotFound(uuid=self.uuid)
        self.generation = rows[0].generation
        return rows[0]

    def lock_at(self, generation: int, conflict: type[errors.Conflict]) -> None:
        """Lock this provider, and raise `conflict` when its generation is another one."""
        self.lock()
        self.check_generation(generation, conflict)

    def check_generation(self, generation: object, conflict: type[errors.Conflict]) -> None:
        """Log and raise `conflict` when the generation of this provider is another one."""
        if self.generation != generation:
            base.log_conflict('resource provider', self.uuid, self.generation, generation)
            raise conflict()

    def increment_generation(self, changed: Part) -> None:
        """Add one to the generation of this provider, which is locked and has `changed`."""
        increment_generations(self._context, [self], changed)

    @db.writer
    def destroy(self) -> None:
        """Delete the provider with its inventories, memberships and traits.

        Raises `errors.ResourceProviderHasChildren`, `errors.ResourceProviderInUse` and
        `errors.ResourceProviderNotFound`.
        """
        connection = self._context.connection
        # InnoDB locks the entry of the uuid, then the row. A claim does so in this order, and
        # would deadlock with a deletion that has locked the row alone before.
        providers.increment_generation_of(connection, self.uuid)
        row = self.lock()
        if providers.has_children(connection, self.id):
            raise errors.ResourceProviderHasChildren(uuid=self.uuid)
        if providers.has_allocations(connection, self.id):
            raise errors.ResourceProviderInUse(uuid=self.uuid)
        providers.delete(connection, self.id)
        feed = ChangeFeed(connection)
        feed.record_former_uuid(self.id, self.uuid)
        feed.record({row.root_provider_id} - {self.id})
        note_deleted_provider(self._context, self.uuid)

    def _check_name_is_free(self, connection: db.Connection, name: str) -> None:
        conflicting = providers.list_conflicting(connection, name, self.uuid)
        if any(row.uuid != self.uuid for row in conflicting):
            raise errors.DuplicateResourceProvider(
                f'Conflicting resource provider {name} already exists.'
            )

    def _move(
        self,
        connection: db.Connection,
        current: db.Row,
        parent_uuid: str | None,
        may_reparent: bool,
    ) -> int | None:
        """The id of the new parent, after the roots of this provider's subtree were set.

        Order of refusals: existence, permission, loop.
        """
        if parent_uuid is None:
            if current.parent_provider_id is None:
                return None
            if not may_reparent:
                raise _update_failed(reason='un-parenting a provider is not currently allowed.')
            self._set_root(connection, {current.root_provider_id}, self.id, None)
            return None
        parent_ids = providers.list_ids(connection, [parent_uuid])
        if not parent_ids:
            raise _create_failed(reason=_NO_PARENT)
        parent_id = parent_ids[parent_uuid]
        if parent_id == current.parent_provider_id:
            return parent_id
        if current.parent_provider_id is not None and not may_reparent:
            raise _update_failed(reason='re-parenting a provider is not currently allowed.')
        parent = _lock_by_uuid(connection, parent_uuid)
        roots = {current.root_provider_id, parent.root_provider_id}
        self._set_root(connection, roots, parent.root_provider_id, parent.id)
        providers.gain_child(connection, parent)
        return int(parent.id)

    def _set_root(
        self,
        connection: db.Connection,
        roots: set[int],
        new_root: int,
        parent_id: int | None,
    ) -> None:
        """Set the root of this provider and of all below it; both trees are locked.

        Only when both are locked whole can two moves not make a loop together.
        """
        members = providers.lock_trees(connection, roots)
        subtree = _subtree(self.id, members)
        if parent_id in subtree:
            raise _update_failed(reason='creating loop in the provider tree is not allowed.')
        providers.move(connection, subtree, new_root)
        record_changes(self._context, subtree, Part.PLACE)
        # The tree that it leaves has changed, too.
        ChangeFeed(connection).record(roots - subtree)


def record_changes(context: RequestContext, provider_ids: Collection[int], changed: Part) -> None:
    """Record the changed parts of providers, locked or new, in the change feed and the history."""
    ChangeFeed(context.connection).record(provider_ids)
    note_providers(context, provider_ids, changed)


def increment_generations(
    context: RequestContext, of: Sequence[ResourceProvider], changed: Part
) -> None:
    """Add one to the generation of providers, which are locked and of which a part changed."""
    if not of:
        return
    ids = [provider.id for provider in of]
    providers.increment_generations(context.connection, ids)
    record_changes(context, ids, changed)
    for provider in of:
        provider.generation += 1


@db.reader
def list_by_filters(context: RequestContext, filters: ProviderFilters) -> Sequence[db.Row]:
    """The rows of the providers that meet every filter, in no particular order.

    Each has `uuid`, `name`, `generation`, `root_provider_uuid`, `parent_provider_uuid` and
    `modified_at`. Raises `errors.TraitNotFound` and `errors.ResourceClassNotFound`.
    """
    return provider_filters.list_by_filters(context.connection, filters)


_NO_PARENT = 'parent provider UUID does not exist.'


_create_failed = functools.partial(errors.ResourceProviderActionFailed, action='create')
_update_failed = functools.partial(errors.ResourceProviderActionFailed, action='update')


def _lock_by_uuid(connection: db.Connection, uuid: str) -> db.Row:
    """A provider that is to become a parent, locked so that it is neither moved nor deleted."""
    ids = providers.list_ids(connection, [uuid])
    rows = providers.lock(connection, list(ids.values())) if ids else []
    # Until it was locked, it could be given another uuid.
    if not rows or rows[0].uuid != uuid:
        raise _create_failed(reason=_NO_PARENT)
    return rows[0]


def _check_unique(connection: db.Connection, uuid: str, name: str) -> None:
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


def _subtree(provider_id: int, members: Sequence[db.Row]) -> set[int]:
    """The ids of a provider and of all below it."""
    children: dict[int, list[int]] = {}
    for member in members:
        children.setdefault(member.parent_provider_id, []).append(member.id)
    subtree: set[int] = set()
    remaining = [provider_id]
    while remaining:
        member_id = remaining.pop()
        subtree.add(member_id)
        remaining.extend(children.get(member_id, ()))
    return subtree
