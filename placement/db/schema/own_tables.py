# SPDX-License-Identifier: Apache-2.0
"""The tables that are this service's own, in addition to the tables shared with upstream.

`own_migrations` creates them.
"""

import sqlalchemy as sa

metadata = sa.MetaData()

# The provider id of an entry without provider. Ids of providers begin at 1.
NO_PROVIDER = 0


def _numbered_table(name: str, *columns: sa.schema.SchemaItem) -> sa.Table:
    """Return a table with ids, which SQLite never reuses."""
    id_type = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
    row_id = sa.Column('id', id_type, primary_key=True)
    return sa.Table(name, metadata, row_id, *columns, sqlite_autoincrement=True)


change_feed = _numbered_table(
    'placement_provider_changes',
    sa.Column('provider_id', sa.Integer, nullable=False),
    # By the clock of the database; the age of old entries decides when they are removed.
    sa.Column('at', sa.DateTime, nullable=False),
    # True if only the allocations of the provider changed.
    sa.Column('allocations_only', sa.Boolean, nullable=False),
    # A random number that all entries of one transaction share.
    sa.Column('token', sa.BigInteger, nullable=False),
    # The uuid of the provider before the transaction deleted it or changed its uuid; null in all
    # other entries.
    sa.Column('deleted_uuid', sa.String(36), nullable=True),
)

# The removed parts of the feed, from one id to before another, and the number of their entries: a
# reader that has read as many has missed none.
removed_changes = sa.Table(
    'placement_removed_changes',
    metadata,
    sa.Column('end_id', sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column('start_id', sa.BigInteger, nullable=False),
    sa.Column('entries', sa.Integer, nullable=False),
)

# The ids of present and former custom resource classes, which are never reused. `changes` exists
# only to change a row; nothing reads it.
class_ids = sa.Table(
    'placement_class_ids',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
    sa.Column('changes', sa.BigInteger, nullable=False),
)

# Lengths of columns of unmet demand. A request id has 40 characters.
ID_LENGTH = 64
TREES_LENGTH = 500
REASON_LENGTH = 1000

# Unmet searches, one row for each query in any order of its parameters.
unmet_demand = _numbered_table(
    'placement_unmet_demand',
    # SHA-256 of the query, in hexadecimal digits.
    sa.Column('fingerprint', sa.String(64), nullable=False),
    sa.Column('query', sa.Text, nullable=False),
    # True if the searches had `in_tree`.
    sa.Column('names_tree', sa.Boolean, nullable=False),
    # These four columns describe the last search.
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

# The last unmet searches, one by one.
unmet_searches = _numbered_table(
    'placement_unmet_searches',
    # The id that the client sent, or the request's own id if the client sent none.
    sa.Column('global_request_id', sa.String(ID_LENGTH), nullable=False),
    sa.Column('request_id', sa.String(ID_LENGTH), nullable=False),
    # The fingerprint of the row of `unmet_demand`, which has the query.
    sa.Column('fingerprint', sa.String(64), nullable=False),
    # The parameters that name trees, which the query of the demand omits.
    sa.Column('trees', sa.String(TREES_LENGTH), nullable=False),
    sa.Column('microversion', sa.String(16), nullable=False),
    sa.Column('verdict', sa.String(16), nullable=False),
    sa.Column('reason', sa.String(REASON_LENGTH), nullable=False),
    sa.Column('at', sa.DateTime, nullable=False),
    sa.Index('placement_unmet_searches_global_request_id_idx', 'global_request_id'),
)

# Lengths of columns of the history.
ACTION_LENGTH = 64
KIND_LENGTH = 16
EXTERNAL_ID_LENGTH = 255

PROMISE_NAME_LENGTH = 64

# Promises: a number of consumers of one request that the cloud should have room for.
promises = sa.Table(
    'placement_promises',
    metadata,
    sa.Column('name', sa.String(PROMISE_NAME_LENGTH), primary_key=True),
    sa.Column('query', sa.Text, nullable=False),
    sa.Column('count', sa.Integer, nullable=False),
    # By the clock of the database.
    sa.Column('set_at', sa.DateTime, nullable=False),
    # True if searches are not offered candidates that would take the room.
    sa.Column('keep', sa.Boolean, nullable=False, server_default=sa.false()),
    # The user and project of the caller that has set it, in ASCII.
    sa.Column('user_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('project_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
)

# The history of changes: the state of providers, consumers and names after each request that
# changed them, and its caller.
change_history = _numbered_table(
    'placement_history',
    sa.Column('at', sa.DateTime, nullable=False),
    sa.Column('request_id', sa.String(ID_LENGTH), nullable=False),
    # The id that the client sent, if any.
    sa.Column('global_request_id', sa.String(ID_LENGTH), nullable=True),
    # The sender of the request, which is mostly another service. In ASCII.
    sa.Column('caller_user_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('caller_user_name', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('caller_project_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('action', sa.String(ACTION_LENGTH), nullable=False),
    # The kind of the subject, and its uuid; resource classes and traits have none.
    sa.Column('kind', sa.String(KIND_LENGTH), nullable=False),
    sa.Column('uuid', sa.String(36), nullable=True),
    # The owner of the consumer, or of all consumers whose allocations the request changed.
    sa.Column('project_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    sa.Column('user_id', sa.String(EXTERNAL_ID_LENGTH), nullable=True),
    # Null if it has not changed, or the subject was deleted.
    sa.Column('generation', sa.Integer, nullable=True),
    # JSON in ASCII; null for a deleted subject. MEDIUMTEXT on MySQL and MariaDB; declaring that
    # here would import their dialect for every database.
    sa.Column('state', sa.Text, nullable=True),
    sa.Index('placement_history_uuid_idx', 'uuid', 'id'),
    sa.Index('placement_history_request_id_idx', 'request_id'),
    sa.Index('placement_history_global_request_id_idx', 'global_request_id'),
    sa.Index('placement_history_at_idx', 'at'),
)
