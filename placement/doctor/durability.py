# SPDX-License-Identifier: Apache-2.0
"""Checks of server settings that affect the durability and visibility of committed writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from placement.doctor import connection
from placement.doctor.check import CheckResult, Deployment, ok, warning

#: Values by name.
Settings = Mapping[str, str]


class Finding(NamedTuple):
    """A setting and its consequence in a sentence, and a remedy if writes may be lost."""

    sentence: str
    remedy: str = ''


def check_durability(deployment: Deployment) -> CheckResult | None:
    """Report the consequences of the settings of the database server."""
    with connection.opened(deployment.conf) as engine:
        settings = connection.settings(engine)
    return in_one(list(of_settings(engine.dialect.name, settings)))


def of_settings(dialect: str, settings: Settings) -> Iterator[Finding]:
    """The consequences of a server's settings."""
    if dialect == 'postgresql':
        yield from _of_postgresql(settings)
    elif settings:
        yield from _of_innodb(settings)
        yield from _of_galera(settings)
        yield from _of_group_replication(settings)


def in_one(findings: list[Finding]) -> CheckResult | None:
    """A warning about the findings with a remedy, or else a success; None without findings."""
    lossy = [finding for finding in findings if finding.remedy]
    if lossy:
        return warning(
            ' '.join(finding.sentence for finding in lossy),
            ' '.join(dict.fromkeys(finding.remedy for finding in lossy)),
        )
    return ok(' '.join(finding.sentence for finding in findings)) if findings else None


#: The events that lose writes, by innodb_flush_log_at_trx_commit and whether it is a cluster.
_LOSING = {
    ('0', False): 'the server crashes',
    ('0', True): 'all nodes crash within a second',
    ('2', False): 'the machine loses power',
    ('2', True): 'the machines of all nodes lose power within a second',
}


def _of_innodb(settings: Settings) -> Iterator[Finding]:
    flush = settings.get('innodb_flush_log_at_trx_commit', '')
    losing = _LOSING.get((flush, _is_cluster(settings)))
    name = f'innodb_flush_log_at_trx_commit = {flush}'
    if losing:
        yield Finding(
            f'{name}: when {losing}, about the last second of acknowledged writes is lost.',
            'Set innodb_flush_log_at_trx_commit = 1.',
        )
    else:
        yield Finding(f'{name}: an acknowledged write survives a crash of the server.')
    synced = settings.get('sync_binlog', '1')
    # Galera replicates without the binary log.
    if settings.get('log_bin') == 'on' and synced != '1' and settings.get('wsrep_on') != 'on':
        yield Finding(
            f'sync_binlog = {synced}: when the machine loses power, acknowledged writes that are '
            'not yet in the binary log on the disk are lost.',
            'Set sync_binlog = 1.',
        )
    if settings.get('innodb_snapshot_isolation') == 'on':
        yield Finding(
            'innodb_snapshot_isolation = ON: of no consequence, since transactions here are '
            'READ COMMITTED.'
        )


def _is_cluster(settings: Settings) -> bool:
    return settings.get('wsrep_on') == 'on' or bool(settings.get('group_replication_group_name'))


def _of_galera(settings: Settings) -> Iterator[Finding]:
    if settings.get('wsrep_on') != 'on':
        return
    waits = settings.get('wsrep_sync_wait', '0')
    # Bits: 1 for reads, 2 for UPDATE and DELETE, 4 for INSERT.
    if int(waits) & 7 != 7:
        yield Finding(
            f'wsrep_sync_wait = {waits}: a request may not see a write that was acknowledged '
            'through another node.',
            'Set [placement_database] connection_parameters = init_command=SET SESSION '
            'wsrep_sync_wait=7.',
        )
    else:
        yield Finding(f'wsrep_sync_wait = {waits}: each node shows what any has acknowledged.')
    options = {
        name.strip(): value.strip()
        for name, _, value in (
            one.partition('=') for one in settings.get('wsrep_provider_options', '').split(';')
        )
    }
    for name in ('pc.ignore_quorum', 'pc.ignore_sb'):
        if options.get(name, 'false') in ('true', 'yes', 'on', '1'):
            yield Finding(
                f'{name} = {options[name]}: when the cluster is divided, each part takes writes, '
                'and those of one part are lost.',
                f'Set {name} = false in wsrep_provider_options.',
            )


def _of_group_replication(settings: Settings) -> Iterator[Finding]:
    if not settings.get('group_replication_group_name'):
        return
    consistency = settings.get('group_replication_consistency', 'eventual')
    if consistency == 'eventual':
        yield Finding(
            'group_replication_consistency = EVENTUAL: after a failover, a request may not see a '
            'write that the former primary acknowledged.',
            'Set group_replication_consistency = BEFORE_ON_PRIMARY_FAILOVER.',
        )
    if settings.get('group_replication_single_primary_mode') == 'off':
        yield Finding(
            'group_replication_single_primary_mode = OFF: writes to several members have not been '
            'tried with this service.',
            'Let one member be the primary.',
        )


def _of_postgresql(settings: Settings) -> Iterator[Finding]:
    if settings['fsync'] == 'off':
        yield Finding(
            'fsync = off: when the machine loses power, the database may be damaged for good.',
            'Set fsync = on.',
        )
    commit, names = settings['synchronous_commit'], settings['synchronous_standby_names']
    if commit == 'off':
        yield Finding(
            'synchronous_commit = off: when the server crashes, about the last second of '
            'acknowledged writes is lost.',
            'Set synchronous_commit = on.',
        )
    elif names and commit == 'local':
        yield Finding(
            'synchronous_commit = local: synchronous_standby_names is without effect, so that a '
            'standby that is promoted may lack the last acknowledged writes.',
            'Set synchronous_commit = on.',
        )
    elif names and commit == 'remote_write':
        yield Finding(
            'synchronous_commit = remote_write: acknowledged writes are lost when a standby loses '
            'power before they are on its disk, and is promoted.',
            'Set synchronous_commit = on.',
        )
    elif names:
        yield Finding(f'{names} of synchronous_standby_names have each acknowledged write.')
    elif settings[connection.STANDBYS] != '0':
        yield Finding(
            f'synchronous_standby_names is empty, and {settings[connection.STANDBYS]} standbys or '
            'backups receive the log: one that is promoted may lack the last acknowledged writes.',
            "Set synchronous_standby_names = 'ANY 1 (…)' with the names of the standbys.",
        )
    else:
        yield Finding(
            f'synchronous_commit = {commit}: an acknowledged write survives a crash of the server.'
        )
