# SPDX-License-Identifier: Apache-2.0
"""Keep what was searched for in vain."""

import sqlalchemy as sa
from alembic import op

revision = 'f36d8a1c59e2'
down_revision = 'c27f90b4e6d1'


def upgrade() -> None:
    """Make the two tables, one for what was asked for and one for the last searches.

    Workers of earlier versions know nothing of them, and nothing refers to them. They may be left
    over from before a restore that had not the table of revisions; what they hold is expendable.
    """
    for name in ('placement_unmet_demand', 'placement_unmet_searches'):
        op.drop_table(name, if_exists=True)
    op.create_table(
        'placement_unmet_demand',
        sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
        sa.Column('fingerprint', sa.String(64), nullable=False),
        sa.Column('query', sa.Text(), nullable=False),
        sa.Column('names_tree', sa.Boolean(), nullable=False),
        sa.Column('microversion', sa.String(16), nullable=False),
        sa.Column('verdict', sa.String(16), nullable=False),
        sa.Column('reason', sa.String(1000), nullable=False),
        sa.Column('last_at', sa.DateTime(), nullable=False),
        sa.Column('first_at', sa.DateTime(), nullable=False),
        sa.Column('times', sa.BigInteger(), nullable=False),
        sa.Column('request_ids', sa.Text(), nullable=False),
        sa.UniqueConstraint('fingerprint', name='uniq_placement_unmet_demand0fingerprint'),
        sa.Index('placement_unmet_demand_last_at_idx', 'last_at'),
        # Ids are positions in an answer of several pages, so they must not come back.
        sqlite_autoincrement=True,
    )
    op.create_table(
        'placement_unmet_searches',
        sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
        sa.Column('global_request_id', sa.String(64), nullable=False),
        sa.Column('request_id', sa.String(64), nullable=False),
        sa.Column('fingerprint', sa.String(64), nullable=False),
        sa.Column('trees', sa.String(500), nullable=False),
        sa.Column('microversion', sa.String(16), nullable=False),
        sa.Column('verdict', sa.String(16), nullable=False),
        sa.Column('reason', sa.String(1000), nullable=False),
        sa.Column('at', sa.DateTime(), nullable=False),
        sa.Index('placement_unmet_searches_global_request_id_idx', 'global_request_id'),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    """Remove the tables with what they hold."""
    op.drop_table('placement_unmet_searches')
    op.drop_table('placement_unmet_demand')
