# SPDX-License-Identifier: Apache-2.0
"""Effects of the report client on a running service, and the number of requests."""

import dataclasses
import pathlib
import uuid
from collections.abc import Iterator

import pytest
from keystoneauth1 import adapter, noauth, session

import placement_report_client as client
from placement.tests.functional import client_services
from placement.tests.functional.client_services import Recorder, deliver, lose_answer
from placement_report_client import clouds

QUICK = client.RetryPolicy(first_delay=0.001, max_delay=0.01)


def new_uuid() -> str:
    return str(uuid.uuid4())


def new_name(prefix: str = 'CUSTOM') -> str:
    return f'{prefix}_{uuid.uuid4().hex.upper()}'


@pytest.fixture(scope='module')
def service() -> Iterator[str]:
    """The URL of a running service."""
    with client_services.running() as url:
        yield url


@pytest.fixture
def recorder(service: str) -> Iterator[Recorder]:
    recorder = client_services.adapter_for(service)
    yield recorder
    recorder.session.session.close()


@pytest.fixture
def report(recorder: Recorder) -> client.ReportClient:
    return client.ReportClient(recorder, QUICK)


@pytest.fixture
def other(service: str) -> Iterator[client.ReportClient]:
    """Somebody else, with a connection of their own."""
    recorder = client_services.adapter_for(service)
    yield client.ReportClient(recorder, QUICK)
    recorder.session.session.close()


def a_host(vcpu: int = 8, **options: object) -> client.Provider:
    """A host in an aggregate of its own, by which it is told from those of other tests."""
    host = client.Provider(
        new_uuid(),
        new_name('host'),
        inventories={'VCPU': client.Inventory(vcpu), 'MEMORY_MB': client.Inventory(4096)},
        traits=(),
        aggregates=[new_uuid()],
    )
    return dataclasses.replace(host, **options)  # type: ignore[arg-type]


def a_host_of(report: client.ReportClient, vcpu: int = 8, **options: object) -> client.Provider:
    host = a_host(vcpu, **options)
    report.ensure_tree(host)
    return host


def candidates_on(
    report: client.ReportClient, host: client.Provider, vcpu: int = 2
) -> client.Candidates:
    return report.find_candidates(
        client.CandidateRequest(
            {'': client.RequestGroup({'VCPU': vcpu}, in_tree=host.uuid)}, limit=10
        )
    )


def a_claim(report: client.ReportClient, host: client.Provider, vcpu: int = 2) -> client.Consumer:
    consumer = client.Consumer(new_uuid(), 'project', 'user')
    report.claim_any(consumer, candidates_on(report, host, vcpu))
    return consumer


def used(recorder: adapter.Adapter, host: client.Provider) -> int:
    """The VCPUs that are taken of a host."""
    usages = recorder.get(f'/resource_providers/{host.uuid}/usages').json()['usages']
    return int(usages['VCPU'])


def amounts_of(report: client.ReportClient, consumer: str) -> object:
    found = report.find_allocations(consumer)
    return found and found.amounts


# Names


@pytest.mark.parametrize('times', [1, 2])
def test_a_resource_class_is_ensured_in_one_request(
    report: client.ReportClient, recorder: Recorder, times: int
) -> None:
    name = new_name()
    for _ in range(times):
        before = len(recorder.sent)
        report.ensure_resource_class(name)
        assert recorder.sent_since(before) == [f'PUT /resource_classes/{name}']


def test_standard_resource_class_is_read_not_written(
    report: client.ReportClient, recorder: Recorder
) -> None:
    report.ensure_resource_class('VCPU')
    with pytest.raises(client.Gone, match='NO_SUCH') as caught:
        report.ensure_resource_class('NO_SUCH')
    assert caught.value.request_id
    assert recorder.writes() == []


def test_only_missing_traits_are_written(report: client.ReportClient, recorder: Recorder) -> None:
    old, new = new_name(), new_name()
    report.ensure_traits([old, 'HW_CPU_X86_AVX'])
    before = len(recorder.sent)
    report.ensure_traits([old, new, 'HW_CPU_X86_AVX'])
    assert recorder.sent_since(before) == ['GET /traits', f'PUT /traits/{new}']


def test_many_traits_are_read_in_queries_of_limited_length(
    report: client.ReportClient, recorder: Recorder
) -> None:
    names = [new_name('CUSTOM_' + 'X' * 200) for _ in range(20)]
    report.ensure_traits(names)
    report.ensure_traits(names)
    assert len(recorder.writes()) == len(names)


# Trees


def a_tree() -> client.Provider:
    numa = tuple(
        client.Provider(
            new_uuid(),
            new_name(f'numa{number}'),
            {'VCPU': client.Inventory(8, allocation_ratio=1.1)},
            ['HW_NUMA_ROOT', new_name()],
        )
        for number in range(2)
    )
    memory = {'MEMORY_MB': client.Inventory(4096, reserved=512), new_name(): client.Inventory(1)}
    return a_host(inventories=memory, children=numa)


