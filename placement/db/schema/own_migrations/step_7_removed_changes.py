# SPDX-License-Identifier: Apache-2.0
"""Note how many entries each part of the change feed had that was removed."""

import sqlalchemy as sa
from alembic import op

revision = '3c8f51d9e07b'
down_revision = 'b6f1c07d2e98'

TABLE = 'placement_removed_changes'


def upgrade() -> None:
    """Make the table. It may be left over from before a restore; what it holds is expendable."""
    op.drop_table(TABLE, if_exists=True)
    op.create_table(
        TABLE,
        sa.Column('end_id', sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column('start_id', sa.BigInteger(), nullable=False),
        sa.Column('entries', sa.Integer(), nullable=False),
    )


def downgrade() -> None:
    """Remove the table; followers whose entries are removed read everything then."""
    op.drop_table(TABLE)
