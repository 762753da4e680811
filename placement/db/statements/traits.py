# SPDX-License-Identifier: Apache-2.0
"""SQL statements about traits and their providers."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from placement.db.engine.transactions import Row
from placement.db.schema.tables import resource_provider_traits as associations
from placement.db.schema.tables import traits
from placement.db.statements import collation

# Ids are given in the order of creation, to standard traits first.
_TRAITS = sa.select(traits.c.id, traits.c.name, traits.c.created_at, traits.c.updated_at).order_by(
    traits.c.id
)

# The column of the table of associations.
MEMBER = associations.c.trait_id

# The length of the column.
MAX_NAME_LENGTH = 255

_BY_PROVIDER = _TRAITS.join(associations, associations.c.trait_id == traits.c.id).where(
    associations.c.resource_provider_id == sa.bindparam('provider_id')
)


def list_by_filters(
    connection: sa.Connection,
    names: Collection[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> Sequence[Row]:
    """Return the traits that meet every filter that is not None, in the order of ids.

    `prefix` is a text, none of whose characters is a wildcard.
    """
    conditions: list[sa.ColumnElement[bool]] = []
    if names is not None:
        conditions.append(traits.c.name.in_(names))
    if prefix is not None:
        if len(prefix) > MAX_NAME_LENGTH:
            return []
        conditions.append(traits.c.name.startswith(prefix, autoescape=True))
    if associated is not None:
        in_use = traits.c.id.in_(sa.select(associations.c.trait_id))
        conditions.append(in_use if associated else ~in_use)
    rows = connection.execute(_TRAITS.where(*conditions)).all()
    return rows if names is None else [row for row in rows if row.name in names]


def list_by_provider(connection: sa.Connection, provider_id: int) -> Sequence[Row]:
    """Return the traits of a provider, in the order of ids."""
    return connection.execute(_BY_PROVIDER, {'provider_id': provider_id}).all()


def find(connection: sa.Connection, name: str) -> Row | None:
    """Return the trait with a name, or None."""
    row = connection.execute(_TRAITS.where(traits.c.name == name)).one_or_none()
    return collation.exactly(row, 'name', name)


def insert(connection: sa.Connection, name: str) -> None:
    """Insert a trait."""
    connection.execute(sa.insert(traits).values(name=name))


def is_in_use(connection: sa.Connection, trait_id: int) -> bool:
    """Return whether any provider has a trait."""
    having = sa.select(associations.c.trait_id).where(associations.c.trait_id == trait_id)
    return connection.execute(having.limit(1)).first() is not None


def delete(connection: sa.Connection, trait_id: int) -> None:
    """Delete a trait."""
    connection.execute(sa.delete(traits).where(traits.c.id == trait_id))