def test_what_is_the_same_or_none_is_not_written(
    report: client.ReportClient, recorder: Recorder
) -> None:
    tree = a_tree()
    report.ensure_tree(tree)
    written = len(recorder.writes())
    report.ensure_tree(tree)
    report.ensure_tree(client.Provider(tree.uuid, tree.name))
    assert written > 0
    assert len(recorder.writes()) == written


def test_only_the_differing_sub_resource_is_written(
    report: client.ReportClient, recorder: Recorder
) -> None:
    tree = a_tree()
    report.ensure_tree(tree)
    first, second = tree.children
    changed = dataclasses.replace(second, inventories={'VCPU': client.Inventory(16)})
    before = len(recorder.writes())
    report.ensure_tree(dataclasses.replace(tree, children=(first, changed)))
    assert recorder.writes()[before:] == [f'PUT /resource_providers/{second.uuid}/inventories']


def test_a_provider_is_renamed_and_moved(report: client.ReportClient, recorder: Recorder) -> None:
    tree, elsewhere = a_tree(), a_host_of(report)
    report.ensure_tree(tree)
    moved = dataclasses.replace(tree.children[0], name=new_name('moved'))
    report.ensure_tree(moved, parent=elsewhere.uuid)
    shown = recorder.get(f'/resource_providers/{moved.uuid}', microversion='1.14').json()
    assert shown['name'] == moved.name
    assert shown['root_provider_uuid'] == elsewhere.uuid


def test_another_name_or_parent_that_cannot_be_is_told(report: client.ReportClient) -> None:
    host = a_host_of(report)
    with pytest.raises(client.Gone):
        report.ensure_tree(a_host(), parent=new_uuid())
    with pytest.raises(client.NameTaken):
        report.ensure_tree(dataclasses.replace(a_host(), name=host.name))


def test_an_inventory_in_use_cannot_be_removed(report: client.ReportClient) -> None:
    host = a_host_of(report)
    consumer = a_claim(report, host)
    with pytest.raises(client.InUse):
        report.ensure_tree(dataclasses.replace(host, inventories={}))
    with pytest.raises(client.InUse):
        report.delete_provider(host.uuid)
    report.release(consumer.uuid)
    assert report.delete_provider(host.uuid) is True
    assert report.delete_provider(host.uuid) is False


@pytest.mark.parametrize('lost', range(9))
def test_ensure_tree_succeeds_whichever_answer_is_lost(
    report: client.ReportClient, recorder: Recorder, lost: int
) -> None:
    host = a_host(traits=['HW_CPU_X86_AVX'])
    recorder.afterwards = [*[deliver] * lost, lose_answer]
    report.ensure_tree(host)
    assert recorder.afterwards == []
    before = len(recorder.writes())
    report.ensure_tree(host)
    assert recorder.writes()[before:] == []


# Candidates


def test_search_with_every_parameter_finds_candidates(report: client.ReportClient) -> None:
    trait = new_name()
    tree = a_tree()
    report.ensure_traits([trait])
    report.ensure_tree(tree)
    root = client.RequestGroup(
        {'MEMORY_MB': 512},
        any_of=[['HW_CPU_X86_AVX', trait]],
        forbidden=['HW_CPU_X86_SSE'],
        member_of=[[*(tree.aggregates or ())], [new_uuid(), *(tree.aggregates or ())]],
        forbidden_aggregates=[new_uuid(), new_uuid()],
        in_tree=tree.uuid,
    )
    numa = client.RequestGroup({'VCPU': 2}, required=['HW_NUMA_ROOT'])
    request = client.CandidateRequest(
        {'': root, '_A': numa, '_B': numa, '_C': client.RequestGroup(required=['HW_NUMA_ROOT'])},
        isolate=False,
        same_subtree=[['_A', '_C']],
        root_required=[trait],
        root_forbidden=['HW_NUMA_ROOT'],
        limit=5,
    )
    assert len(report.find_candidates(request)) == 0
    report.ensure_tree(client.Provider(tree.uuid, tree.name, traits=[trait]))
    found = report.find_candidates(request)
    assert len(found) == 4
    assert all(candidate.amounts[tree.uuid] == {'MEMORY_MB': 512} for candidate in found)
    assert all(candidate.mappings['_A'] == candidate.mappings['_C'] for candidate in found)
    summary = found.summaries[tree.children[0].uuid]
    assert summary.stocks == {'VCPU': client.Stock(8, 0)}
    assert 'HW_NUMA_ROOT' in summary.traits
    assert (summary.parent, summary.root) == (tree.uuid, tree.uuid)


