# SPDX-License-Identifier: Apache-2.0
"""`openstack placement audit run` and `openstack placement audit repair`."""

import errno
import json
import os
import pathlib
from collections.abc import Callable
from unittest import mock

import pytest
import yaml

from osc_placement_insight.tests.audit import cases
from osc_placement_insight.tests.audit.clouds import Cloud
from osc_placement_insight.tests.client import Client, Printed

RUN = ('placement', 'audit', 'run', '--wait', '0')
REPAIR = ('placement', 'audit', 'repair')


def rows(printed: Printed, status: int = 0) -> list[dict[str, str]]:
    assert (printed.status, printed.err) == (status, '')
    found: list[dict[str, str]] = json.loads(printed.out)
    return found


def test_a_cloud_without_fault_ends_with_0(cloud: Cloud, operator: Client) -> None:
    cases.built(cloud, cases.ordinary_servers)

    assert rows(operator(*RUN, '-f', 'json')) == []


def test_a_fault_is_told_with_what_to_do_and_ends_with_3(cloud: Cloud, operator: Client) -> None:
    server = cases.built(cloud, cases.doubled)

    (row,) = rows(operator(*RUN, '-f', 'json'), 3)

    assert row == {
        'kind': 'server-on-several-hosts',
        'subject': server,
        'finding': 'Server one runs on a and also holds resources of b.',
        'what to do': 'Run audit repair.',
    }


@pytest.mark.parametrize('name', ['report.yaml', 'report.json'])
def test_a_report_is_repaired_once(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path, name: str
) -> None:
    server = cases.built(cloud, cases.doubled)
    report = tmp_path / name
    operator(*RUN, '--report', str(report))

    (proposed,) = rows(operator(*REPAIR, str(report), '-f', 'json'))
    assert proposed['result'] == 'proposed'
    assert len(cloud.amounts(server)) == 2
    for _time in range(2):
        (done,) = rows(operator(*REPAIR, str(report), '--apply', '-f', 'json'))
        assert (done['change'], done['result']) == (proposed['change'], 'done')
    assert len(cloud.amounts(server)) == 1
    lines = (tmp_path / f'{name}.journal').read_text().splitlines()
    assert [json.loads(line)['event'] for line in lines] == ['begun', 'done']


@pytest.mark.parametrize('name', ['report.yaml', 'report.json'])
def test_a_server_with_an_emoji_in_its_name_is_repaired(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path, name: str
) -> None:
    server = cases.built(cloud, cases.doubled)
    cloud.nova.servers[server].name = '\N{PARTY POPPER}'
    report = str(tmp_path / name)
    operator(*RUN, '--report', report)

    (row,) = rows(operator(*REPAIR, report, '--apply', '-f', 'json'))
    assert row['result'] == 'done'


def test_reports_say_when_of_which_cloud_and_how_much_was_read(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path
) -> None:
    cases.built(cloud, cases.resize_awaiting_confirmation)
    operator(*RUN, '--report', str(tmp_path / 'report.yaml'))
    operator(*RUN, '--report', str(tmp_path / 'report.json'))

    values = yaml.safe_load((tmp_path / 'report.yaml').read_text())

    assert values['version'] == 1
    assert values['cloud'] == cloud.endpoint
    assert values['counts'] == {
        'providers': 2,
        'consumers': 2,
        'servers': 1,
        'servers not judged': 1,
        'migrations': 1,
        'hypervisors': 2,
    }
    as_json = json.loads((tmp_path / 'report.json').read_text())
    assert {**as_json, 'created_at': values['created_at']} == values


def test_only_the_kinds_that_are_named_are_repaired(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path
) -> None:
    cases.built(cloud, cases.doubled)
    cloud.send('PUT', '/traits/CUSTOM_LEFT')
    report = str(tmp_path / 'report.yaml')
    operator(*RUN, '--report', report)

    (row,) = rows(operator(*REPAIR, report, '--kind', 'unused-trait', '-f', 'json'))

    assert (row['subject'], row['change']) == ('CUSTOM_LEFT', 'delete CUSTOM_LEFT')


def test_placement_is_audited_alone_where_nova_is_not_wanted(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path
) -> None:
    consumer = cases.built(cloud, cases.consumer_without_allocations)
    cloud.nova.is_failing = True
    report = str(tmp_path / 'report.yaml')

    (row,) = rows(operator(*RUN, '--placement-only', '--report', report, '-f', 'json'), 3)

    assert row['subject'] == consumer
    (done,) = rows(operator(*REPAIR, report, '--apply', '-f', 'json'))
    assert done['result'] == 'done'
    assert rows(operator(*RUN, '--placement-only', '-f', 'json')) == []


def test_nova_that_fails_is_told(cloud: Cloud, operator: Client) -> None:
    cloud.nova.is_failing = True

    assert operator(*RUN).refusal() == (
        'Nova refuses /servers/detail: Unexpected API Error. The log of nova says why. (HTTP 500)'
    )


