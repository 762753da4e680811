# SPDX-License-Identifier: Apache-2.0
"""SQL statements about resource providers and their trees."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import (
    allocations,
    inventories,
    resource_provider_aggregates,
    resource_provider_traits,
)
from placement.db.schema.tables import resource_providers as providers
from placement.db.statements import collation
from placement.db.statements.names import find_ids

ROOT = providers.alias('root_provider')
PARENT = providers.alias('parent_provider')

# One row per provider, with the uuids of its root and parent beside their ids.
TREE = providers.outerjoin(ROOT, providers.c.root_provider_id == ROOT.c.id).outerjoin(
    PARENT, providers.c.parent_provider_id == PARENT.c.id
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
        ROOT.c.uuid.label('root_provider_uuid'),
        PARENT.c.uuid.label('parent_provider_uuid'),
    )
    .select_from(TREE)
    .where(providers.c.uuid == sa.bindparam('uuid'))
)

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
_INCREMENT = (
    sa.update(providers)
    .where(providers.c.id.in_(sa.bindparam('ids', expanding=True)))
    .values(generation=providers.c.generation + 1)
)
_UUID: sa.BindParameter[str] = sa.bindparam('of_uuid', type_=sa.String)
_INCREMENT_ONE = (
    sa.update(providers)
    # No collation makes `replace` ignore letter case.
    .where(providers.c.uuid == _UUID, sa.func.replace(providers.c.uuid, _UUID, '') == '')
    .values(generation=providers.c.generation + 1)
)


def find(connection: sa.Connection, uuid: str) -> Row | None:
    """Return the provider with a uuid, or None."""
    row = connection.execute(_PROVIDER, {'uuid': uuid}).one_or_none()
    return collation.exactly(row, 'uuid', uuid)


def list_names(connection: sa.Connection, uuids: Collection[str]) -> dict[str, str]:
    """Return the names of those providers that exist, by uuid."""
    names = sa.select(providers.c.uuid, providers.c.name).where(providers.c.uuid.in_(uuids))
    return dict(connection.execute(names).all())


def list_names_by_id(connection: sa.Connection) -> dict[int, str]:
    """Return the name of every provider, by its id."""
    return dict(connection.execute(sa.select(providers.c.id, providers.c.name)).all())


def list_ids(connection: sa.Connection, uuids: Collection[str]) -> dict[str, int]:
    """Return the ids of those providers that exist, by uuid."""
    ids = find_ids(connection, providers.c.uuid, uuids)
    return {uuid: provider_id for uuid, provider_id in ids.items() if uuid in uuids}


def list_conflicting(connection: sa.Connection, name: str, uuid: str) -> Sequence[Row]:
    """Return the providers that have the name or the uuid."""
    return connection.execute(
        sa.select(providers.c.name, providers.c.uuid).where(
            sa.or_(providers.c.name == name, providers.c.uuid == uuid)
        )
    ).all()


def lock(connection: sa.Connection, ids: Collection[int]) -> Sequence[Row]:
    """Lock providers in the order of their ids, and return them.

    Every transaction locks in this order and by primary key, so that transactions wait for each
    other instead of deadlocking.
    """
    return connection.execute(_LOCKED, {'ids': list(ids)}).all() if ids else []


def increment_generation_of(connection: sa.Connection, uuid: str) -> bool:
    """Lock a provider, and its uuid, by incrementing its generation; returns whether it exists."""
    return connection.execute(_INCREMENT_ONE, {'of_uuid': uuid}).rowcount > 0


def lock_trees(connection: sa.Connection, root_ids: Collection[int]) -> Sequence[Row]:
    """Lock every provider of some trees, and return them.

    A transaction that adds a provider to a tree locks the new parent. So providers may join until
    every member is locked: the members are read again until all of them are.
    """
    members = sa.select(providers.c.id).where(providers.c.root_provider_id.in_(root_ids))
    locked: Sequence[Row] = ()
    while True:
        ids = set(connection.scalars(members))
        if ids <= {row.id for row in locked}:
            return locked
        locked = lock(connection, ids)


def has_children(connection: sa.Connection, provider_id: int) -> bool:
    """Return whether the provider is the parent of any other."""
    children = sa.select(providers.c.id).where(providers.c.parent_provider_id == provider_id)
    return connection.execute(children.limit(1)).first() is not None


def has_allocations(connection: sa.Connection, provider_id: int) -> bool:
    """Return whether the provider has allocations."""
    taken = sa.select(allocations.c.id).where(allocations.c.resource_provider_id == provider_id)
    return connection.execute(taken.limit(1)).first() is not None


def insert(
    connection: sa.Connection,
    uuid: str,
    name: str,
    parent_id: int | None,
    root_id: int | None,
) -> int:
    """Insert a provider and return its id; without `root_id` it is its own root."""
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


def update(connection: sa.Connection, provider_id: int, **values: Any) -> None:
    """Set columns of a provider."""
    connection.execute(sa.update(providers).where(providers.c.id == provider_id).values(values))


def set_root(connection: sa.Connection, ids: Collection[int], root_id: int | None) -> None:
    """Set the root of providers."""
    connection.execute(
        sa.update(providers).where(providers.c.id.in_(ids)).values(root_provider_id=root_id)
    )


def move(connection: sa.Connection, ids: Collection[int], root_id: int) -> None:
    """Set the root of providers, and change their rows even where it is their root already.

    Locks keep off only the transactions of the same node of a Galera cluster. Those of another
    node are refused at COMMIT, where both have changed the same row. So the root is removed first,
    since a row that is set to what it is has not changed.
    """
    set_root(connection, ids, None)
    set_root(connection, ids, root_id)


def gain_child(connection: sa.Connection, parent: Row) -> None:
    """Change the row of a parent as `move` does; all of it is as before afterwards.

    So of a transaction that adds a child, and one on another node of a Galera cluster that moves
    the parent, one is repeated, and sees what the other has done.
    """
    row = sa.update(providers).where(providers.c.id == parent.id)
    for root_id in (None, parent.root_provider_id):
        # Its children are no part of what clients see of a provider, whose time of change stays.
        connection.execute(row.values(root_provider_id=root_id, updated_at=providers.c.updated_at))


def increment_generations(connection: sa.Connection, ids: Collection[int]) -> None:
    """Increment the generation of providers that are locked."""
    if ids:
        connection.execute(_INCREMENT, {'ids': list(ids)})


def delete(connection: sa.Connection, provider_id: int) -> None:
    """Delete a provider, its inventories, and its associations with aggregates and traits."""
    for table in (inventories, resource_provider_aggregates, resource_provider_traits):
        connection.execute(sa.delete(table).where(table.c.resource_provider_id == provider_id))
    # The foreign key of a root to itself would prevent its deletion.
    set_root(connection, [provider_id], None)
    connection.execute(sa.delete(providers).where(providers.c.id == provider_id))
