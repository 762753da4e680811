# SPDX-License-Identifier: Apache-2.0
"""Create the table of the ids that custom resource classes have had."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = 'c40d9e2a715b'
down_revision = '7b1e94d05c3a'

TABLE = 'placement_class_ids'


def upgrade() -> None:
    """Create the table; drop one that is left over from before a restore."""
    op.execute(f'DROP TABLE IF EXISTS {TABLE}')
    op.create_table(
        TABLE,
        sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Column('changes', sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Drop the table with its rows."""
    op.execute(f'DROP TABLE IF EXISTS {TABLE}')
