# SPDX-License-Identifier: Apache-2.0
"""Create the table of promises of room."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '5e82b7f1d09a'
down_revision = 'c40d9e2a715b'

TABLE = 'placement_promises'


def upgrade() -> None:
    """Create the table; drop one that is left over from before a restore."""
    op.execute(f'DROP TABLE IF EXISTS {TABLE}')
    op.create_table(
        TABLE,
        sa.Column('name', sa.String(64), primary_key=True),
        sa.Column('query', sa.Text, nullable=False),
        sa.Column('count', sa.Integer, nullable=False),
        sa.Column('set_at', sa.DateTime, nullable=False),
        sa.Column('user_id', sa.String(255), nullable=True),
        sa.Column('project_id', sa.String(255), nullable=True),
    )


def downgrade() -> None:
    """Drop the table with its rows."""
    op.execute(f'DROP TABLE IF EXISTS {TABLE}')
