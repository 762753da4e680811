# SPDX-License-Identifier: Apache-2.0
"""Statements about resource providers and the trees they form."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import (
    allocations,
    placement_aggregates,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.db.schema.tables import resource_providers as providers
from placement.db.statements import collation, inventories
from placement.db.statements.id_cache import IdCache

# What ids of providers are remembered as.
_KIND = 'resource_providers'

_root = providers.alias('root_provider')
_parent = providers.alias('parent_provider')

# One row per provider, with the uuids of its root and parent beside their ids.
_TREE = providers.outerjoin(_root, providers.c.root_provider_id == _root.c.id).outerjoin(
    _parent, providers.c.parent_provider_id == _parent.c.id
)
_PROVIDER = (
    sa.select(
        providers.c.id,
        providers.c.uuid,
        providers.c.name,
        providers.c.generation,
        providers.c.created_at,
        providers.c.updated_at,
        providers.c.root_provider_id,
        providers.c.parent_provider_id,
        _root.c.uuid.label('root_provider_uuid'),
        _parent.c.uuid.label('parent_provider_uuid'),
    )
    .select_from(_TREE)
    .where(providers.c.uuid == sa.bindparam('uuid'))
)

# As many of the columns as a list shows, since it may be as long as the cloud. The time is taken
# as the driver has it: SQLite has texts, which sort like the times that they stand for.
_LISTED = sa.select(
    providers.c.uuid,
    providers.c.name,
    providers.c.generation,
    _root.c.uuid.label('root_provider_uuid'),
    _parent.c.uuid.label('parent_provider_uuid'),
    sa.type_coerce(
        sa.func.coalesce(providers.c.updated_at, providers.c.created_at), sa.String
    ).label('modified_at'),
).select_from(_TREE)

_LOCKED = (
    sa.select(
        providers.c.id,
        providers.c.uuid,
        providers.c.generation,
        providers.c.root_provider_id,
        providers.c.parent_provider_id,
    )
    .where(providers.c.id.in_(sa.bindparam('ids', expanding=True)))
    .order_by(providers.c.id)
    .with_for_update()
)
_IDS = sa.select(providers.c.uuid, providers.c.id).where(
    providers.c.uuid.in_(sa.bindparam('uuids', expanding=True))
)
_INCREMENT = (
    sa.update(providers)
    .where(providers.c.id.in_(sa.bindparam('ids', expanding=True)))
    .values(generation=providers.c.generation + 1)
)
_INCREMENT_ONE = (
    sa.update(providers)
    .where(providers.c.id == sa.bindparam('of_id'), providers.c.uuid == sa.bindparam('of_uuid'))
    .values(generation=providers.c.generation + 1)
)


@dataclasses.dataclass(frozen=True, slots=True)
class Filters:
    """What providers are looked for by; all of it has to hold.

    `required_traits` and `member_of` are sets of ids and uuids of which one each has to be there.
    """

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    required_traits: Sequence[Collection[int]] = ()
    forbidden_traits: Collection[int] = ()
    member_of: Sequence[Collection[str]] = ()
    forbidden_aggregates: Collection[str] = ()
    amounts: Sequence[tuple[int, int]] = ()

    def asking_for(self, **more: Any) -> Filters:
        """A copy with other values."""
        return dataclasses.replace(self, **more)


def find(connection: sa.Connection, uuid: str) -> Row | None:
    """The provider with a uuid."""
    row = connection.execute(_PROVIDER, {'uuid': uuid}).one_or_none()
    return collation.exactly(row, 'uuid', uuid)


def list_by_filters(connection: sa.Connection, filters: Filters) -> Sequence[Row]:
    """The providers that meet every filter, with what a list shows of them."""
    rows = connection.execute(_LISTED.where(*_conditions(filters))).all()
    if filters.name is None and filters.uuid is None:
        return rows
    return [
        row
        for row in rows
        if filters.name in (None, row.name) and filters.uuid in (None, row.uuid)
    ]


def _conditions(filters: Filters) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if filters.name is not None:
        conditions.append(providers.c.name == filters.name)
    if filters.uuid is not None:
        conditions.append(providers.c.uuid == filters.uuid)
    if filters.in_tree is not None:
        member = providers.alias('member')
        root = sa.select(member.c.root_provider_id).where(member.c.uuid == filters.in_tree)
        conditions.append(providers.c.root_provider_id == root.scalar_subquery())
    conditions.extend(_has_trait(traits) for traits in filters.required_traits)
    conditions.extend(_in_aggregate(uuids) for uuids in filters.member_of)
    if filters.forbidden_traits:
        conditions.append(~_has_trait(filters.forbidden_traits))
    if filters.forbidden_aggregates:
        conditions.append(~_in_aggregate(filters.forbidden_aggregates))
    conditions.extend(
        inventories.has_room(providers.c.id, class_id, amount)
        for class_id, amount in filters.amounts
    )
    return conditions


def _has_trait(trait_ids: Collection[int]) -> sa.ColumnElement[bool]:
    having = sa.select(resource_provider_traits.c.resource_provider_id).where(
        resource_provider_traits.c.trait_id.in_(trait_ids)
    )
    return providers.c.id.in_(having)


def _in_aggregate(uuids: Collection[str]) -> sa.ColumnElement[bool]:
    members = (
        sa.select(resource_provider_aggregates.c.resource_provider_id)
        .join(
            placement_aggregates,
            placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
        )
        .where(placement_aggregates.c.uuid.in_(uuids))
    )
    return providers.c.id.in_(members)


def list_ids(connection: sa.Connection, uuids: Collection[str]) -> dict[str, int]:
    """Ids by uuid; what does not exist is missing."""
    rows = connection.execute(_IDS, {'uuids': list(uuids)})
    return {uuid: provider_id for uuid, provider_id in rows if uuid in uuids}


def list_conflicting(connection: sa.Connection, name: str, uuid: str) -> Sequence[Row]:
    """The providers that have a name or a uuid already."""
    return connection.execute(
        sa.select(providers.c.name, providers.c.uuid).where(
            sa.or_(providers.c.name == name, providers.c.uuid == uuid)
        )
    ).all()


def lock(connection: sa.Connection, ids: Collection[int]) -> Sequence[Row]:
    """Providers in the order of their ids, held until the transaction ends.

    Everybody locks in this order and by primary key, so that transactions queue instead of
    deadlocking.
    """
    return connection.execute(_LOCKED, {'ids': list(ids)}).all()


def lock_by_uuid(
    connection: sa.Connection, uuids: Collection[str], ids: Collection[int], known: IdCache
) -> Sequence[Row]:
    """The providers with some uuids and with some ids, in one order, held until the end.

    A uuid whose id is known is not looked up first. Where that id turns out to be another one's,
    as SQLite gives ids again, all are looked up and locked once more.
    """
    found = known.find(_KIND, uuids)
    for _ in range(2):
        missing = [uuid for uuid in uuids if uuid not in found]
        if missing:
            looked_up = list_ids(connection, missing)
            known.remember(_KIND, looked_up)
            found |= looked_up
        locked = lock(connection, {*found.values(), *ids})
        here = {row.uuid for row in locked}
        if here.issuperset(found):
            break
        known.forget(_KIND, found.keys() - here)
        found = {}
    return locked


def increment_generation_of(
    connection: sa.Connection, uuid: str, known: IdCache
) -> dict[str, int]:
    """Add one to the generation of the provider with a uuid, and hold it until the end.

    Returns its id by its uuid, or nothing where there is no such provider.
    """
    found = known.find(_KIND, [uuid])
    for _ in range(2):
        if not found:
            found = list_ids(connection, [uuid])
            known.remember(_KIND, found)
        if not found:
            break
        parameters = {'of_id': found[uuid], 'of_uuid': uuid}
        if connection.execute(_INCREMENT_ONE, parameters).rowcount:
            break
        # Deleted meanwhile, or the id is another one's, as SQLite gives ids again.
        known.forget(_KIND, [uuid])
        found = {}
    return found


def lock_trees(connection: sa.Connection, root_ids: Collection[int]) -> Sequence[Row]:
    """Every provider of some trees, held until the transaction ends.

    Whoever joins a tree holds the provider below which it does. So there may be more by the time
    that all are held who were there; when there are not, nobody can join any more.
    """
    members = sa.select(providers.c.id).where(providers.c.root_provider_id.in_(root_ids))
    locked: Sequence[Row] = ()
    while True:
        ids = set(connection.scalars(members))
        if ids <= {row.id for row in locked}:
            return locked
        locked = lock(connection, ids)


def has_children(connection: sa.Connection, provider_id: int) -> bool:
    """Whether any provider has this one as its parent."""
    children = sa.select(providers.c.id).where(providers.c.parent_provider_id == provider_id)
    return connection.execute(children.limit(1)).first() is not None


def has_allocations(connection: sa.Connection, provider_id: int) -> bool:
    """Whether anything is taken from the provider."""
    taken = sa.select(allocations.c.id).where(allocations.c.resource_provider_id == provider_id)
    return connection.execute(taken.limit(1)).first() is not None


def insert(
    connection: sa.Connection,
    uuid: str,
    name: str,
    parent_id: int | None,
    root_id: int | None,
) -> int:
    """The id of a new provider; without `root_id` it is its own root."""
    result = connection.execute(
        sa.insert(providers).values(
            uuid=uuid, name=name, parent_provider_id=parent_id, root_provider_id=root_id
        )
    )
    assert result.inserted_primary_key is not None
    provider_id: int = result.inserted_primary_key[0]
    if root_id is None:
        set_root(connection, [provider_id], provider_id)
    return provider_id


def update(connection: sa.Connection, provider_id: int, name: str, parent_id: int | None) -> None:
    """Change the name and the parent of a provider."""
    connection.execute(
        sa.update(providers)
        .where(providers.c.id == provider_id)
        .values(name=name, parent_provider_id=parent_id)
    )


def set_root(connection: sa.Connection, ids: Collection[int], root_id: int | None) -> None:
    """Make one provider the root of others."""
    connection.execute(
        sa.update(providers).where(providers.c.id.in_(ids)).values(root_provider_id=root_id)
    )


def increment_generations(connection: sa.Connection, ids: Collection[int]) -> None:
    """Add one to the generation of providers that are locked."""
    connection.execute(_INCREMENT, {'ids': list(ids)})


def delete(connection: sa.Connection, provider_id: int) -> None:
    """Delete a provider with its inventories, memberships and traits."""
    inventories.delete_all(connection, provider_id)
    for association in (resource_provider_aggregates, resource_provider_traits):
        connection.execute(
            sa.delete(association).where(association.c.resource_provider_id == provider_id)
        )
    # A root refers to itself, which keeps it from being deleted.
    set_root(connection, [provider_id], None)
    connection.execute(sa.delete(providers).where(providers.c.id == provider_id))
