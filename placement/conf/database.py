# SPDX-License-Identifier: Apache-2.0
"""Options of the database."""

from oslo_config import cfg

DATABASE_GROUP = cfg.OptGroup(
    'placement_database',
    title='Placement database',
    help='The database of the service. The group ``[database]`` is not used.',
)

# fmt: off
DATABASE_OPTIONS = [
    cfg.StrOpt('connection', required=True, secret=True,
        sample_default='<none: the service does not start without it>', help="""
SQLAlchemy URL of the database.

For example ``mysql+pymysql://user:password@host/placement?charset=utf8``,
``postgresql+psycopg://user:password@host/placement`` or
``sqlite:////var/lib/placement/placement.sqlite``.
"""),
    cfg.StrOpt('connection_parameters', default='', help="""
Parameters appended to the URL of the connection, as ``name1=value1&name2=value2``.
"""),
    cfg.BoolOpt('sqlite_synchronous', default=True, help="""
Make SQLite wait until each commit has reached the disk.

Without it writes are faster, and a power failure may lose the last of them.
"""),
    cfg.StrOpt('slave_connection', secret=True, help="""
SQLAlchemy URL of a replica that answers reads.

While the replica lags behind, the service answers with the state of a moment ago. Writes, and
reads that a write depends on, always use ``connection``.
"""),
    cfg.StrOpt('mysql_sql_mode', default='TRADITIONAL', help="""
SQL mode of MySQL sessions.

It overrides the mode of the server; an empty value keeps the mode of the server.
"""),
    cfg.IntOpt('connection_recycle_time', default=3600, help="""
Seconds after which a pooled connection is replaced by a new one when it is next used.
"""),
    cfg.IntOpt('max_pool_size', help="""
Maximum number of connections kept open in the pool; 0 means unlimited.
"""),
    cfg.IntOpt('max_retries', default=10, help="""
Number of attempts to connect to the database at start; -1 means unlimited, and 0 that the
service starts without an attempt.
"""),
    cfg.IntOpt('retry_interval', default=10, help="""
Seconds between two attempts to connect to the database at start.
"""),
    cfg.IntOpt('max_overflow', help="""
Maximum number of connections in use beyond ``max_pool_size``.
"""),
    cfg.IntOpt('connection_debug', default=0, help="""
Amount that SQLAlchemy logs: 0 nothing, 50 the statements, 100 everything.
"""),
    cfg.BoolOpt('connection_trace', default=False, help="""
Add an SQL comment to each statement with the lines of code it comes from.
"""),
    cfg.IntOpt('pool_timeout', help="""
Seconds to wait for a free connection of the pool before the service answers 503.
"""),
    cfg.IntOpt('connect_timeout', default=10, min=0, help="""
Seconds to wait for a connection to the database server; 0 waits as long as the driver does.
"""),
    cfg.IntOpt('response_timeout', default=30, min=0, help="""
Seconds to wait for the response of the database server to a statement; 0 waits for ever.

After that the connection is closed, and the service answers 503. It applies to PyMySQL,
mysqlclient and psycopg. With psycopg2 the service notices only a server whose machine does not
respond, by TCP. Migrations of the schema wait as long as it takes.
"""),
    cfg.IntOpt('lock_timeout', min=1, help="""
Seconds to wait for a lock that another transaction has: by default 5, and with SQLite 20.

After that the service answers 503. It sets ``innodb_lock_wait_timeout`` and ``lock_wait_timeout``
of MySQL sessions, ``lock_timeout`` of each transaction of PostgreSQL, and the busy timeout of
SQLite. Keep it below ``response_timeout`` and below the timeouts of clients and proxies.
"""),
    cfg.BoolOpt('sync_on_startup', default=False, help="""
Migrate the schema of the database when the web application starts.

By default only ``placement-manage db sync`` migrates it. Prefer the command where several workers
start at once.
"""),
]
# fmt: on
