# SPDX-License-Identifier: Apache-2.0
"""Create the tables of this service: the change feed, unmet demand, and the history.

They are created as `own_tables` declares them. The first revision after this one writes down here
what it changes.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from placement.db.schema import own_tables

revision = '7b1e94d05c3a'
down_revision = None

TEXT = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')


def upgrade() -> None:
    """Create the tables, and a first entry of the feed that is about no provider.

    The feed is never empty after that: a reader that misses the entry it read last knows that it
    has fallen behind, and a reader of another feed that this is not the same. Tables that exist
    without a revision are left over from before a restore, and belong to another database.
    """
    downgrade()
    metadata = sa.MetaData()
    for table in own_tables.metadata.tables.values():
        table.to_metadata(metadata)
    metadata.tables[own_tables.change_history.name].c.state.type = TEXT
    metadata.create_all(op.get_bind())
    entry = {'at': sa.func.current_timestamp(), 'token': secrets.randbits(63)}
    about_none = {'provider_id': own_tables.NO_PROVIDER, 'allocations_only': True}
    op.execute(sa.insert(own_tables.change_feed).values(**about_none, **entry))


def downgrade() -> None:
    """Drop the tables with their rows."""
    own_tables.metadata.drop_all(op.get_bind())
