# SPDX-License-Identifier: Apache-2.0
"""Replicated database servers: a primary with its replica, and the nodes of a cluster of Galera or
of PostgreSQL."""

import contextlib
import pathlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from placement.tests import waiting
from placement.tests.databases import servers

#: Where distributions put the library of Galera.
PROVIDERS = ('/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so')

#: Small files: each server of a cluster writes, and copies, files of its own.
SMALL = ('--innodb-log-file-size=8M', '--innodb-buffer-pool-size=32M')


# A primary and a replica


class MariadbPrimary(servers.Mariadb):
    """MariaDB that writes a binary log for its replica."""

    options = SMALL

    def command(self) -> Sequence[str]:
        return [
            *super().command(),
            '--server-id=1',
            '--log-bin=binlog',
            '--binlog-format=ROW',
        ]

    def service_url(self) -> str:
        """The URL for a service, as a user to whom read_only applies (it does not to root)."""
        return self.url('placement').replace('//root@', '//placement@')

    def prepare(self) -> None:
        super().prepare()
        self.execute("CREATE USER placement@'127.0.0.1'")
        self.execute("GRANT ALL ON placement.* TO placement@'127.0.0.1'")


class MariadbReplica(servers.Mariadb):
    """MariaDB that replays the binary log of its primary, and is read-only for all others."""

    options = SMALL

    def __init__(self, primary: MariadbPrimary) -> None:
        super().__init__()
        self._primary = primary

    def command(self) -> Sequence[str]:
        return [*super().command(), '--server-id=2', '--read-only=1']

    def follow(self) -> None:
        """Start replication."""
        self.execute(
            f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={self._primary.port},"
            " MASTER_USER='root', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos"
        )
        self.execute('START SLAVE')

    def service_url(self) -> str:
        """The URL for a service."""
        return self.url('placement').replace('//root@', '//placement@')

    def pause(self) -> None:
        """Stop replaying, so that the replica lags."""
        self.execute('STOP SLAVE SQL_THREAD')

    def resume(self) -> None:
        """Replay again."""
        self.execute('START SLAVE SQL_THREAD')

    def catch_up(self) -> None:
        """Wait until all is replayed that the primary has committed by now."""
        done = self._primary.value('SELECT @@gtid_binlog_pos')
        self.wait_until(f"SELECT MASTER_GTID_WAIT('{done}', {servers.TIMEOUT})", 0)


class PostgresqlReplica(servers.Postgresql):
    """PostgreSQL that starts from a base backup and replays the log streamed by its primary."""

    def __init__(self, primary: servers.Postgresql) -> None:
        super().__init__()
        self._primary = primary
        self.data.chmod(0o700)

    def initialise(self) -> None:
        self._run_once(
            [
                servers.program('pg_basebackup'),
                '--host=127.0.0.1',
                f'--port={self._primary.port}',
                '--username=postgres',
                f'--pgdata={self.data}',
                '--checkpoint=fast',
                '--wal-method=stream',
                '--write-recovery-conf',
            ]
        )

    def follow(self) -> None:
        """Nothing: pg_basebackup has written the connection to the primary."""

    def pause(self) -> None:
        """Stop replaying, so that the replica lags."""
        self.execute('SELECT pg_wal_replay_pause()')
        # The pause takes effect only after the record that is being replayed.
        self.wait_until('SELECT pg_get_wal_replay_pause_state()', 'paused')

    def resume(self) -> None:
        """Replay again."""
        self.execute('SELECT pg_wal_replay_resume()')

    def catch_up(self) -> None:
        """Wait until all is replayed that the primary has committed by now."""
        done = self._primary.value('SELECT pg_current_wal_lsn()')
        self.wait_until(f"SELECT pg_last_wal_replay_lsn() >= '{done}'", True)


Primary = MariadbPrimary | servers.Postgresql
Replica = MariadbReplica | PostgresqlReplica


#: What a primary and its replica are made by, by engine.
PAIRS: Mapping[str, tuple[type[Primary], Callable[[Any], Replica]]] = {
    'mariadb': (MariadbPrimary, MariadbReplica),
    'postgresql': (servers.Postgresql, PostgresqlReplica),
}


