# SPDX-License-Identifier: Apache-2.0
"""Options of the database; all but the last go to oslo.db as they are."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'placement_database',
    title='Placement database',
    help='Where the service keeps its data. The group ``[database]`` is not used.',
)

OPTIONS = [
    cfg.StrOpt(
        'connection',
        required=True,
        secret=True,
        sample_default='<none: the service does not start without it>',
        help="""
SQLAlchemy URL of the database.

For example ``mysql+pymysql://user:password@host/placement?charset=utf8``,
``postgresql+psycopg://user:password@host/placement`` or
``sqlite:////var/lib/placement/placement.sqlite``.
""",
    ),
    cfg.StrOpt(
        'connection_parameters',
        default='',
        help="""
Parameters appended to the URL of the connection, as ``name1=value1&name2=value2``.
""",
    ),
    cfg.BoolOpt(
        'sqlite_synchronous',
        default=True,
        help="""
Let SQLite wait until what it wrote has reached the disk.

Without it writes are faster, and the last of them may be lost when the machine fails.
""",
    ),
    cfg.StrOpt(
        'slave_connection',
        secret=True,
        help="""
SQLAlchemy URL of a replica that answers reads.

A replica that lags behind makes the service answer with what was true a moment ago. Writes,
and what has to be read for them, always use ``connection``.
""",
    ),
    cfg.StrOpt(
        'mysql_sql_mode',
        default='TRADITIONAL',
        help="""
SQL mode of MySQL sessions.

It overrides what the server is configured with; leave the value empty to use the mode of the
server.
""",
    ),
    cfg.IntOpt(
        'connection_recycle_time',
        default=3600,
        help="""
Seconds after which a pooled connection is replaced by a new one when it is next used.
""",
    ),
    cfg.IntOpt(
        'max_pool_size',
        help="""
Most connections that are kept open in the pool; 0 means no bound.
""",
    ),
    cfg.IntOpt(
        'max_retries',
        default=10,
        help="""
How often connecting to the database is attempted at start; -1 means for ever, and 0 that the
service starts without having tried.
""",
    ),
    cfg.IntOpt(
        'retry_interval',
        default=10,
        help="""
Seconds between two attempts to connect to the database at start.
""",
    ),
    cfg.IntOpt(
        'max_overflow',
        help="""
Most connections that may be open beyond ``max_pool_size``, for as long as they are in use.
""",
    ),
    cfg.IntOpt(
        'connection_debug',
        default=0,
        help="""
How much SQLAlchemy logs: 0 nothing, 50 the statements, 100 everything.
""",
    ),
    cfg.BoolOpt(
        'connection_trace',
        default=False,
        help="""
Add the place in the code that asked for it to each statement, as an SQL comment.
""",
    ),
    cfg.IntOpt(
        'pool_timeout',
        help="""
Seconds to wait for a free connection of the pool before the client is told 503.
""",
    ),
    cfg.BoolOpt(
        'sync_on_startup',
        default=False,
        help="""
Bring the schema of the database up to date when the web application starts.

Otherwise this is the work of ``placement-manage db sync``. When several workers start at once
against a database that is behind, prefer the command.
""",
    ),
]