# Claims


def test_a_claim_is_one_request(report: client.ReportClient, recorder: Recorder) -> None:
    host = a_host_of(report)
    (candidate,) = candidates_on(report, host)
    consumer = client.Consumer(new_uuid(), 'project', 'user')
    before = len(recorder.sent)
    report.claim(consumer, candidate)
    assert recorder.sent_since(before) == [f'PUT /allocations/{consumer.uuid}']
    found = report.find_allocations(consumer.uuid)
    assert found is not None
    assert found.consumer == consumer
    assert found.amounts == {host.uuid: {'VCPU': 2}}


def test_claim_any_skips_a_full_host(report: client.ReportClient) -> None:
    full, empty = a_host_of(report, vcpu=2), a_host_of(report)
    offers = [*candidates_on(report, full), *candidates_on(report, empty)]
    first, second, third = (client.Consumer(new_uuid(), 'p', 'u') for _ in range(3))
    assert report.claim_any(first, offers) == offers[0]
    with pytest.raises(client.NoCapacity, match='exceed the capacity'):
        report.claim(second, offers[0])
    assert report.claim_any(second, offers) == offers[1]
    with pytest.raises(client.NoCapacity) as caught:
        report.claim_any(third, offers[:1])
    assert isinstance(caught.value.__cause__, client.NoCapacity)


def test_claim_any_skips_a_deleted_host(report: client.ReportClient) -> None:
    gone, there = a_host_of(report), a_host_of(report)
    offers = [*candidates_on(report, gone), *candidates_on(report, there)]
    report.delete_provider(gone.uuid)
    consumer = client.Consumer(new_uuid(), 'p', 'u')
    with pytest.raises(client.Gone):
        report.claim(consumer, offers[0])
    assert report.claim_any(consumer, offers) == offers[1]


# Read, modify, write


def test_allocations_are_written_as_they_were_read(
    report: client.ReportClient, recorder: Recorder
) -> None:
    host = a_host_of(report)
    consumer = a_claim(report, host)
    before = len(recorder.sent)
    report.change_allocations(
        consumer.uuid, lambda found: found.with_amounts({host.uuid: {'VCPU': 5}})
    )
    path = f'/allocations/{consumer.uuid}'
    assert recorder.sent_since(before) == [f'GET {path}', f'PUT {path}']
    assert used(recorder, host) == 5


def test_nothing_is_sent_when_nothing_changes(
    report: client.ReportClient, recorder: Recorder
) -> None:
    host = a_host_of(report)
    consumer = a_claim(report, host)
    before = len(recorder.writes())
    report.change_allocations(consumer.uuid, lambda found: found)
    assert recorder.writes()[before:] == []


def one_more(found: client.Allocations) -> client.Allocations:
    ((provider, resources),) = found.amounts.items()
    return found.with_amounts({provider: {'VCPU': resources['VCPU'] + 1}})


@pytest.mark.parametrize(
    ('lost', 'is_told', 'left'),
    [
        pytest.param(0, False, 3, id='the-conflict'),
        pytest.param(1, True, 4, id='what-it-was-about'),
        pytest.param(2, True, 4, id='the-second-reading'),
        pytest.param(3, False, 4, id='the-second-write'),
    ],
)
def test_concurrent_change_is_never_made_twice(
    report: client.ReportClient,
    other: client.ReportClient,
    recorder: Recorder,
    lost: int,
    is_told: bool,
    left: int,
) -> None:
    host = a_host_of(report)
    consumer = a_claim(report, host)
    # Somebody makes the same change first; then one of the answers is lost.
    recorder.afterwards = [
        lambda *_: other.change_allocations(consumer.uuid, one_more),
        *[deliver] * lost,
        lose_answer,
    ]
    try:
        report.change_allocations(consumer.uuid, one_more)
    except client.Unreachable:
        assert not is_told
    else:
        assert is_told
    assert recorder.afterwards == []
    assert used(recorder, host) == left


def test_change_of_an_unknown_consumer_raises_gone(report: client.ReportClient) -> None:
    with pytest.raises(client.Gone, match='no allocations'):
        report.change_allocations(new_uuid(), one_more)


# Moves


@pytest.fixture
def hosts(report: client.ReportClient) -> tuple[client.Provider, client.Provider]:
    return a_host_of(report), a_host_of(report)


Hosts = tuple[client.Provider, client.Provider]