@contextlib.contextmanager
def replicating(engine: str) -> Iterator[tuple[Primary, Replica]]:
    """A running primary with an empty database `placement`, and its replica."""
    kind, kind_of_replica = PAIRS[engine]
    with servers.started(kind) as primary:
        replica = kind_of_replica(primary)
        try:
            replica.initialise()
            replica.start()
            replica.follow()
            yield primary, replica
        finally:
            replica.remove()


# Galera


class GaleraNode(servers.Mariadb):
    """One node of a multi-primary cluster."""

    options: Sequence[str] = SMALL

    def __init__(self, members: Sequence['GaleraNode'], flush: int = 2) -> None:
        super().__init__()
        self._members = members
        self._flush = flush
        self.group_port, self._state_port, self._copy_port = (
            servers.free_port() for _ in range(3)
        )
        # The position to start from, as recovered from the tables after a crash.
        self._position = ''
        self.bootstraps = False

    def service_url(self, waits: bool = True) -> str:
        """The URL for a service; with `waits` its reads see all that was committed on any node."""
        url = sa.make_url(self.url('placement'))
        statement = f'SET SESSION wsrep_sync_wait = {7 if waits else 0}'
        url = url.update_query_dict({'init_command': statement})
        return url.render_as_string(hide_password=False)

    def initialise(self) -> None:
        """Create the tables on the node that bootstraps the cluster; joining nodes copy them."""
        if self.bootstraps:
            super().initialise()

    def command(self) -> Sequence[str]:
        found = [path for path in PROVIDERS if pathlib.Path(path).exists()]
        assert found, 'Galera is not installed'
        members = ','.join(f'127.0.0.1:{node.group_port}' for node in self._members)
        provider_options = ';'.join(
            [
                f'gmcast.listen_addr=tcp://127.0.0.1:{self.group_port}',
                f'ist.recv_addr=127.0.0.1:{self._state_port}',
                'gcache.size=16M',
            ]
        )
        return [
            *super().command(),
            '--wsrep-on=ON',
            f'--wsrep-provider={found[0]}',
            '--binlog-format=ROW',
            '--default-storage-engine=InnoDB',
            '--innodb-autoinc-lock-mode=2',
            f'--innodb-flush-log-at-trx-commit={self._flush}',
            '--wsrep-cluster-name=placement',
            f'--wsrep-cluster-address=gcomm://{members}',
            '--wsrep-node-address=127.0.0.1',
            f'--wsrep-node-name={self.port}',
            '--wsrep-sst-method=rsync',
            f'--wsrep-sst-receive-address=127.0.0.1:{self._copy_port}',
            f'--wsrep-provider-options={provider_options}',
            *(['--wsrep-new-cluster'] if self.bootstraps else []),
            *([f'--wsrep-start-position={self._position}'] if self._position else []),
        ]

    def start(self) -> None:
        """Start the node, and wait until it is synced."""
        super().start()
        self.wait_until(STATUS % 'wsrep_local_state_comment', 'Synced')
        self.bootstraps = False

    def recover(self) -> None:
        """Find the position to start from after a crash, as the script of distributions does."""
        self._run_once([*self.command(), '--wsrep-recover'])
        found = re.findall(r'Recovered position: (\S+)', self.log())
        assert found, self.log()
        self._position = found[-1]

    @property
    def recovered(self) -> int:
        """The last transaction that its tables have, by the number that all nodes know it by."""
        return int(self._position.partition(':')[2].partition(',')[0])

    def bootstrap(self) -> None:
        """Form the cluster again from the tables of this node, when all are down."""
        state = self.data / 'grastate.dat'
        state.write_text(state.read_text().replace('safe_to_bootstrap: 0', 'safe_to_bootstrap: 1'))
        self.bootstraps = True
        self.start()

    def catch_up(self, other: 'GaleraNode') -> None:
        """Wait until the node has applied all that another one has committed."""
        committed = other.count('wsrep_last_committed')
        waiting.wait_until(lambda: self.count('wsrep_last_committed') >= committed)

    def count(self, *names: str) -> int:
        """The sum of some counters of the node."""
        return sum(int(self.value(STATUS % name)) for name in names)


