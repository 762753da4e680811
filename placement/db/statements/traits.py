# SPDX-License-Identifier: Apache-2.0
"""SQL statements about traits and their providers."""

from collections.abc import Sequence, Set

import sqlalchemy as sa

from placement.db.rows import Row
from placement.db.schema.tables import resource_provider_traits as associations
from placement.db.schema.tables import traits
from placement.db.statements.name_table import TRAITS

# The column of the table of associations.
MEMBER = associations.c.trait_id

# The length of the column.
MAX_NAME_LENGTH = 255

_BY_PROVIDER = (
    TRAITS.rows()
    .join(associations, associations.c.trait_id == traits.c.id)
    .where(associations.c.resource_provider_id == sa.bindparam('provider_id'))
)


def list_by_filters(
    connection: sa.Connection,
    names: Set[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> Sequence[Row]:
    """Return the traits that meet every filter that is not None, in the order of ids.

    `prefix` is literal text, without wildcards.
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
    rows = connection.execute(TRAITS.rows().where(*conditions)).all()
    return rows if names is None else [row for row in rows if row.name in names]


def list_by_provider(connection: sa.Connection, provider_id: int) -> Sequence[Row]:
    """Return the traits of a provider, in the order of ids."""
    return connection.execute(_BY_PROVIDER, {'provider_id': provider_id}).all()
