# SPDX-License-Identifier: Apache-2.0
"""pgbouncer, which gives each transaction, or each session, another connection to the server."""

import contextlib
import os
import pathlib
import subprocess
from collections.abc import Sequence

import sqlalchemy as sa

from placement.tests.databases.servers import free_port, program
from placement.tests.waiting import wait_until

#: The option that makes pgbouncer keep prepared statements apart, since version 1.21.
APART = 'max_prepared_statements'


class Pgbouncer:
    """pgbouncer in front of the server of a URL."""

    def __init__(
        self,
        directory: pathlib.Path,
        url: str,
        options: str,
        mode: str = 'transaction',
        size: int = 3,
    ) -> None:
        server = sa.make_url(url)
        password = f" password='{server.password}'" if server.password else ''
        self.port = free_port()
        self.log = directory / 'log'
        self.settings = directory / 'pgbouncer.ini'
        # With few connections in turn, hardly any transaction gets that of the one before.
        self.settings.write_text(f"""
[databases]
* = host={server.host} port={server.port} user={server.username}{password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
server_round_robin = 1
{options}
""")
        self.url = server.set(host='127.0.0.1', port=self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str]:
        """The command line of the pooler."""
        return [program('pgbouncer'), str(self.settings)]

    def start(self) -> None:
        """Start it, and return when it answers."""
        with self.log.open('ab') as log:
            process = subprocess.Popen(self.command(), stdout=log, stderr=log, user=self.user())
        self._process = process
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)

        def answers() -> bool:
            assert process.poll() is None, self.log.read_text()
            with contextlib.suppress(sa.exc.DBAPIError), engine.connect():
                return True
            return False

        wait_until(answers, self.log.read_text)

    def user(self) -> str | None:
        """The user that it is started as, if that is another one: it refuses to run as root."""
        return 'postgres' if os.getuid() == 0 else None

    def stop(self) -> None:
        """Stop it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
