# SPDX-License-Identifier: Apache-2.0
"""SQL statements about aggregates and their members."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db.schema.tables import placement_aggregates as aggregates
from placement.db.schema.tables import resource_provider_aggregates as memberships
from placement.db.statements import collation, names

# The column of the table of associations.
MEMBER = memberships.c.aggregate_id

_BY_PROVIDER = (
    sa.select(aggregates.c.uuid, aggregates.c.id)
    .join(memberships, memberships.c.aggregate_id == aggregates.c.id)
    .where(memberships.c.resource_provider_id == sa.bindparam('provider_id'))
    .order_by(aggregates.c.id)
)


def list_by_provider(connection: sa.Connection, provider_id: int) -> dict[str, int]:
    """Return the aggregates of a provider: their ids by uuid, in the order of ids."""
    return dict(connection.execute(_BY_PROVIDER, {'provider_id': provider_id}).all())


def ensure(connection: sa.Connection, uuids: Collection[str]) -> dict[str, int]:
    """Return the ids of aggregates by stored uuid; insert missing aggregates."""
    ids = names.find_ids(connection, aggregates.c.uuid, uuids)
    wanted = collation.stored_uuids(connection, uuids, ids)
    missing = [uuid for uuid in dict.fromkeys(wanted.values()) if uuid not in ids]
    if missing:
        connection.execute(sa.insert(aggregates), [{'uuid': uuid} for uuid in missing])
        ids |= names.find_ids(connection, aggregates.c.uuid, uuids)
    return ids
