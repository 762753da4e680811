# SPDX-License-Identifier: Apache-2.0
"""Questions to a database that is asked once, for `placement-manage doctor`."""

import contextlib
import time
from collections.abc import Iterator

import sqlalchemy as sa

from placement.conf import ConfigOpts
from placement.db.engine import failures
from placement.db.engine.engines import MissingDriverError, create_engine
from placement.db.engine.timeouts import Timeouts
from placement.db.schema.tables import resource_providers

# Shorter than what a service waits, which has to survive more.
_TIMEOUTS = Timeouts(connect=5, response=5, lock=5)

#: What `opened` and the statements raise when the database does not do what it is asked.
ERRORS = (*failures.DATABASE_ERRORS, sa.exc.ArgumentError, MissingDriverError)

_CLOCKS = {
    'mysql': "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000000",
    'postgresql': 'SELECT EXTRACT(EPOCH FROM clock_timestamp())',
}


def shown(url: str) -> str:
    """A URL without its password."""
    return sa.make_url(url).render_as_string(hide_password=True).partition('?')[0]


@contextlib.contextmanager
def opened(conf: ConfigOpts, url: str | None = None) -> Iterator[sa.Engine]:
    """An engine as the service makes it, which has connected; one attempt is made.

    Its URL is that of `connection` unless another one is given.

    Raises one of `ERRORS`.
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
    """Return how far the clock of the server is ahead of that of this machine; None for SQLite."""
    statement = _CLOCKS.get(engine.dialect.name.replace('mariadb', 'mysql'))
    if statement is None:
        return None
    with engine.connect() as connection:
        connection.execute(sa.text('SELECT 1'))
        before = time.time()
        there = connection.scalar(sa.text(statement))
        after = time.time()
    return float(there) - (before + after) / 2


def check_writable(engine: sa.Engine) -> None:
    """Write nothing, which takes the same privileges as to write something.

    Raises the error of a database that is read-only, or of an account that may not write.
    """
    statement = sa.update(resource_providers).where(resource_providers.c.id == 0)
    with engine.connect() as connection:
        connection.execute(statement.values(generation=0))
        connection.rollback()


def count_roots(engine: sa.Engine) -> int:
    """Return the number of resource providers without parent: hosts, for the most part."""
    count = sa.select(sa.func.count()).where(resource_providers.c.parent_provider_id.is_(None))
    with engine.connect() as connection:
        return connection.scalar(count.select_from(resource_providers)) or 0
