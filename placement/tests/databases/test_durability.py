# SPDX-License-Identifier: Apache-2.0
"""Results of `placement-manage doctor` for servers that may lose acknowledged writes."""

from collections.abc import Iterator

import pytest

from placement.doctor import durability
from placement.doctor.check import Code
from placement.tests.databases import clusters, servers
from placement.tests.unit.doctor.conftest import Configure, configure, directory, expect

__all__ = ['configure', 'directory']


def examine(configure: Configure, url: str, code: Code, *words: str) -> None:
    """Compare what is found with parts of it."""
    deployment = configure(f'[placement_database]\nconnection = {url}\n')
    expect(durability.check_durability(deployment), code, *words)


def test_a_node_of_galera(configure: Configure) -> None:
    with clusters.galera(number=1, flush=0) as (node,):
        node.prepare()
        crash = 'innodb_flush_log_at_trx_commit = 0: when all nodes crash within a second'
        waits = 'wsrep_sync_wait = 0: a request may not see'
        examine(configure, node.service_url(waits=False), Code.WARNING, crash, waits)

        node.execute('SET GLOBAL innodb_flush_log_at_trx_commit = 1')
        url = node.service_url()
        examine(configure, url, Code.SUCCESS, 'survives', 'wsrep_sync_wait = 7: each node shows')

        node.execute("SET GLOBAL wsrep_provider_options = 'pc.ignore_sb = true'")
        examine(configure, url, Code.WARNING, 'pc.ignore_sb = true: when the cluster is divided')


def test_a_primary_of_mariadb_with_a_binary_log(configure: Configure) -> None:
    with servers.started(clusters.MariadbPrimary) as server:
        url = server.service_url()
        # By default it does not wait for the binary log.
        examine(configure, url, Code.WARNING, 'sync_binlog = 0: when the machine loses power')

        server.execute('SET GLOBAL sync_binlog = 1')
        examine(configure, url, Code.SUCCESS, 'survives a crash')

        server.execute('SET GLOBAL innodb_flush_log_at_trx_commit = 2')
        examine(configure, url, Code.WARNING, '= 2: when the machine loses power')


@pytest.fixture(scope='module')
def postgresql() -> Iterator[clusters.Primary]:
    with clusters.replicating('postgresql') as (primary, _replica):
        yield primary


@pytest.mark.parametrize(
    ('names', 'commit', 'code', 'words'),
    [
        ('', 'on', Code.WARNING, '1 standbys or backups receive the log'),
        ('ANY 1 (*)', 'on', Code.SUCCESS, 'ANY 1 (*) of synchronous_standby_names have'),
        ('ANY 1 (*)', 'remote_write', Code.WARNING, 'before they are on its disk'),
        ('ANY 1 (*)', 'local', Code.WARNING, 'synchronous_standby_names is without effect'),
        ('ANY 1 (*)', 'off', Code.WARNING, 'when the server crashes'),
    ],
)
def test_a_primary_of_postgresql_with_a_standby(
    postgresql: clusters.Primary,
    configure: Configure,
    names: str,
    commit: str,
    code: Code,
    words: str,
) -> None:
    postgresql.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    postgresql.execute(f'ALTER SYSTEM SET synchronous_commit = {commit}')
    postgresql.execute('SELECT pg_reload_conf()')
    postgresql.wait_until('SHOW synchronous_commit', commit)

    examine(configure, postgresql.service_url(), code, words)