def test_who_may_not_read_all_servers_is_told(cloud: Cloud, operator: Client) -> None:
    cloud.nova.is_admin = False

    assert 'it needs the rights of an administrator. (HTTP 403)' in operator(*RUN).refusal()


def test_a_report_of_another_cloud_is_refused(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path
) -> None:
    server = cases.built(cloud, cases.doubled)
    report = tmp_path / 'report.yaml'
    operator(*RUN, '--report', str(report))
    report.write_text(report.read_text().replace(cloud.endpoint, 'http://elsewhere.example'))

    refusal = operator(*REPAIR, str(report), '--apply').refusal()

    assert refusal.startswith('The report is of http://elsewhere.example, but this cloud is ')
    assert len(cloud.amounts(server)) == 2


def cut_off(text: str) -> str:
    return text[: text.index('consumer:')]


def of_another_version(text: str) -> str:
    return text.replace('version: 1', 'version: 2')


def of_a_kind_unknown(text: str) -> str:
    return text.replace('server-on-several-hosts', 'server-on-the-moon')


def not_a_report(text: str) -> str:
    return 'servers: []'


def not_yaml(text: str) -> str:
    return '{"version"'


@pytest.mark.parametrize(
    ('damage', 'words'),
    [
        (cut_off, "is damaged (KeyError: 'consumer')"),
        (of_another_version, 'is a report of version 2, not 1. Run the audit again.'),
        (of_a_kind_unknown, "is damaged (KeyError: 'server-on-the-moon')"),
        (not_a_report, 'is not a report of audit run.'),
        (not_yaml, 'is neither YAML nor JSON'),
    ],
)
def test_what_is_no_report_is_told(
    cloud: Cloud,
    operator: Client,
    tmp_path: pathlib.Path,
    damage: Callable[[str], str],
    words: str,
) -> None:
    cases.built(cloud, cases.doubled)
    report = tmp_path / 'report.yaml'
    operator(*RUN, '--report', str(report))
    report.write_text(damage(report.read_text()))

    assert words in operator(*REPAIR, str(report)).refusal()


def test_a_file_that_is_no_text_is_told(operator: Client, tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'report.yaml'
    path.write_bytes(b'\xe0\n')

    assert operator(*REPAIR, str(path)).refusal().startswith(f'{path} is neither YAML nor JSON: ')


def test_files_that_cannot_be_read_or_written_are_told(
    operator: Client, tmp_path: pathlib.Path
) -> None:
    missing = str(tmp_path / 'nowhere' / 'report.yaml')

    assert operator(*REPAIR, missing).refusal().startswith('The report cannot be read: ')
    assert operator(*RUN, '--report', missing).refusal() == (
        f'{missing} cannot be written: No such file or directory.'
    )


def test_where_no_report_can_be_written_nothing_is_read(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path
) -> None:
    cloud.nova.is_failing = True
    missing = tmp_path / 'nowhere' / 'report.yaml'

    assert operator(*RUN, '--report', str(missing)).refusal().startswith(f'{missing} cannot be')


def test_a_report_that_cannot_be_written_leaves_the_one_before(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases.built(cloud, cases.doubled)
    report = tmp_path / 'report.yaml'
    report.write_text('the one before')
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, 'fsync', mock.Mock(side_effect=full))

    assert operator(*RUN, '--report', str(report)).refusal() == (
        f'{report} cannot be written: No space left on device.'
    )
    assert report.read_text() == 'the one before'
    assert [*tmp_path.iterdir()] == [report]


def test_the_microversion_of_the_user_makes_no_difference(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path
) -> None:
    cases.built(cloud, cases.doubled)
    report = str(tmp_path / 'report.yaml')
    old = ('--os-placement-api-version', '1.10')

    assert operator(*old, *RUN, '--report', report).status == 3
    (row,) = rows(operator(*old, *REPAIR, report, '--apply', '-f', 'json'))
    assert row['result'] == 'done'


def test_what_was_done_stays_in_the_journal_when_a_later_change_fails(
    cloud: Cloud, operator: Client, tmp_path: pathlib.Path
) -> None:
    a, b = cloud.host('a'), cloud.host('b')
    cases.leaked_by_a_consumer_of_type_migration(cloud, a, b)
    cases.doubled(cloud, a, b)
    report = tmp_path / 'report.yaml'
    operator(*RUN, '--report', str(report))
    leaked_first = report.read_text().index('leaked') < report.read_text().index('several')
    assert not leaked_first
    cloud.nova.is_failing = True

    refusal = operator(*REPAIR, str(report), '--apply').refusal()
    assert refusal.startswith('Nova refuses /servers/')
    assert refusal.endswith('in the journal: run the same command again to go on.')

    cloud.nova.is_failing = False
    results = rows(operator(*REPAIR, str(report), '--apply', '-f', 'json'))
    assert [row['result'] for row in results] == ['done', 'done']
