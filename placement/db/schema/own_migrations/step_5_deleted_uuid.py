# SPDX-License-Identifier: Apache-2.0
"""Keep the uuid of a provider that was deleted in the entry of the change feed about that."""

import sqlalchemy as sa
from alembic import op

revision = 'a94e2d7b10f6'
down_revision = 'f36d8a1c59e2'

TABLE, COLUMN = 'placement_provider_changes', 'deleted_uuid'


def upgrade() -> None:
    """Add the column, which is empty in entries of workers that do not know it.

    It is there already where the database was restored from a backup without the table of
    revisions: earlier releases keep the change feed then as it is.
    """
    columns = sa.inspect(op.get_bind()).get_columns(TABLE)
    if COLUMN not in {column['name'] for column in columns}:
        op.add_column(TABLE, sa.Column(COLUMN, sa.String(36), nullable=True, server_default=''))


def downgrade() -> None:
    """Remove the column; earlier versions do not read it."""
    op.drop_column(TABLE, COLUMN)
