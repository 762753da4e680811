# SPDX-License-Identifier: Apache-2.0
"""A connection to the database for an examination, and its statements."""

import contextlib
import time
from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from placement.conf import ConfigOpts
from placement.db.engine import failures
from placement.db.engine.engines import MissingDriverError, create_engine
from placement.db.engine.timeouts import Timeouts
from placement.db.schema.tables import resource_providers

# Shorter than the timeouts of the service.
_TIMEOUTS = Timeouts(connect=5, response=5, lock=5)

#: Errors that `opened` and the statements raise if the database cannot be used.
ERRORS = (*failures.DATABASE_ERRORS, sa.exc.ArgumentError, MissingDriverError)

_CLOCKS = {
    'mysql': "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000000",
    'postgresql': 'SELECT EXTRACT(EPOCH FROM clock_timestamp())',
}

#: Key in the settings of PostgreSQL: the number of its standbys and base backups.
STANDBYS = 'standbys'

_MYSQL_SETTINGS = (
    'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'innodb_snapshot_isolation',
    'wsrep_on', 'wsrep_sync_wait', 'wsrep_provider_options', 'group_replication_group_name',
    'group_replication_consistency', 'group_replication_single_primary_mode',
)  # fmt: skip
_POSTGRESQL_SETTINGS = ('fsync', 'synchronous_commit', 'synchronous_standby_names')


def shown(url: str) -> str:
    """A URL without its password."""
    return sa.make_url(url).render_as_string(hide_password=True).partition('?')[0]


@contextlib.contextmanager
def opened(conf: ConfigOpts, url: str | None = None) -> Iterator[sa.Engine]:
    """An engine like the service's, connected in one attempt.

    The default of `url` is `[placement_database] connection`.

    :raises ERRORS: the database cannot be used
    """
    group = conf.placement_database
    engine = create_engine(
        url or group.connection,
        max_retries=0,
        connection_parameters=group.connection_parameters,
        bounds=_TIMEOUTS,
        mysql_sql_mode=group.mysql_sql_mode or None,
        sqlite_synchronous=group.sqlite_synchronous,
    )
    try:
        with engine.connect():
            pass
        yield engine
    finally:
        engine.dispose()


def seconds_ahead(engine: sa.Engine) -> float | None:
    """Seconds by which the server's clock is ahead of this machine's; None for SQLite."""
    statement = _CLOCKS.get(engine.dialect.name.replace('mariadb', 'mysql'))
    if statement is None:
        return None
    with engine.connect() as connection:
        connection.execute(sa.text('SELECT 1'))
        before = time.time()
        there = connection.scalar(sa.text(statement))
        after = time.time()
    return float(there) - (before + after) / 2


def count_roots(engine: sa.Engine) -> int:
    """Return the number of resource providers without parent, which are mostly hosts."""
    count = sa.select(sa.func.count()).where(resource_providers.c.parent_provider_id.is_(None))
    with engine.connect() as connection:
        return connection.scalar(count.select_from(resource_providers)) or 0


def settings(engine: sa.Engine) -> Mapping[str, str]:
    """Read the settings for durability in a session of the service.

    Empty for SQLite. Values of MySQL and MariaDB are in lower case.
    """
    with engine.connect() as connection:
        if engine.dialect.name == 'postgresql':
            return _postgresql_settings(connection)
        if engine.dialect.name in ('mysql', 'mariadb'):
            return _mysql_settings(connection)
    return {}


def _mysql_settings(connection: sa.Connection) -> Mapping[str, str]:
    names: sa.BindParameter[str] = sa.bindparam('names', _MYSQL_SETTINGS, expanding=True)
    statement = sa.text('SHOW SESSION VARIABLES WHERE Variable_name IN :names').bindparams(names)
    return {name: str(value).lower() for name, value in connection.execute(statement)}


def _postgresql_settings(connection: sa.Connection) -> Mapping[str, str]:
    names: sa.BindParameter[str] = sa.bindparam('names', _POSTGRESQL_SETTINGS, expanding=True)
    statement = sa.text('SELECT name, setting FROM pg_settings WHERE name IN :names')
    found = {name: str(value) for name, value in connection.execute(statement.bindparams(names))}
    standbys = connection.scalar(sa.text('SELECT count(*) FROM pg_stat_replication'))
    return {**found, STANDBYS: str(standbys)}
