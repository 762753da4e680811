# SPDX-License-Identifier: Apache-2.0
"""Add to promises of room whether they are kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = '9d3f60c7e218'
down_revision = '5e82b7f1d09a'

TABLE = 'placement_promises'


def upgrade() -> None:
    """Add the column; promises of before are not kept."""
    column = sa.Column('keep', sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column(TABLE, column)


def downgrade() -> None:
    """Drop the column."""
    op.drop_column(TABLE, 'keep')
