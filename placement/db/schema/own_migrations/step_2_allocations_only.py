# SPDX-License-Identifier: Apache-2.0
"""Tell changes of what is allocated from changes of anything."""

import sqlalchemy as sa
from alembic import op

revision = '8e41b6c03d57'
down_revision = '5d0c7e1f9a42'


def upgrade() -> None:
    """Add a column that says so, and says no where nobody said anything.

    Workers of the version before go on writing entries without it, which then mean that anything
    may have changed; they read all entries in that way.
    """
    op.add_column(
        'placement_provider_changes',
        sa.Column('allocations_only', sa.Boolean(), nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    """Remove the column: every entry then means that anything may have changed."""
    op.drop_column('placement_provider_changes', 'allocations_only')
