# SPDX-License-Identifier: Apache-2.0
"""Restores a dump into a database of its own, statement by statement.

Of a dump only what makes and fills tables is executed: never what names another database, sets
something of the server, or is a command of a client.
"""

import contextlib
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import psycopg
import pymysql
import sqlalchemy as sa

from placement.tests.functional.fixtures import databases
from tools.rehearse.access_log import opened
from tools.rehearse.failure import CannotRehearse

SQLITE_FILE = b'SQLite format 3\0'
PACKED_BY_PG_DUMP = b'PGDMP'


class Engine(NamedTuple):
    """A kind of dump: its first and last lines, and the statements that are executed."""

    name: str
    head: re.Pattern[str]
    end: str
    wanted: re.Pattern[str]
    # The variable of the environment that names the server.
    variable: str = ''


MYSQL = Engine(
    'MariaDB or MySQL',
    re.compile(r'^-- (MariaDB|MySQL) dump', re.M),
    '-- Dump completed',
    re.compile(
        r'((DROP TABLE IF EXISTS|CREATE TABLE|INSERT INTO|LOCK TABLES) `\w+`[ ;]|UNLOCK TABLES)'
        r'|/\*M?!\d+ (SET (?!.*GLOBAL)|ALTER TABLE )'
    ),
    'PLACEMENT_TEST_MARIADB_URL',
)
POSTGRESQL = Engine(
    'PostgreSQL',
    re.compile(r'^-- PostgreSQL database dump$', re.M),
    '-- PostgreSQL database dump complete',
    re.compile(
        r'(CREATE (TABLE|SEQUENCE|TYPE|(UNIQUE )?INDEX)|INSERT INTO|COPY \S+ \(.*\) FROM stdin'
        r'|ALTER SEQUENCE|ALTER TABLE(?!.*OWNER TO)'
        r'|SELECT pg_catalog\.setval|SET (client_encoding|standard_con))'
    ),
    'PLACEMENT_TEST_POSTGRESQL_URL',
)
SQLITE = Engine(
    'SQLite',
    re.compile(r'\A(PRAGMA foreign_keys=OFF;\s+)?BEGIN TRANSACTION;'),
    'COMMIT;',
    re.compile(''),
)
ENGINES = (MYSQL, POSTGRESQL, SQLITE)

_ATTACH = sqlite3.SQLITE_ATTACH

# Lines between statements: comments, commands of a client, nothing.
_IGNORED = re.compile(r'--|\\|/\*.*\*/\s*$|\s*$')

# A database that a dump names, so that it would be restored there.
_NAMED = re.compile(
    r'(?:USE|\\connect|CREATE DATABASE(?: /\*.*?\*/)?)\s+(?:[-\w]+=\S+ )*[`"]?(\w+)'
)


def recognise(path: pathlib.Path) -> Engine:
    """Return the engine of a dump, by its first bytes.

    :raises CannotRehearse: it is no dump, or that of a whole server
    """
    try:
        with opened(path) as file:
            head = file.read(4096)
    except (OSError, EOFError) as error:
        raise CannotRehearse(f'{path} cannot be read: {error}') from error
    if head.startswith(SQLITE_FILE):
        return SQLITE
    if head.startswith(PACKED_BY_PG_DUMP):
        return POSTGRESQL
    text = head.decode(errors='replace')
    for engine in ENGINES:
        if engine.head.search(text):
            return engine
    names = ', '.join(engine.name for engine in ENGINES)
    raise CannotRehearse(f'{path} is no dump of a database of {names}')


@contextlib.contextmanager
def restored(path: pathlib.Path, engine: Engine) -> Iterator[str]:
    """Restore a dump into a database that is dropped afterwards; the URL of that.

    :raises CannotRehearse: there is no server, or the dump is truncated or not of Placement
    """
    url = os.environ.get(engine.variable, '')
    if engine.variable and not url:
        raise CannotRehearse(f'a dump of {engine.name} needs a server: set {engine.variable}')
    with contextlib.ExitStack() as stack:
        try:
            database = databases.create_empty(url)
            stack.callback(database.drop)
            _restore(path, engine, database.url)
            _check_tables(path, database.url)
        except (sa.exc.SQLAlchemyError, sqlite3.Error, pymysql.Error, psycopg.Error) as error:
            # The last is the message, after a number of PyMySQL's.
            cause: BaseException = getattr(error, 'orig', None) or error
            message = str((cause.args or ('',))[-1]).partition('\n')[0][:200]
            raise CannotRehearse(f'{path} cannot be restored: {message}') from error
        yield database.url


