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

# What columns of unmet demand hold at most. A request id has 40 characters.
ID_LENGTH = 64
TREES_LENGTH = 500
REASON_LENGTH = 1000

# What was searched for in vain, in whatever order it was asked for.
unmet_demand = sa.Table(
    'placement_unmet_demand',
    metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
    # SHA-256 of the query, in hexadecimal digits.
    sa.Column('fingerprint', sa.String(64), nullable=False),
    sa.Column('query', sa.Text, nullable=False),
    # Whether the searches named a tree that they wanted.
    sa.Column('names_tree', sa.Boolean, nullable=False),
    # These four are those of the last search.
    sa.Column('microversion', sa.String(16), nullable=False),
    sa.Column('verdict', sa.String(16), nullable=False),
    sa.Column('reason', sa.String(REASON_LENGTH), nullable=False),
    sa.Column('last_at', sa.DateTime, nullable=False),
    sa.Column('first_at', sa.DateTime, nullable=False),
    sa.Column('times', sa.BigInteger, nullable=False),
    # The ids of the last requests, joined by blanks, the last one last.
    sa.Column('request_ids', sa.Text, nullable=False),
    sa.UniqueConstraint('fingerprint', name='uniq_placement_unmet_demand0fingerprint'),
    sa.Index('placement_unmet_demand_last_at_idx', 'last_at'),
    sqlite_autoincrement=True,
)

# The last searches in vain, one by one.
unmet_searches = sa.Table(
    'placement_unmet_searches',
    metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), primary_key=True),
    # That of the client, or that of the request itself where the client sent none.
    sa.Column('global_request_id', sa.String(ID_LENGTH), nullable=False),
    sa.Column('request_id', sa.String(ID_LENGTH), nullable=False),
    # That of the demand, which has the query.
    sa.Column('fingerprint', sa.String(64), nullable=False),
    # The parameters that name trees, which the query of the demand has not.
    sa.Column('trees', sa.String(TREES_LENGTH), nullable=False),
    sa.Column('microversion', sa.String(16), nullable=False),
    sa.Column('verdict', sa.String(16), nullable=False),
    sa.Column('reason', sa.String(REASON_LENGTH), nullable=False),
    sa.Column('at', sa.DateTime, nullable=False),
    sa.Index('placement_unmet_searches_global_request_id_idx', 'global_request_id'),
    sqlite_autoincrement=True,
)
