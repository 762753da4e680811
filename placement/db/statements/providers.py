# SPDX-License-Identifier: Apache-2.0
"""SQL statements about resource providers and their trees."""

from collections.abc import Collection, Sequence, Set
from typing import Any

import sqlalchemy as sa

from placement.db.rows import Row
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

# Both columns may be NULL in old data. A provider without a name is shown by its uuid.
NAME = sa.func.coalesce(providers.c.name, providers.c.uuid).label('name')
GENERATION = sa.func.coalesce(providers.c.generation, 0).label('generation')

# One row per provider, with the ids and the uuids of its root and parent.
TREE = providers.outerjoin(ROOT, providers.c.root_provider_id == ROOT.c.id).outerjoin(
    PARENT, providers.c.parent_provider_id == PARENT.c.id
)
_PROVIDER = (
    sa.select(
        providers.c.id,
        providers.c.uuid,
        NAME,
        GENERATION,
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
        GENERATION,
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
    .values(generation=GENERATION.element + 1)
)
_UUID: sa.BindParameter[str] = sa.bindparam('of_uuid', type_=sa.String)
_INCREMENT_ONE = (
    sa.update(providers)
    # No collation makes `replace` ignore letter case.
    .where(providers.c.uuid == _UUID, sa.func.replace(providers.c.uuid, _UUID, '') == '')
    .values(generation=GENERATION.element + 1)
)


def find(connection: sa.Connection, uuid: str) -> Row | None:
    """Return the provider with a uuid, or None."""
    row = connection.execute(_PROVIDER, {'uuid': uuid}).one_or_none()
    return collation.exactly(row, 'uuid', uuid)


def list_names(connection: sa.Connection, uuids: Collection[str]) -> dict[str, str]:
    """Return the names of existing providers, by uuid."""
    names = sa.select(providers.c.uuid, NAME).where(providers.c.uuid.in_(uuids))
    return dict(connection.execute(names).all())


def list_names_by_id(connection: sa.Connection) -> dict[int, str]:
    """Return the name of every provider, by its id."""
    return dict(connection.execute(sa.select(providers.c.id, NAME)).all())


def list_ids(connection: sa.Connection, uuids: Set[str]) -> dict[str, int]:
    """Return the ids of existing providers, by uuid."""
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


def list_generations(
    connection: sa.Connection, uuids: Collection[str] = (), ids: Collection[int] = ()
) -> Sequence[Row]:
    """Return the ids and committed generations of providers, given by uuids and ids."""
    is_asked = sa.or_(providers.c.uuid.in_(uuids), providers.c.id.in_(ids))
    statement = sa.select(providers.c.id, providers.c.generation).where(is_asked)
    return connection.execute(statement.order_by(providers.c.id)).all()


def increment_generation_of(connection: sa.Connection, uuid: str) -> bool:
    """Increment the generation of a provider, which locks it and its uuid; True if it exists."""
    return connection.execute(_INCREMENT_ONE, {'of_uuid': uuid}).rowcount > 0


def lock_trees(connection: sa.Connection, root_ids: Collection[int]) -> Sequence[Row]:
    """Lock every provider of some trees, and return them.

    A transaction that adds a provider to a tree locks only the new parent. So providers may join
    until every member is locked, and the members are read again until all of them are.
    """
    members = sa.select(providers.c.id).where(providers.c.root_provider_id.in_(root_ids))
    locked: Sequence[Row] = ()
    while True:
        ids = set(connection.scalars(members))
        if ids <= {row.id for row in locked}:
            return locked
        locked = lock(connection, ids)


def has_children(connection: sa.Connection, provider_id: int) -> bool:
    """True if the provider is the parent of any other."""
    children = sa.select(providers.c.id).where(
        providers.c.parent_provider_id == provider_id, providers.c.id != provider_id
    )
    return connection.execute(children.limit(1)).first() is not None


def has_allocations(connection: sa.Connection, provider_id: int) -> bool:
    """True if the provider has allocations."""
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
    """Set the root of providers, and change their rows even if they have this root already.

    Locks exclude only transactions of the same node of a Galera cluster. Between nodes, one of two
    transactions that change the same row is refused at COMMIT. So the root is removed first:
    writing its present values does not change a row.
    """
    set_root(connection, ids, None)
    set_root(connection, ids, root_id)


def mended(connection: sa.Connection, provider: Row) -> Row:
    """Return a locked provider after repairing a missing parent or root.

    Very old data has providers without a root, and a manual repair may delete a parent.
    """
    parent_id, root_id = provider.parent_provider_id, provider.root_provider_id
    if parent_id is None and root_id == provider.id:
        return provider
    related = {parent_id, root_id} - {None}
    ids = sa.select(providers.c.id, providers.c.root_provider_id).where(
        providers.c.id.in_(related)
    )
    roots: dict[int | None, int | None] = dict(connection.execute(ids).all())
    if root_id in roots and (parent_id is None or parent_id in roots):
        return provider
    values = {
        'parent_provider_id': parent_id if parent_id in roots else None,
        'root_provider_id': roots.get(parent_id) or provider.id,
    }
    update(connection, provider.id, **values)
    return lock(connection, [provider.id])[0]


def touch(connection: sa.Connection, row: Row) -> None:
    """Change the row of a provider as `move` does, and restore its values.

    A transaction that adds a child, or changes aggregates without the generation, then conflicts
    with one on another node of a Galera cluster that moves or deletes the provider. One of the two
    is retried, and sees the changes of the other.
    """
    update = sa.update(providers).where(providers.c.id == row.id)
    for root_id in (None, row.root_provider_id):
        # The visible values have not changed, so the time of change must not either.
        values = {'root_provider_id': root_id, 'updated_at': providers.c.updated_at}
        connection.execute(update.values(values))


def increment_generations(connection: sa.Connection, ids: Collection[int]) -> None:
    """Increment the generations of locked providers."""
    if ids:
        connection.execute(_INCREMENT, {'ids': list(ids)})


def delete(connection: sa.Connection, provider_id: int) -> None:
    """Delete a provider, its inventories, and its associations with aggregates and traits."""
    for table in (inventories, resource_provider_aggregates, resource_provider_traits):
        connection.execute(sa.delete(table).where(table.c.resource_provider_id == provider_id))
    # The foreign key of a root to itself would prevent its deletion.
    update(connection, provider_id, root_provider_id=None, parent_provider_id=None)
    connection.execute(sa.delete(providers).where(providers.c.id == provider_id))
