# SPDX-License-Identifier: Apache-2.0
"""Consequences of settings, as servers tell them; those that run here are asked in
placement/tests/functional/test_doctor.py."""

import pytest

from placement.doctor import connection, durability
from placement.doctor.check import Code
from placement.tests.unit.doctor.conftest import Configure, expect

INNODB = {'innodb_flush_log_at_trx_commit': '1', 'sync_binlog': '1', 'log_bin': 'on'}
GALERA = {
    **INNODB,
    'wsrep_on': 'on',
    'wsrep_sync_wait': '7',
    'wsrep_provider_options': 'pc.ignore_quorum = false; pc.ignore_sb = false; pc.npvo = ; ',
}
GROUP = {
    **INNODB,
    'group_replication_group_name': 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa',
    'group_replication_consistency': 'before_on_primary_failover',
    'group_replication_single_primary_mode': 'on',
}
POSTGRESQL = {
    'fsync': 'on', 'synchronous_commit': 'on', 'synchronous_standby_names': '',
    connection.STANDBYS: '0',
}  # fmt: skip
SYNCHRONOUS = {
    **POSTGRESQL, 'synchronous_standby_names': 'ANY 1 (db1, db2, db3)', connection.STANDBYS: '2'
}  # fmt: skip


@pytest.mark.parametrize(
    ('dialect', 'settings', 'found'),
    [
        ('mysql', INNODB, 'innodb_flush_log_at_trx_commit = 1: an acknowledged write survives'),
        ('mariadb', {**INNODB, 'innodb_snapshot_isolation': 'on'}, 'of no consequence'),
        ('mysql', {**INNODB, 'log_bin': 'off', 'sync_binlog': '0'}, 'survives'),
        ('mysql', GALERA, 'wsrep_sync_wait = 7: each node shows what any has acknowledged'),
        # The binary log has no part in what Galera keeps.
        ('mysql', {**GALERA, 'sync_binlog': '0'}, 'survives'),
        ('mysql', {**GALERA, 'wsrep_sync_wait': '15'}, 'wsrep_sync_wait = 15'),
        ('mysql', GROUP, 'survives'),
        ('postgresql', POSTGRESQL, 'synchronous_commit = on: an acknowledged write survives'),
        ('postgresql', {**POSTGRESQL, 'synchronous_commit': 'local'}, 'survives'),
        ('postgresql', SYNCHRONOUS, 'ANY 1 (db1, db2, db3) of synchronous_standby_names have'),
        ('postgresql', {**SYNCHRONOUS, 'synchronous_commit': 'remote_apply'}, 'ANY 1'),
    ],
)
def test_settings_that_lose_nothing_pass(
    dialect: str, settings: dict[str, str], found: str
) -> None:
    expect(durability.in_one(list(durability.of_settings(dialect, settings))), Code.SUCCESS, found)


@pytest.mark.parametrize(
    ('settings', 'finding', 'remedy'),
    [
        (
            {**INNODB, 'innodb_flush_log_at_trx_commit': '0'},
            'when the server crashes, about the last second',
            'innodb_flush_log_at_trx_commit = 1',
        ),
        (
            {**INNODB, 'innodb_flush_log_at_trx_commit': '2'},
            'when the machine loses power, about the last second',
            'innodb_flush_log_at_trx_commit = 1',
        ),
        (
            {**GALERA, 'innodb_flush_log_at_trx_commit': '0'},
            'when all nodes crash within a second',
            'innodb_flush_log_at_trx_commit = 1',
        ),
        (
            {**GROUP, 'innodb_flush_log_at_trx_commit': '2'},
            'when the machines of all nodes lose power within a second',
            'innodb_flush_log_at_trx_commit = 1',
        ),
        (
            {**INNODB, 'sync_binlog': '1000'},
            'sync_binlog = 1000: when the machine loses power',
            'sync_binlog = 1',
        ),
        (
            {**GALERA, 'wsrep_sync_wait': '1'},
            'acknowledged through another node',
            'init_command=SET SESSION wsrep_sync_wait=7',
        ),
        (
            {**GALERA, 'wsrep_provider_options': 'pc.ignore_sb = true; pc.weight = 1;'},
            'pc.ignore_sb = true: when the cluster is divided',
            'pc.ignore_sb = false',
        ),
        (
            {**GROUP, 'group_replication_consistency': 'eventual'},
            'after a failover, a request may not see',
            'BEFORE_ON_PRIMARY_FAILOVER',
        ),
        (
            {**GROUP, 'group_replication_single_primary_mode': 'off'},
            'writes to several members have not been tried',
            'Let one member be the primary',
        ),
    ],
)
def test_a_setting_of_mysql_that_loses_something_is_a_warning(
    settings: dict[str, str], finding: str, remedy: str
) -> None:
    findings = list(durability.of_settings('mysql', settings))

    expect(durability.in_one(findings), Code.WARNING, finding, remedy)
    assert len([one for one in findings if one.remedy]) == 1


@pytest.mark.parametrize(
    ('settings', 'finding', 'remedy'),
    [
        ({**POSTGRESQL, 'fsync': 'off'}, 'damaged for good', 'fsync = on'),
        (
            {**SYNCHRONOUS, 'synchronous_commit': 'off'},
            'when the server crashes, about the last second',
            'synchronous_commit = on',
        ),
        (
            {**SYNCHRONOUS, 'synchronous_commit': 'local'},
            'synchronous_standby_names is without effect',
            'synchronous_commit = on',
        ),
        (
            {**SYNCHRONOUS, 'synchronous_commit': 'remote_write'},
            'before they are on its disk',
            'synchronous_commit = on',
        ),
        (
            {**POSTGRESQL, connection.STANDBYS: '2'},
            'one that is promoted may lack',
            'ANY 1',
        ),
    ],
)
def test_a_setting_of_postgresql_that_loses_something_is_a_warning(
    settings: dict[str, str], finding: str, remedy: str
) -> None:
    findings = list(durability.of_settings('postgresql', settings))

    expect(durability.in_one(findings), Code.WARNING, finding, remedy)
    assert len([one for one in findings if one.remedy]) == 1


def test_all_that_loses_something_is_named_with_each_remedy_once() -> None:
    settings = {
        **GALERA, 'innodb_flush_log_at_trx_commit': '2', 'wsrep_sync_wait': '0',
        'wsrep_provider_options': 'pc.ignore_quorum = yes',
    }  # fmt: skip
    result = durability.in_one(list(durability.of_settings('mysql', settings)))

    expect(result, Code.WARNING, 'lose power', 'wsrep_sync_wait = 0', 'pc.ignore_quorum = yes')


def test_a_file_of_sqlite_has_no_such_settings(configure: Configure) -> None:
    assert (
        durability.check_durability(configure('[placement_database]\nconnection = sqlite://\n'))
        is None
    )
