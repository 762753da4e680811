# SPDX-License-Identifier: Apache-2.0
"""The tables that are this service's own, beside those that it shares with upstream.

`own_migrations` creates them.
"""

import sqlalchemy as sa

metadata = sa.MetaData()

# The provider id of an entry that is about no provider. Ids of providers begin at 1.
NO_PROVIDER = 0


def _numbered_table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    """Return a table with ids, none of which SQLite gives to a second row."""
    id_type = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    row_id = sa.Column('id', id_type, primary_key=True)
    return sa.Table(name, metadata, row_id, *columns, sqlite_autoincrement=True)


change_feed = _numbered_table(
    'placement_provider_changes',
    sa.Column('provider_id', sa.Integer, nullable=False),
    # By the clock of the writer; the age of old entries decides when they are removed.
    sa.Column('at', sa.DateTime, nullable=False),
    # Whether nothing but the allocations of the provider changed.
    sa.Column('allocations_only', sa.Boolean, nullable=False),
    # A random number that all entries of one transaction share.
    sa.Column('token', sa.BigInteger, nullable=False),
    # The uuid that the provider had until the transaction deleted it, or gave it another; null in
    # all other entries.
    sa.Column('deleted_uuid', sa.String(36), nullable=True),
)

# The parts of the feed that were removed, from one id to before another, and how many entries they
# had: whoever had read as many has missed none.
removed_changes = sa.Table(
    'placement_removed_changes',
    metadata,
    sa.Column('end_id', sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column('start_id', sa.BigInteger, nullable=False),
    sa.Column('entries', sa.Integer, nullable=False),
)

# What columns of unmet demand hold at most. A request id has 40 characters.
ID_LENGTH = 64
TREES_LENGTH = 500
REASON_LENGTH = 1000

# What was searched for in vain, in whatever order it was asked for.
unmet_demand = _numbered_table(
    'placement_unmet_demand',
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
)

# The last searches in vain, one by one.
unmet_searches = _numbered_table(
    'placement_unmet_searches',
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
)

# What columns of the history hold at most.
ACTION_LENGTH = 64
KIND_LENGTH = 16
EXTERNAL_ID_LENGTH = 255

# Who changed what: the state of providers, consumers and names after each request that changed
# them.
change_history = _numbered_table(
    'placement_history',
    sa.Column('at', sa.DateTime, nullable=False),
    sa.Column('request_id', sa.String(ID_LENGTH), nullable=False),
    # That of the client, if it sent one.
    sa.Column('global_request_id', sa.String(ID_LENGTH), nullable=True),
    # Whoever sent the request, which is mostly another service. In ASCII.
    sa.Column('caller_user_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('caller_user_name', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('caller_project_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('action', sa.String(ACTION_LENGTH), nullable=False),
    # What the row is about, and the uuid of that; resource classes and traits have none.
    sa.Column('kind', sa.String(KIND_LENGTH), nullable=False),
    sa.Column('uuid', sa.String(36), nullable=True),
    # To whom the consumer belongs, or all the consumers whose allocations the request changed.
    sa.Column('project_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('user_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    # Null where it has not changed, or there is none any more.
    sa.Column('generation', sa.Integer, nullable=True),
    # JSON in ASCII; null for what is not there any more. MEDIUMTEXT on MySQL and MariaDB, which to
    # say here would load their dialect for every database.
    sa.Column('state', sa.Text, nullable=True),
    sa.Index('placement_history_uuid_idx', 'uuid', 'id'),
    sa.Index('placement_history_request_id_idx', 'request_id'),
    sa.Index('placement_history_global_request_id_idx', 'global_request_id'),
    sa.Index('placement_history_at_idx', 'at'),
)
