# SPDX-License-Identifier: Apache-2.0
"""`openstack placement audit run` and `openstack placement audit repair`."""

import json
import pathlib

import pytest
import yaml

from osc_placement_insight.tests.audit import cases
from osc_placement_insight.tests.audit.clouds import Cloud

RUN = ('placement', 'audit', 'run', '--wait', '0')
REPAIR = ('placement', 'audit', 'repair')
OLD = ('--os-placement-api-version', '1.10')


class Operator:
    """Audits and repairs a cloud; the report is in a file."""

    def __init__(self, cloud: Cloud, report: pathlib.Path) -> None:
        self.openstack = cloud.openstack
        self.report = report

    def rows(self, *arguments: str, status: int = 0) -> list[dict[str, str]]:
        """Return the rows of a command that says nothing else."""
        printed = self.openstack(*arguments, '-f', 'json')
        assert (printed.status, printed.err) == (status, '')
        rows: list[dict[str, str]] = json.loads(printed.out)
        return rows

    def audit(self, *options: str, status: int = 3) -> list[dict[str, str]]:
        """Run an audit that writes the report."""
        return self.rows(*RUN, '--report', str(self.report), *options, status=status)

    def repair(self, *options: str) -> list[dict[str, str]]:
        """Run a repair by the report."""
        return self.rows(*REPAIR, str(self.report), *options)

    def refusal(self, *options: str) -> str:
        """Return why a repair by the report is refused."""
        return self.openstack(*REPAIR, str(self.report), *options).refusal()


@pytest.fixture
def operator(cloud: Cloud, tmp_path: pathlib.Path) -> Operator:
    return Operator(cloud, tmp_path / 'report.yaml')


def test_a_cloud_without_fault_ends_with_0(cloud: Cloud, operator: Operator) -> None:
    cases.built(cloud, cases.ordinary_servers)

    # Without a report.
    assert operator.rows(*RUN) == []


def test_a_fault_is_told_with_what_to_do_and_ends_with_3(cloud: Cloud, operator: Operator) -> None:
    server = cases.built(cloud, cases.doubled)

    assert operator.audit() == [
        {
            'kind': 'server-on-several-hosts',
            'subject': server,
            'finding': 'Server one runs on a and also holds resources of b.',
            'what to do': 'Run audit repair.',
        }
    ]


@pytest.mark.parametrize('name', ['report.yaml', 'report.json'])
def test_a_report_is_repaired_once(
    cloud: Cloud, operator: Operator, tmp_path: pathlib.Path, name: str
) -> None:
    server = cases.built(cloud, cases.doubled)
    # JSON writes it as two surrogates, which YAML does not know.
    cloud.nova.servers[server].name = '\N{PARTY POPPER}'
    operator.report = tmp_path / name
    operator.audit()

    (proposed,) = operator.repair()
    assert proposed['result'] == 'proposed'
    assert len(cloud.amounts(server)) == 2
    for _time in range(2):
        (done,) = operator.repair('--apply')
        assert (done['change'], done['result']) == (proposed['change'], 'done')
    assert len(cloud.amounts(server)) == 1
    lines = (tmp_path / f'{name}.journal').read_text().splitlines()
    assert [json.loads(line)['event'] for line in lines] == ['begun', 'done']


def test_reports_say_of_which_cloud_and_how_much_was_read(
    cloud: Cloud, operator: Operator
) -> None:
    cases.built(cloud, cases.resize_awaiting_confirmation)
    operator.audit(status=0)
    values = yaml.safe_load(operator.report.read_text())

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


def test_control_characters_of_names_are_escaped(cloud: Cloud, operator: Operator) -> None:
    a, red = cloud.host('a'), cloud.host('\x1b[31m')
    cloud.server('a', {**a.share, **red.share})

    printed = operator.openstack(*RUN, '--report', str(operator.report), '-f', 'value').out
    assert r'\u001b[31m' in printed
    printed += operator.openstack(*REPAIR, str(operator.report), '-f', 'value').out
    assert '\x1b' not in printed


