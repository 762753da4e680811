# SPDX-License-Identifier: Apache-2.0
"""Create the tables of this service: the change feed, unmet demand, and the history."""

import secrets

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = '7b1e94d05c3a'
down_revision = None

# Most tables are read by id, page by page, so that ids must not be assigned again.
AUTO_ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
TEXT = sa.Text().with_variant(mysql.MEDIUMTEXT(), 'mysql', 'mariadb')

TABLES = (
    'placement_provider_changes',
    'placement_removed_changes',
    'placement_unmet_demand',
    'placement_unmet_searches',
    'placement_history',
)


def upgrade() -> None:
    """Create the tables, and a first entry of the feed that is about no provider.

    The feed is never empty after that: a reader that misses the entry it read last knows that it
    has fallen behind, and a reader of another feed that this is not the same. Tables that exist
    without a revision are left over from before a restore, and belong to another database.
    """
    downgrade()
    _create_feed()
    _create_unmet_demand()
    _create_history()


def downgrade() -> None:
    """Drop the tables with their rows."""
    for name in TABLES:
        op.drop_table(name, if_exists=True)


def _create_feed() -> None:
    feed = op.create_table(
        'placement_provider_changes',
        sa.Column('id', AUTO_ID, primary_key=True),
        sa.Column('provider_id', sa.Integer(), nullable=False),
        sa.Column('at', sa.DateTime(), nullable=False),
        sa.Column('allocations_only', sa.Boolean(), nullable=False),
        sa.Column('token', sa.BigInteger(), nullable=False),
        sa.Column('deleted_uuid', sa.String(36), nullable=True),
        sqlite_autoincrement=True,
    )
    assert feed is not None
    entry = {'at': sa.func.current_timestamp(), 'token': secrets.randbits(63)}
    op.execute(sa.insert(feed).values(provider_id=0, allocations_only=True, **entry))
    op.create_table(
        'placement_removed_changes',
        sa.Column('end_id', sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column('start_id', sa.BigInteger(), nullable=False),
        sa.Column('entries', sa.Integer(), nullable=False),
    )


def _create_unmet_demand() -> None:
    op.create_table(
        'placement_unmet_demand',
        sa.Column('id', AUTO_ID, primary_key=True),
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
        sqlite_autoincrement=True,
    )
    op.create_table(
        'placement_unmet_searches',
        sa.Column('id', AUTO_ID, primary_key=True),
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


def _create_history() -> None:
    op.create_table(
        'placement_history',
        sa.Column('id', AUTO_ID, primary_key=True),
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
        sa.Column('state', TEXT, nullable=True),
        sa.Index('placement_history_uuid_idx', 'uuid', 'id'),
        sa.Index('placement_history_request_id_idx', 'request_id'),
        sa.Index('placement_history_global_request_id_idx', 'global_request_id'),
        sa.Index('placement_history_at_idx', 'at'),
        sqlite_autoincrement=True,
    )