@pytest.mark.parametrize('lost', [0, 1, 2])
def test_a_move_is_one_write_until_it_is_confirmed(
    report: client.ReportClient, recorder: Recorder, hosts: Hosts, lost: int
) -> None:
    source, destination = hosts
    instance, migration = a_claim(report, source), new_uuid()
    (candidate,) = candidates_on(report, destination)
    # The first answer is that to the reading.
    if lost:
        recorder.afterwards = [
            *[deliver] * (lost - 1),
            lose_answer,
        ]
    before = len(recorder.writes())
    report.move(instance.uuid, migration, candidate)
    assert set(recorder.writes()[before:]) == {'POST /allocations'}
    assert len(recorder.writes()[before:]) == (2 if lost == 2 else 1)
    assert amounts_of(report, instance.uuid) == {destination.uuid: {'VCPU': 2}}
    held = report.find_allocations(migration)
    assert held is not None
    assert held.amounts == {source.uuid: {'VCPU': 2}}
    assert held.consumer == dataclasses.replace(instance, uuid=migration, type='MIGRATION')
    assert report.confirm(migration) is True
    assert (used(recorder, source), used(recorder, destination)) == (0, 2)
    assert report.confirm(migration) is False


@pytest.mark.parametrize('lost', [False, True])
def test_a_move_is_reverted_in_one_write(
    report: client.ReportClient, recorder: Recorder, hosts: Hosts, lost: bool
) -> None:
    source, destination = hosts
    instance, migration = a_claim(report, source), new_uuid()
    (candidate,) = candidates_on(report, destination)
    report.move(instance.uuid, migration, candidate)
    before = len(recorder.writes())
    if lost:
        recorder.afterwards = [*[deliver] * 2, lose_answer]
    report.revert(instance.uuid, migration)
    assert set(recorder.writes()[before:]) == {'POST /allocations'}
    assert amounts_of(report, instance.uuid) == {source.uuid: {'VCPU': 2}}
    assert amounts_of(report, migration) is None
    assert (used(recorder, source), used(recorder, destination)) == (2, 0)


def test_resize_succeeds_where_both_sizes_together_do_not_fit(
    report: client.ReportClient, recorder: Recorder
) -> None:
    host = a_host_of(report, vcpu=4)
    instance, migration = a_claim(report, host, vcpu=3), new_uuid()
    bigger = client.Candidate({host.uuid: {'VCPU': 4}})
    with pytest.raises(client.NoCapacity):
        report.move(instance.uuid, migration, bigger)
    assert amounts_of(report, migration) is None
    assert used(recorder, host) == 3
    report.change_allocations(instance.uuid, one_more)
    assert used(recorder, host) == 4


def test_second_move_of_a_migration_raises_conflict(
    report: client.ReportClient, hosts: Hosts
) -> None:
    source, destination = hosts
    instance, migration = a_claim(report, source), new_uuid()
    (candidate,) = candidates_on(report, destination)
    report.move(instance.uuid, migration, candidate)
    with pytest.raises(client.Conflict):
        report.move(instance.uuid, migration, candidate)


def test_move_of_an_unknown_instance_raises_gone(
    report: client.ReportClient, hosts: Hosts
) -> None:
    (candidate,) = candidates_on(report, hosts[0])
    with pytest.raises(client.Gone):
        report.move(new_uuid(), new_uuid(), candidate)
    with pytest.raises(client.Gone):
        report.revert(new_uuid(), new_uuid())


@pytest.mark.parametrize('lost', [False, True])
def test_a_release_can_be_repeated(
    report: client.ReportClient, recorder: Recorder, lost: bool
) -> None:
    host = a_host_of(report)
    consumer = a_claim(report, host)
    if lost:
        recorder.afterwards = [lose_answer]
    report.release(consumer.uuid)
    assert used(recorder, host) == 0
    assert report.release(consumer.uuid) is False


# Who is asking, and where


def test_client_without_authentication_reaches_the_service(
    service: str,
) -> None:
    anonymous = session.Session(
        auth=noauth.NoAuth(service), additional_headers={'x-roles': 'admin'}
    )
    report = client.ReportClient(adapter.Adapter(anonymous, service_type='placement'))
    report.ensure_traits(['HW_CPU_X86_AVX'])
    assert report.microversion() >= client.Microversion(1, 39)
    anonymous.session.close()


def test_client_without_permission_is_refused(service: str) -> None:
    anonymous = session.Session(auth=noauth.NoAuth(service))
    report = client.ReportClient(adapter.Adapter(anonymous, service_type='placement'))
    with pytest.raises(client.Refused, match='Policy does not allow') as caught:
        report.ensure_resource_class('CUSTOM_MINE')
    assert caught.value.status == 403
    assert str(caught.value).endswith(f'({caught.value.request_id})')
    anonymous.session.close()


def test_client_from_clouds_yaml_reaches_the_service(
    service: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / 'clouds.yaml'
    file.write_text(f"""
clouds:
  here:
    auth_type: admin_token
    auth:
      endpoint: {service}
      token: admin
""")
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(file))
    report = clouds.connect('here')
    report.ensure_resource_class(new_name())
    report._connection._adapter.session.session.close()
