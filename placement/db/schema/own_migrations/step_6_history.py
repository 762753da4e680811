# SPDX-License-Identifier: Apache-2.0
"""Keep a history of changes, where an operator wants one."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = 'b6f1c07d2e98'
down_revision = 'a94e2d7b10f6'


def upgrade() -> None:
    """Make the table, which stays empty while the history is off.

    Workers of earlier versions know nothing of it, and nothing refers to it. It may be left over
    from before a restore without the table of revisions; then it tells of another database.
    """
    op.drop_table('placement_history', if_exists=True)
    op.create_table(
        'placement_history',
        sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
        sa.Column('at', sa.DateTime(), nullable=False),
        sa.Column('request_id', sa.String(64), nullable=False),
        sa.Column('global_request_id', sa.String(64), nullable=True),
        sa.Column('caller_user_id', sa.String(255), nullable=True),
        sa.Column('caller_user_name', sa.String(255), nullable=True),
        sa.Column('caller_project_id', sa.String(255), nullable=True),
        sa.Column('action', sa.String(64), nullable=False),
        sa.Column('kind', sa.String(16), nullable=False),
        sa.Column('uuid', sa.String(36), nullable=True),
        sa.Column('project_id', sa.String(255), nullable=True),
        sa.Column('user_id', sa.String(255), nullable=True),
        sa.Column('generation', sa.Integer(), nullable=True),
        sa.Column(
            'state', sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb'), nullable=True
        ),
        sa.Index('placement_history_uuid_idx', 'uuid', 'id'),
        sa.Index('placement_history_request_id_idx', 'request_id'),
        sa.Index('placement_history_global_request_id_idx', 'global_request_id'),
        sa.Index('placement_history_at_idx', 'at'),
        # Ids are positions in an answer of several pages, so they must not come back.
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    """Remove the table with what it holds."""
    op.drop_table('placement_history')
