# SPDX-License-Identifier: Apache-2.0
"""Give each transaction a random token, which its entries in the change feed carry."""

import sqlalchemy as sa
from alembic import op

revision = 'c27f90b4e6d1'
down_revision = '8e41b6c03d57'


def upgrade() -> None:
    """Add the column, which may be null.

    Workers of earlier versions go on writing entries without a token.
    """
    op.add_column('placement_provider_changes', sa.Column('token', sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Remove the column; earlier versions do not read it."""
    op.drop_column('placement_provider_changes', 'token')