def test_only_the_kinds_that_are_named_are_repaired(cloud: Cloud, operator: Operator) -> None:
    cases.built(cloud, cases.doubled)
    cloud.send('PUT', '/traits/CUSTOM_LEFT')
    operator.audit()

    (row,) = operator.repair('--kind', 'unused-trait')
    assert (row['subject'], row['change']) == ('CUSTOM_LEFT', 'delete CUSTOM_LEFT')


def test_placement_is_audited_alone_where_nova_is_not_wanted(
    cloud: Cloud, operator: Operator
) -> None:
    consumer = cases.built(cloud, cases.consumer_without_allocations)
    cloud.nova.is_failing = True

    (row,) = operator.audit('--placement-only')
    assert row['subject'] == consumer
    (done,) = operator.repair('--apply')
    assert done['result'] == 'done'
    assert operator.audit('--placement-only', status=0) == []


def test_nova_that_fails_or_refuses_is_told(cloud: Cloud, operator: Operator) -> None:
    cloud.nova.is_admin = False
    refusal = operator.openstack(*RUN).refusal()
    assert 'it needs the rights of an administrator. (HTTP 403)' in refusal
    cloud.nova.is_failing = True
    assert operator.openstack(*RUN).refusal() == (
        'Nova refuses /servers/detail: Unexpected API Error. The log of nova says why. (HTTP 500)'
    )


@pytest.mark.parametrize(
    ('part', 'replaced', 'words'),
    [
        ('http://', 'http://elsewhere.example/', 'The report is of http://elsewhere.example/'),
        ('consumer:', 'nobody:', "is damaged (KeyError: 'consumer')"),
        ('version: 1', 'version: 2', 'is a report of version 2, not 1. Run the audit again.'),
        ('server-on-several-hosts', 'odd', "is damaged (KeyError: 'odd')"),
        (None, 'servers: []', 'is not a report of audit run.'),
        (None, '{"version"', 'is neither YAML nor JSON: '),
        (None, '\udce0\n', 'is neither YAML nor JSON: '),
    ],
)
def test_what_is_no_report_of_this_cloud_is_refused(
    cloud: Cloud, operator: Operator, part: str | None, replaced: str, words: str
) -> None:
    server = cases.built(cloud, cases.doubled)
    operator.audit()
    text = operator.report.read_text()
    assert part is None or part in text
    damaged = replaced if part is None else text.replace(part, replaced)
    operator.report.write_bytes(damaged.encode('utf-8', 'surrogateescape'))

    assert words in operator.refusal('--apply')
    assert len(cloud.amounts(server)) == 2


def test_files_that_cannot_be_read_or_written_are_told(
    cloud: Cloud, operator: Operator, tmp_path: pathlib.Path
) -> None:
    # Nova is not asked, if the report could not be written.
    cloud.nova.is_failing = True
    operator.report = tmp_path / 'nowhere' / 'report.yaml'

    assert operator.refusal().startswith('The report cannot be read: ')
    assert operator.openstack(*RUN, '--report', str(operator.report)).refusal() == (
        f'{operator.report} cannot be written: No such file or directory.'
    )


def test_the_microversion_of_the_user_makes_no_difference(
    cloud: Cloud, operator: Operator
) -> None:
    cases.built(cloud, cases.doubled)

    assert len(operator.rows(*OLD, *RUN, '--report', str(operator.report), status=3)) == 1
    (row,) = operator.rows(*OLD, *REPAIR, str(operator.report), '--apply')
    assert row['result'] == 'done'


def test_what_was_done_stays_in_the_journal_when_a_later_change_fails(
    cloud: Cloud, operator: Operator
) -> None:
    a, b = cloud.host('a'), cloud.host('b')
    cases.leaked_by_a_consumer_of_type_migration(cloud, a, b)
    cases.doubled(cloud, a, b)
    # The server comes first, for which nova is asked.
    first, _second = operator.audit()
    assert first['kind'] == 'server-on-several-hosts'
    cloud.nova.is_failing = True

    refusal = operator.refusal('--apply')
    assert refusal.startswith('Nova refuses /servers/')
    assert refusal.endswith('in the journal: run the same command again to go on.')

    cloud.nova.is_failing = False
    assert [row['result'] for row in operator.repair('--apply')] == ['done', 'done']