STATUS = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '%s'"


@contextlib.contextmanager
def galera(
    number: int = 3, address: str = '127.0.0.1', flush: int = 2
) -> Iterator[Sequence[GaleraNode]]:
    """The nodes of a running cluster, bound to an address, without a database of a service.

    `flush` is their innodb_flush_log_at_trx_commit.
    """
    # Nodes copy each other's data with rsync, and report only in their logs when it is missing.
    servers.program('rsync')
    nodes: list[GaleraNode] = []
    nodes += [GaleraNode(nodes, flush) for _ in range(number)]
    nodes[0].bootstraps = True
    try:
        for node in nodes:
            node.options = (*SMALL, f'--bind-address={address}')
            node.initialise()
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.remove()


# Synchronous replication of PostgreSQL

#: How many nodes there are, one of which is the primary.
NODES = 3


class PostgresqlNode(PostgresqlReplica):
    """One node of a cluster, primary or standby. A commit of the primary waits for a standby."""

    def __init__(self, number: int, primary: 'PostgresqlNode | None' = None) -> None:
        super().__init__(primary or self)
        self._number = number

    @property
    def is_primary(self) -> bool:
        """True if it accepts writes, as a server that was started as a primary or promoted."""
        return self._primary is self

    def initialise(self) -> None:
        """Create the tables on the primary, and copy them to a standby."""
        if self.is_primary:
            servers.Postgresql.initialise(self)
        else:
            super().initialise()

    def command(self) -> Sequence[str]:
        # The names exclude a base backup, which reports what it has received as a standby does.
        names = ', '.join(f'db{number}' for number in range(1, NODES + 1))
        return [
            *super().command(),
            '-c',
            f'cluster_name=db{self._number}',
            '-c',
            f'synchronous_standby_names=ANY 1 ({names})',
            '-c',
            'wal_keep_size=256MB',
        ]

    def received(self) -> int:
        """The position of a standby in the log of the primary."""
        return int(
            self.value(
                "SELECT GREATEST(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0'"
            )
        )

    def promote(self) -> None:
        """Make the standby the primary."""
        self.execute('SELECT pg_promote()')
        self._primary = self

    def turn_to(self, primary: 'PostgresqlNode') -> None:
        """Make a standby follow another primary."""
        self.execute(
            'ALTER SYSTEM SET primary_conninfo ='
            f" 'host=127.0.0.1 port={primary.port} user=postgres'"
        )
        self.execute('SELECT pg_reload_conf()')
        self._primary = primary

    def rejoin(self, primary: 'PostgresqlNode') -> None:
        """Start a server that is down as a standby, from a copy of the primary."""
        shutil.rmtree(self.data)
        self._primary = primary
        self.initialise()
        self.start()


def fail_over(nodes: Sequence[PostgresqlNode]) -> PostgresqlNode:
    """Promote the standby that has most, whose primary is down; the others follow it.

    A commit that was acknowledged is on one standby at least, so that all have to be asked.
    """
    standbys = [node for node in nodes if not node.is_primary]
    promoted = max(standbys, key=PostgresqlNode.received)
    promoted.promote()
    for node in standbys:
        if node is not promoted:
            node.turn_to(promoted)
    return promoted


@contextlib.contextmanager
def postgresql() -> Iterator[Sequence[PostgresqlNode]]:
    """The nodes of a running cluster, the primary first, without a database of a service."""
    primary = PostgresqlNode(1)
    standbys = [PostgresqlNode(number, primary) for number in range(2, NODES + 1)]
    nodes = [primary, *standbys]
    try:
        for node in nodes:
            node.initialise()
            node.start()
        primary.wait_until('SELECT count(*) FROM pg_stat_replication', len(standbys))
        yield nodes
    finally:
        for node in nodes:
            node.remove()
