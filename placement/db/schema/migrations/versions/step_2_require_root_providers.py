# SPDX-License-Identifier: Apache-2.0
"""Stop if a provider has no root, which every search relies on."""

import sqlalchemy as sa
from alembic import op, util

revision = '611cd6dffd7b'
down_revision = 'b4ed3a175331'

providers = sa.table('resource_providers', sa.column('id'), sa.column('root_provider_id'))


def upgrade() -> None:
    """Leave the schema as it is.

    :raises alembic.util.CommandError: a provider has no root
    """
    without_root = sa.select(providers.c.id).where(providers.c.root_provider_id.is_(None))
    if op.get_bind().execute(without_root.limit(1)).first() is not None:
        raise util.CommandError(
            'There is at least one resource provider without a root provider id. '
            'Run "placement-manage db online_data_migrations" and then sync again.'
        )
