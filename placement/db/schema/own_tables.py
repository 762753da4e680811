# SPDX-License-Identifier: Apache-2.0
"""The tables that are this service's own, beside those that it shares with upstream.

`own_migrations` makes them; a test compares the two.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

# The provider id of an entry that is about no provider. Ids of providers begin at 1.
NO_PROVIDER = 0

change_feed = sa.Table(
    'placement_provider_changes',
    metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
    sa.Column('provider_id', sa.Integer, nullable=False),
    # For operators, and for workers of earlier versions. Nothing here decides by a clock.
    sa.Column('at', sa.DateTime, nullable=False),
    # Workers of the first version of the feed leave it out: then anything may have changed.
    sa.Column('allocations_only', sa.Boolean, nullable=False, server_default=sa.false()),
    # A random number that all entries of one transaction share. Workers of earlier versions
    # leave it out.
    sa.Column('token', sa.BigInteger, nullable=True),
    sqlite_autoincrement=True,
)
