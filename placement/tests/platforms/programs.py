# SPDX-License-Identifier: Apache-2.0
"""Database servers, a pooler, and an interpreter, of a suite of Debian, while they run."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import sqlalchemy as sa

from placement.tests.databases import poolers, servers
from placement.tests.platforms.suites import NOBODY, Suite, files_of_pip
from placement.tests.servers import installation

#: Statements of a user that root of MySQL is not: one who comes over TCP.
OVER_TCP = (
    "CREATE USER root@'127.0.0.1';\nGRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"
)


class InSuite(servers.PrivateServer):
    """A server whose programs are those of a suite."""

    suite: ClassVar[Suite]
    user = 'nobody'
    # MySQL takes minutes on a machine that is busy.
    patience = 600

    def program(self, name: str) -> str:
        return self.suite.program(name)

    def _run(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self.directory / 'log').open('ab') as log:
            return subprocess.Popen(
                self.suite.command(command, NOBODY),
                stdout=log,
                stderr=log,
                env={'PATH': os.environ['PATH'], 'TMPDIR': str(self.directory), 'LANG': 'C.UTF-8'},
            )


class MariadbInSuite(InSuite, servers.Mariadb):
    """MariaDB whose transactions do not overlook what another one has committed."""

    options = ('--innodb-snapshot-isolation=ON', '--max-connections=500')


class MysqlInSuite(InSuite, servers.Mariadb):
    """MySQL, whose programs have other names."""

    server = 'mysqld'
    options = ('--max-connections=500', '--skip-log-bin', '--mysqlx=OFF', '--secure-file-priv=')

    def initialise(self) -> None:
        statements = self.directory / 'users.sql'
        statements.write_text(OVER_TCP)
        statements.chmod(0o644)
        self._run_once(
            [
                self.program(self.server), '--no-defaults', f'--datadir={self.data}',
                '--initialize-insecure', f'--init-file={statements}',
            ]
        )  # fmt: skip


class PostgresqlInSuite(InSuite, servers.Postgresql):
    """PostgreSQL with as many connections as the tests need."""

    def command(self) -> Sequence[str]:
        return [*super().command(), '-c', 'max_connections=500']


class PgbouncerInSuite(poolers.Pgbouncer):
    """pgbouncer of a suite."""

    suite: ClassVar[Suite]

    def command(self) -> Sequence[str]:
        command = [self.suite.program('pgbouncer'), str(self.settings)]
        return self.suite.command(command, NOBODY)

    def user(self) -> str | None:
        return None


@contextlib.contextmanager
def started(kind: type[InSuite], suite: Suite) -> Iterator[InSuite]:
    """A server of a suite that answers."""
    of_suite: Any = type(kind.__name__, (kind,), {'suite': suite})
    with servers.started(of_suite) as server:
        yield server


@contextlib.contextmanager
def pooled(suite: Suite, url: str, mode: str, options: str) -> Iterator[str]:
    """The URL of a server through pgbouncer, which answers."""
    kind = type('Pgbouncer', (PgbouncerInSuite,), {'suite': suite})
    with installation.directory() as directory:
        shutil.chown(directory, 'nobody')
        # No less than the threads of all workers of a test, which a session each keeps.
        pooler = kind(directory, url, options, mode, 60)
        try:
            pooler.start()
            yield pooler.url.render_as_string(hide_password=False)
        finally:
            pooler.stop()


def version_of(text: str) -> str:
    """The first number with dots that a program says of itself."""
    found = re.search(r'\d+(\.\d+)+', text)
    assert found, text
    return found[0]


def server_version(url: str) -> str:
    """The version that a server says to have."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return version_of(str(connection.scalar(sa.text('SELECT version()'))))


def checkout(suite: Suite, repository: pathlib.Path, commit: str) -> str:
    """Have a clone of the repository at a commit in the suite, with an environment; its path."""
    place = '/srv/placement'
    clone_at(commit, repository, suite.root / place[1:])
    suite.run(['make', 'PYTHON=python3', '.venv/.testable'], place, files_of_pip())
    return place


def clone_at(commit: str, repository: pathlib.Path, clone: pathlib.Path) -> None:
    """Have a clone with the files of a commit of HEAD, whose name may be short."""
    if not clone.exists():
        git('clone', '--quiet', '--no-checkout', str(repository), str(clone), at=repository)
    git('fetch', '--quiet', str(repository), 'HEAD', at=clone)
    git('checkout', '--quiet', '--force', '--detach', commit, at=clone)


def git(*arguments: str, at: pathlib.Path) -> str:
    """What git says, in a directory."""
    done = subprocess.run(
        ['git', *arguments], cwd=at, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()
