# SPDX-License-Identifier: Apache-2.0
"""A repair makes the least changes, and none where anything has changed since the report."""

import contextlib
import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from osc_lib import exceptions

from osc_placement_insight.audit import repair
from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.journal import Journal
from osc_placement_insight.audit.model import SHARING
from osc_placement_insight.tests.audit import cases, clouds, interruptions
from osc_placement_insight.tests.audit.cases import Build
from osc_placement_insight.tests.audit.changes import (
    Change,
    changes_in_nova,
    claims_again,
    gives_back,
    moves,
)
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud
from osc_placement_insight.tests.audit.nova import flavor


@pytest.fixture
def journal(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / 'journal'


def events(journal: pathlib.Path) -> list[str]:
    return [json.loads(line)['event'] for line in journal.read_text().splitlines()]


def test_a_doubled_server_keeps_its_own_host_and_its_shared_storage(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a, b = (cloud.host(name, {'VCPU': 8, 'MEMORY_MB': 8192}).uuid for name in 'ab')
    gpu = cloud.provider('b_gpu', {'VGPU': 1}, parent=b)
    pool = cloud.provider('pool', {'DISK_GB': 1000}, traits=(SHARING,))
    own = {a: {'VCPU': 2, 'MEMORY_MB': 2048}, pool: {'DISK_GB': 20}}
    server = cloud.server('a', {**own, b: {'VCPU': 2}, gpu: {'VGPU': 1}})
    (finding,) = cloud.audit()

    assert repair.change(finding) == 'remove VCPU 2 of b; remove VGPU 1 of b_gpu'
    interruptions.repair(cloud, [finding], journal)

    assert cloud.amounts(server) == own


def test_a_missing_claim_is_made_in_the_name_of_the_server(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a = cloud.host('a')
    server = cloud.server('a', {}, flavor(vcpus=4, ephemeral=10))
    (finding,) = cloud.audit()

    interruptions.repair(cloud, [finding], journal)

    assert cloud.amounts(server) == {a.uuid: {'VCPU': 4, 'MEMORY_MB': 2048, 'DISK_GB': 30}}
    held = cloud.held(server)
    assert (held['project_id'], held['user_id']) == ('a-project', 'a-user')


@pytest.mark.parametrize(
    'demanding',
    [
        flavor(resources__VGPU='1'),
        flavor(hw__cpu_policy='dedicated'),
        flavor(pci_passthrough__alias='a:1'),
    ],
    ids=lambda demanding: str(demanding['extra_specs']),
)
def test_a_claim_that_nova_alone_can_make_is_left_to_nova(
    cloud: Cloud, demanding: dict[str, Any]
) -> None:
    cloud.host('a', {**clouds.HOST, 'VGPU': 8})
    server = cloud.server('a', {}, demanding)

    (finding,) = cloud.audit()

    assert finding.wanted is None
    assert finding.remedy == f'Run nova-manage placement heal_allocations --instance {server}.'


def test_a_server_keeps_what_it_holds_when_its_host_has_no_room(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a, b = cloud.host('a', {**SERVER}), cloud.host('b')
    cloud.server('a', a.share)
    moved = cloud.server('a', b.share)
    (finding,) = cloud.audit()

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert result.event == 'skipped'
    assert 'exceed the capacity' in result.reason
    assert cloud.amounts(moved) == b.share


def test_a_host_that_is_gone_since_the_report_keeps_nothing_else_from_repair(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a, b = cloud.host('a'), cloud.host('b')
    cloud.server('a', {})
    other = cloud.server('b', {})
    findings = cloud.audit()
    cloud.send('DELETE', f'/resource_providers/{a.uuid}')

    results = interruptions.repair(cloud, findings, journal)

    assert [one.event for one in results] == ['skipped', 'done']
    assert a.uuid in results[0].reason
    assert cloud.amounts(other) == b.share


# What changed since the report.


def claims_before_it_is_written(cloud: Cloud, server: str) -> None:
    cloud.nova.before_answer.append(
        lambda path: claims_again(cloud, server) if path == '/os-migrations' else None
    )


def named_by_a_flavor(cloud: Cloud, trait: str) -> None:
    cloud.nova.flavors.append(flavor(trait__CUSTOM_LEFT='required'))


def given_to_a_provider(cloud: Cloud, trait: str) -> None:
    cloud.provider('user', {}, traits=(trait,))


def deleted(cloud: Cloud, trait: str) -> None:
    cloud.send('DELETE', f'/traits/{trait}')


SKIPPED, REFUSED, DONE = ['skipped'], ['begun', 'skipped'], ['done']


@pytest.mark.parametrize(
    ('build', 'change', 'written', 'reason'),
    [
        (cases.doubled, claims_again, SKIPPED, 'the consumer has changed'),
        (cases.doubled, claims_before_it_is_written, REFUSED, 'consumer generation conflict'),
        (cases.doubled, moves, SKIPPED, 'the server is being moved'),
        *(
            (cases.doubled, changes_in_nova(**attributes), SKIPPED, 'the server has changed')
            for attributes in (
                {'task': 'powering-off'},
                {'node': 'b'},
                {'updated': '2026-01-02T00:00:00Z'},
                {'is_deleted': True},
            )
        ),
        (cases.leaked_by_a_deleted_server, gives_back, DONE, 'it was so already'),
        (cases.unused_trait, named_by_a_flavor, SKIPPED, 'a flavor names it'),
        (cases.unused_trait, given_to_a_provider, REFUSED, 'The trait CUSTOM_LEFT is in use'),
        (cases.unused_trait, deleted, ['begun', 'done'], 'it was so already'),
    ],
)
def test_what_has_changed_since_the_report_is_not_touched(
    cloud: Cloud,
    journal: pathlib.Path,
    build: Build,
    change: Change,
    written: list[str],
    reason: str,
) -> None:
    subject = cases.built(cloud, build)
    assert subject
    (finding,) = cloud.audit()
    change(cloud, subject)
    before = cloud.everything_held()

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert reason in result.reason
    assert events(journal) == written
    assert cloud.everything_held() == before


# The journal.


def doubled_server(cloud: Cloud) -> tuple[str, Finding]:
    server = cases.built(cloud, cases.doubled)
    (finding,) = cloud.audit()
    return server, finding


def test_the_journal_has_what_a_consumer_held_before_it_is_changed(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    server, finding = doubled_server(cloud)
    before = cloud.amounts(server)

    interruptions.repair(cloud, [finding], journal)

    begun, done = map(json.loads, journal.read_text().splitlines())
    assert (begun['event'], begun['was']) == ('begun', before)
    assert (done['event'], done['finding']) == ('done', finding.id)


def test_a_line_that_was_cut_off_is_written_again(cloud: Cloud, journal: pathlib.Path) -> None:
    _server, finding = doubled_server(cloud)
    assert interruptions.is_killed_after(2, cloud, [finding], journal)
    journal.write_text(journal.read_text() + '{"at": "2026-')

    interruptions.repair(cloud, [finding], journal)

    assert events(journal) == ['begun', 'begun', 'done']


def of_another_report(path: pathlib.Path) -> None:
    with Journal(path, 'another') as opened:
        opened.write('done', 'a-finding')


def of_no_repair(path: pathlib.Path) -> None:
    path.write_text('Dear diary,\n')


def written_by_another_repair(path: pathlib.Path) -> Any:
    return Journal(path, 'mine').__enter__()


def in_a_directory_that_is_missing(path: pathlib.Path) -> None:
    path.parent.rmdir()


@pytest.mark.parametrize(
    ('make', 'words'),
    [
        (of_another_report, 'is the journal of another report'),
        (of_no_repair, 'is not a journal'),
        (written_by_another_repair, 'Another repair writes'),
        (in_a_directory_that_is_missing, 'The journal cannot be written'),
    ],
)
def test_a_journal_that_is_not_of_this_repair_is_refused_and_left_alone(
    tmp_path: pathlib.Path, make: Callable[[pathlib.Path], Any], words: str
) -> None:
    path = tmp_path / 'journals' / 'journal'
    path.parent.mkdir()
    with contextlib.ExitStack() as stack:
        opened = make(path)
        if opened:
            stack.push(opened)
        before = path.exists() and path.read_text()
        with pytest.raises(exceptions.CommandError, match=words), Journal(path, 'mine'):
            pass
        assert before == (path.exists() and path.read_text())