def _restore(path: pathlib.Path, engine: Engine, url: str) -> None:
    if engine is SQLITE:
        _restore_sqlite(path, pathlib.Path(url.removeprefix('sqlite:///')))
        return
    pool = sa.create_engine(url, poolclass=sa.NullPool)
    with contextlib.closing(pool.raw_connection()) as connection:
        # PyMySQL and psycopg take the bytes of a dump as they are, whatever its encoding.
        cursor: Any = connection.cursor()
        for statement, rows in _statements(path, engine):
            if rows is None:
                cursor.execute(statement)
                continue
            with cursor.copy(statement) as copy:
                for row in rows:
                    copy.write(row)
        connection.commit()


def _statements(
    path: pathlib.Path, engine: Engine
) -> Iterator[tuple[str, Iterator[bytes] | None]]:
    """Iterate over the statements to execute, and what COPY takes from the lines that follow."""
    statement, named, is_complete = '', set(), False
    with _text_of(path) as lines:
        for line in lines:
            text = line.decode(errors='surrogateescape')
            if not statement:
                is_complete = is_complete or text.startswith(engine.end)
                if text.endswith('\n') and (found := _NAMED.match(text)):
                    named.add(found[1])
                    if len(named) > 1:
                        raise CannotRehearse(f'{path} has several databases: {", ".join(named)}')
                if _IGNORED.match(text):
                    continue
            statement += text
            if not text.rstrip().endswith(';'):
                continue
            if engine.wanted.match(statement):
                rows = _rows(path, lines) if statement.startswith('COPY ') else None
                # In place of the mark of the end a driver takes none.
                yield statement.rstrip().rstrip(';'), rows
            statement = ''
    if statement or not is_complete:
        raise CannotRehearse(f'{path} is truncated: it does not end with "{engine.end}"')


def _rows(path: pathlib.Path, lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line == b'\\.\n':
            return
        yield line
    raise CannotRehearse(f'{path} is truncated: it ends within the rows of a table')


@contextlib.contextmanager
def _text_of(path: pathlib.Path) -> Iterator[Iterator[bytes]]:
    """Open a dump as lines; that of `pg_dump --format custom` is made into text first."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(opened(path))
        if file.read(5) == PACKED_BY_PG_DUMP:
            text = stack.enter_context(tempfile.TemporaryFile())
            command = ['pg_restore', '--file=-', str(path)]
            if not shutil.which(command[0]):
                raise CannotRehearse(f'{path} takes pg_restore: install the client of PostgreSQL')
            done = subprocess.run(command, stdout=text, stderr=subprocess.PIPE, text=True)
            if done.returncode:
                raise CannotRehearse(f'{path}: {done.stderr.splitlines()[-1]}')
            file = text
        file.seek(0)
        try:
            yield file
        except EOFError as error:
            raise CannotRehearse(f'{path} is truncated: its packed data end early') from error


def _restore_sqlite(path: pathlib.Path, file: pathlib.Path) -> None:
    with opened(path) as dump:
        contents = dump.read()
    if contents.startswith(SQLITE_FILE):
        file.write_bytes(contents)
        return
    if not contents.rstrip().endswith(SQLITE.end.encode()):
        raise CannotRehearse(f'{path} is truncated: it does not end with "{SQLITE.end}"')
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_DENY if action == _ATTACH else sqlite3.SQLITE_OK
        )
        connection.executescript(contents.decode())


def _check_tables(path: pathlib.Path, url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    if not sa.inspect(engine).has_table('resource_providers'):
        raise CannotRehearse(f'{path} is no dump of Placement: it has no table resource_providers')


def table_rows(url: str) -> Mapping[str, list[tuple[object, ...]]]:
    """Return the rows of each table, in the order of their keys."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    metadata = sa.MetaData()
    with engine.connect() as connection:
        metadata.reflect(connection)
        return {
            name: [
                tuple(row)
                for row in connection.execute(sa.select(table).order_by(*table.primary_key))
            ]
            for name, table in metadata.tables.items()
        }
