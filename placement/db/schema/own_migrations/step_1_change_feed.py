# SPDX-License-Identifier: Apache-2.0
"""Tell every worker which providers have changed since it last looked."""

import sqlalchemy as sa
from alembic import op

revision = '5d0c7e1f9a42'
down_revision = None


def upgrade() -> None:
    """Make the feed, with a first entry that is about no provider.

    The feed is never empty after that: a reader that misses the entry it read last knows that it
    has fallen behind.
    """
    feed = op.create_table(
        'placement_provider_changes',
        sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
        sa.Column('provider_id', sa.Integer(), nullable=False),
        sa.Column('at', sa.DateTime(), nullable=False),
        # Ids must not come back when the newest entries are pruned.
        sqlite_autoincrement=True,
    )
    assert feed is not None
    op.execute(sa.insert(feed).values(provider_id=0, at=sa.func.current_timestamp()))
