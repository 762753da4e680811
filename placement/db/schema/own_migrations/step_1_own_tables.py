# SPDX-License-Identifier: Apache-2.0
"""Create the tables of this service: the change feed, unmet demand, and the history.

They are created as declared in `own_tables`, without the additions of later revisions. A revision
that changes a table must declare its former columns here.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from placement.db.schema import own_tables

revision = '7b1e94d05c3a'
down_revision = None

# Tables of later revisions.
LATER = (own_tables.class_ids, own_tables.promises)

TEXT = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')


def upgrade() -> None:
    """Create the tables, and a first entry of the feed without provider.

    So the feed is never empty, and a reader that does not find its last entry knows that it has
    fallen behind or reads another feed. Existing tables without a revision are left over from
    before a restore, and are dropped.
    """
    downgrade()
    metadata = sa.MetaData()
    for table in own_tables.metadata.tables.values():
        if table not in LATER:
            table.to_metadata(metadata)
    metadata.tables[own_tables.change_history.name].c.state.type = TEXT
    metadata.create_all(op.get_bind())
    entry = {'at': sa.func.current_timestamp(), 'token': secrets.randbits(63)}
    about_none = {'provider_id': own_tables.NO_PROVIDER, 'allocations_only': True}
    op.execute(sa.insert(own_tables.change_feed).values(**about_none, **entry))


def downgrade() -> None:
    """Drop the tables with their rows."""
    own_tables.metadata.drop_all(op.get_bind())
