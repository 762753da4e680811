# SPDX-License-Identifier: Apache-2.0
"""A repair makes the least changes, and none where anything has changed since the report."""

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
from osc_placement_insight.tests.audit import clouds, interruptions, test_kinds
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud
from osc_placement_insight.tests.audit.nova import Migration, flavor


@pytest.fixture
def journal(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / 'journal'


def events(journal: pathlib.Path) -> list[str]:
    return [json.loads(line)['event'] for line in journal.read_text().splitlines()]


REPAIRABLE = [
    test_kinds.consumer_without_allocations,
    test_kinds.server_without_allocations,
    test_kinds.server_whose_consumer_is_empty,
    test_kinds.doubled,
    test_kinds.evacuated_from_a_host_that_is_gone,
    test_kinds.doubled_on_a_nested_provider,
    test_kinds.on_another_host,
    test_kinds.offloaded_but_holding,
    test_kinds.failed_but_holding,
    test_kinds.leaked_by_a_deleted_server,
    test_kinds.leaked_by_a_consumer_of_type_instance,
    test_kinds.leaked_by_an_ended_migration,
    test_kinds.leaked_by_a_migration_of_a_deleted_server,
    test_kinds.leaked_by_a_consumer_of_type_migration,
]


@pytest.mark.parametrize('build', REPAIRABLE, ids=lambda build: build.__name__)
def test_what_was_repaired_is_not_found_again(
    cloud: Cloud, build: Callable[[Cloud], list[str]], journal: pathlib.Path
) -> None:
    build(cloud)
    chosen = repair.proposals(cloud.audit())

    results = interruptions.repair(cloud, chosen, journal)

    assert [one.event for one in results] == ['done']
    assert cloud.audit() == []


NOT_REPAIRED = [
    test_kinds.over_capacity,
    test_kinds.allocation_without_inventory,
    test_kinds.provider_without_root,
    test_kinds.unused_trait,
    test_kinds.unused_resource_class,
    test_kinds.server_with_shared_storage_alone,
    test_kinds.on_a_host_without_provider,
    test_kinds.more_processors_than_the_flavor,
    test_kinds.unknown_consumer,
    test_kinds.consumer_of_another_service,
    test_kinds.rebuilt_hypervisor,
    test_kinds.renamed_hypervisor,
]


@pytest.mark.parametrize('build', NOT_REPAIRED, ids=lambda build: build.__name__)
def test_what_needs_a_decision_is_left_alone(
    cloud: Cloud, build: Callable[[Cloud], list[str]]
) -> None:
    build(cloud)

    assert repair.proposals(cloud.audit()) == []


def test_all_faults_of_the_table_are_one_or_the_other() -> None:
    both = {*REPAIRABLE, *NOT_REPAIRED}
    kinds_left = {test_kinds.FAULTY[build] for build in set(test_kinds.FAULTY) - both}

    assert kinds_left == {'differs-from-flavor'}


@pytest.mark.parametrize(
    'build',
    [test_kinds.unknown_consumer, test_kinds.unused_trait, test_kinds.unused_resource_class],
    ids=lambda build: build.__name__,
)
def test_a_kind_that_is_named_is_repaired(
    cloud: Cloud, build: Callable[[Cloud], list[str]], journal: pathlib.Path
) -> None:
    build(cloud)
    chosen = repair.proposals(cloud.audit(), [test_kinds.FAULTY[build]])

    interruptions.repair(cloud, chosen, journal)

    assert cloud.audit() == []


def test_a_doubled_server_keeps_its_own_host_and_its_shared_storage(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a, b = (cloud.host(name, {'VCPU': 8, 'MEMORY_MB': 8192}) for name in 'ab')
    gpu = cloud.provider('b_gpu', {'VGPU': 1}, parent=b)
    pool = cloud.provider('pool', {'DISK_GB': 1000}, traits=(SHARING,))
    own = {a: {'VCPU': 2, 'MEMORY_MB': 2048}, pool: {'DISK_GB': 20}}
    server = cloud.server('one', 'a', {**own, b: {'VCPU': 2}, gpu: {'VGPU': 1}})
    (finding,) = cloud.audit()

    assert repair.change(finding) == 'remove VCPU 2 of b; remove VGPU 1 of b_gpu'
    interruptions.repair(cloud, [finding], journal)

    assert cloud.amounts(server.uuid) == own


def test_a_missing_claim_is_made_in_the_name_of_the_server(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a = cloud.host('a')
    server = cloud.server('one', 'a', {}, flavor(vcpus=4, ephemeral=10))
    (finding,) = cloud.audit()

    interruptions.repair(cloud, [finding], journal)

    assert cloud.amounts(server.uuid) == {a: {'VCPU': 4, 'MEMORY_MB': 2048, 'DISK_GB': 30}}
    held = cloud.held(server.uuid)
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
    server = cloud.server('one', 'a', {}, demanding)

    (finding,) = cloud.audit()

    assert finding.wanted is None
    assert (
        finding.remedy == f'Run nova-manage placement heal_allocations --instance {server.uuid}.'
    )


def test_a_server_keeps_what_it_holds_when_its_host_has_no_room(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a, b = cloud.host('a', {**SERVER}), cloud.host('b')
    cloud.server('one', 'a', {a: SERVER})
    moved = cloud.server('two', 'a', {b: SERVER})
    (finding,) = cloud.audit()

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert result.event == 'skipped'
    assert 'exceed the capacity' in result.reason
    assert cloud.amounts(moved.uuid) == {b: SERVER}


def test_a_host_that_is_gone_since_the_report_keeps_nothing_else_from_repair(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    a, b = test_kinds.two_hosts(cloud)
    cloud.server('one', 'a', {})
    other = cloud.server('two', 'b', {})
    findings = cloud.audit()
    cloud.send('DELETE', f'/resource_providers/{a}')

    results = interruptions.repair(cloud, findings, journal)

    assert [one.event for one in results] == ['skipped', 'done']
    assert a in results[0].reason
    assert cloud.amounts(other.uuid).keys() == {b}


# What changed since the report.


def doubled_server(cloud: Cloud) -> tuple[str, Finding]:
    a, b = test_kinds.two_hosts(cloud)
    server = cloud.server('one', 'a', {a: SERVER, b: SERVER})
    (finding,) = cloud.audit()
    return server.uuid, finding


def claimed_again(cloud: Cloud, server: str) -> None:
    cloud.claim(server, cloud.amounts(server))


def task_begun(cloud: Cloud, server: str) -> None:
    cloud.nova.servers[server].task = 'powering-off'


def moved_in_nova(cloud: Cloud, server: str) -> None:
    cloud.nova.servers[server].node = 'b'


def updated_in_nova(cloud: Cloud, server: str) -> None:
    cloud.nova.servers[server].updated = '2026-01-02T00:00:00Z'


def deleted_in_nova(cloud: Cloud, server: str) -> None:
    cloud.nova.servers[server].is_deleted = True


def migration_begun(cloud: Cloud, server: str) -> None:
    cloud.nova.migrations['new'] = Migration(server, 'resize', 'accepted', 'a', 'b', 'new')


@pytest.mark.parametrize(
    'change',
    [
        claimed_again,
        task_begun,
        moved_in_nova,
        updated_in_nova,
        deleted_in_nova,
        migration_begun,
    ],
    ids=lambda change: change.__name__,
)
def test_what_has_changed_since_the_report_is_not_touched(
    cloud: Cloud, change: Callable[[Cloud, str], None], journal: pathlib.Path
) -> None:
    server, finding = doubled_server(cloud)
    change(cloud, server)
    before = cloud.held(server)

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert result.event == 'skipped'
    assert cloud.held(server) == before
    assert events(journal) == ['skipped']


def test_a_claim_between_the_last_read_and_the_write_is_not_touched(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    server, finding = doubled_server(cloud)
    cloud.nova.before_answer.append(
        lambda path: claimed_again(cloud, server) if path == '/os-migrations' else None
    )

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert result.event == 'skipped'
    assert 'consumer generation conflict' in result.reason
    assert len(cloud.amounts(server)) == 2


def test_what_somebody_else_has_repaired_is_done(cloud: Cloud, journal: pathlib.Path) -> None:
    (server,) = test_kinds.leaked_by_a_deleted_server(cloud)
    (finding,) = cloud.audit()
    cloud.send('DELETE', f'/allocations/{server}')

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert (result.event, result.reason) == ('done', 'it was so already')


def test_a_trait_that_a_flavor_names_since_is_kept(cloud: Cloud, journal: pathlib.Path) -> None:
    test_kinds.unused_trait(cloud)
    (finding,) = cloud.audit()
    cloud.nova.flavors.append(flavor(trait__CUSTOM_LEFT='required'))

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert (result.event, result.reason) == ('skipped', 'a flavor names it')


def test_a_trait_that_a_provider_has_since_is_kept(cloud: Cloud, journal: pathlib.Path) -> None:
    test_kinds.unused_trait(cloud)
    (finding,) = cloud.audit()
    cloud.provider('a', {}, traits=('CUSTOM_LEFT',))

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert result.event == 'skipped'
    assert 'The trait CUSTOM_LEFT is in use' in result.reason


def test_a_trait_that_is_gone_is_done(cloud: Cloud, journal: pathlib.Path) -> None:
    test_kinds.unused_trait(cloud)
    (finding,) = cloud.audit()
    cloud.send('DELETE', '/traits/CUSTOM_LEFT')

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert (result.event, result.reason) == ('done', 'it was so already')


# The journal.


def test_the_journal_has_what_a_consumer_held_before_it_is_changed(
    cloud: Cloud, journal: pathlib.Path
) -> None:
    server, finding = doubled_server(cloud)
    before = cloud.amounts(server)

    interruptions.repair(cloud, [finding], journal)

    begun, done = map(json.loads, journal.read_text().splitlines())
    assert (begun['event'], begun['was']) == ('begun', before)
    assert (done['event'], done['finding']) == ('done', finding.id)


def test_a_repair_that_is_killed_anywhere_ends_where_it_would_have_ended(
    cloud: Cloud, tmp_path: pathlib.Path
) -> None:
    a, b = (cloud.host(name, dict.fromkeys(SERVER, 10**6)) for name in 'ab')
    interrupted_at = 0
    for number in range(100):
        cloud.server(f'{number} doubled', 'a', {a: SERVER, b: SERVER})
        cloud.server(f'{number} missing', 'a', {})
        leaked = cloud.server(f'{number} leaked', 'a', {a: SERVER}, is_deleted=True)
        findings = repair.proposals(cloud.audit())
        journal = tmp_path / str(number)

        if not interruptions.is_killed_after(number, cloud, findings, journal):
            break
        interrupted_at += 1
        results = interruptions.repair(cloud, findings, journal)
        assert [one.event for one in results] == ['done'] * 3
        assert cloud.audit() == []
        assert cloud.amounts(leaked.uuid) == {}
    # A read, two lines and a write for each finding.
    assert interrupted_at == 12


def test_a_line_that_was_cut_off_is_written_again(cloud: Cloud, journal: pathlib.Path) -> None:
    _server, finding = doubled_server(cloud)
    assert interruptions.is_killed_after(2, cloud, [finding], journal)
    journal.write_text(journal.read_text() + '{"at": "2026-')

    interruptions.repair(cloud, [finding], journal)

    assert events(journal) == ['begun', 'begun', 'done']


def test_a_failing_service_ends_a_repair_that_can_go_on(
    cloud: Cloud, journal: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, finding = doubled_server(cloud)
    cloud.nova.is_failing = True
    with pytest.raises(exceptions.CommandError, match='Nova refuses'):
        interruptions.repair(cloud, [finding], journal)
    cloud.nova.is_failing = False

    (result,) = interruptions.repair(cloud, [finding], journal)

    assert result.event == 'done'
    assert len(cloud.amounts(server)) == 1


def test_a_journal_of_another_report_is_refused(journal: pathlib.Path) -> None:
    with Journal(journal, 'another') as opened:
        opened.write('done', 'a-finding')

    with (
        pytest.raises(exceptions.CommandError, match='is the journal of another report'),
        Journal(journal, 'mine'),
    ):
        pass


def test_what_is_no_journal_is_refused(journal: pathlib.Path) -> None:
    journal.write_text('Dear diary,\n')

    with pytest.raises(exceptions.CommandError, match='is not a journal'), Journal(journal, 'a'):
        pass
    assert journal.read_text() == 'Dear diary,\n'


def test_a_journal_that_another_repair_writes_is_refused(journal: pathlib.Path) -> None:
    with (
        Journal(journal, 'mine'),
        pytest.raises(exceptions.CommandError, match='Another repair writes'),
        Journal(journal, 'mine'),
    ):
        pass


def test_a_journal_that_cannot_be_written_is_told(tmp_path: pathlib.Path) -> None:
    with (
        pytest.raises(exceptions.CommandError, match='The journal cannot be written'),
        Journal(tmp_path / 'nowhere' / 'journal', 'mine'),
    ):
        pass
