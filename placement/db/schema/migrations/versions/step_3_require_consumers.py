# SPDX-License-Identifier: Apache-2.0
"""Stop if an allocation has no consumer: it would be invisible to every reader."""

import sqlalchemy as sa
from alembic import op, util

revision = 'b5c396305c25'
down_revision = '611cd6dffd7b'

allocations = sa.table('allocations', sa.column('id'), sa.column('consumer_id'))
consumers = sa.table('consumers', sa.column('uuid'))


def upgrade() -> None:
    """Leave the schema as it is.

    :raises alembic.util.CommandError: an allocation has no consumer
    """
    without_consumer = (
        sa.select(allocations.c.id)
        .outerjoin(consumers, allocations.c.consumer_id == consumers.c.uuid)
        .where(consumers.c.uuid.is_(None))
    )
    if op.get_bind().execute(without_consumer.limit(1)).first() is not None:
        raise util.CommandError(
            'There is at least one allocation without a consumer record. '
            'Run "placement-manage db online_data_migrations" and then sync again.'
        )
