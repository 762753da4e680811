# SPDX-License-Identifier: Apache-2.0
"""Temporary databases of the benchmark."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

ENGINES = ('sqlite', 'mariadb', 'postgresql')

# Default URLs of database servers.
SERVERS = {
    'mariadb': 'mysql+pymysql://root@127.0.0.1:3306',
    'postgresql': 'postgresql+psycopg://postgres@127.0.0.1:5432',
}


@contextmanager
def temporary_database(
    engine: str, name: str, directory: pathlib.Path, server_url: str | None = None
) -> Iterator[str]:
    """The URL of an empty database, which is dropped at the end of the block.

    :raises sqlalchemy.exc.SQLAlchemyError: the server cannot be used
    """
    if engine == 'sqlite':
        yield from _temporary_file(directory / f'{name}.sqlite')
        return
    url = server_url or SERVERS[engine]
    database = f'placement_bench_{name}_{os.getpid()}'
    options = '?charset=utf8mb4' if engine == 'mariadb' else ''
    _administer(url, engine, f'CREATE DATABASE {database}')
    try:
        yield f'{url}/{database}{options}'
    finally:
        force = ' WITH (FORCE)' if engine == 'postgresql' else ''
        _administer(url, engine, f'DROP DATABASE {database}{force}')


def _temporary_file(file: pathlib.Path) -> Iterator[str]:
    companions = [file, file.with_name(f'{file.name}-wal'), file.with_name(f'{file.name}-shm')]
    for path in companions:
        path.unlink(missing_ok=True)
    try:
        yield f'sqlite:///{file}'
    finally:
        for path in companions:
            path.unlink(missing_ok=True)


def _administer(server: str, engine: str, statement: str) -> None:
    """Create or drop a database."""
    maintenance = '/postgres' if engine == 'postgresql' else ''
    administration = sa.create_engine(f'{server}{maintenance}', isolation_level='AUTOCOMMIT')
    try:
        with administration.connect() as connection:
            connection.execute(sa.text(statement))
    finally:
        administration.dispose()
