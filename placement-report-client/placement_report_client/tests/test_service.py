# SPDX-License-Identifier: Apache-2.0
"""Effects of the report client on a running service, and the requests that it sends."""

import dataclasses
import pathlib
from collections.abc import Iterator

import openstack
import pytest

import placement_report_client as client
from placement_report_client.tests.callers import (
    QUICK,
    Caller,
    a_host,
    new_consumer,
    new_name,
    new_uuid,
)


def a_tree() -> client.Provider:
    """A host with two NUMA nodes, and with names that are new to the service."""
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


def one_more(found: client.Allocations) -> client.Allocations:
    """Allocations of one host, with one more VCPU."""
    ((provider, resources),) = found.amounts.items()
    return found.with_amounts({provider: {'VCPU': resources['VCPU'] + 1}})


@pytest.fixture
def other(service: str) -> Iterator[Caller]:
    """Another caller of the same service."""
    with Caller(service) as caller:
        yield caller


# Names


def test_a_resource_class_is_ensured_in_one_request(cloud: Caller) -> None:
    name = new_name()
    for _ in range(2):
        sent = cloud.requests(lambda: cloud.report.ensure_resource_class(name))
        assert sent == [f'PUT /resource_classes/{name}']


def test_standard_resource_class_is_read_not_written(cloud: Caller) -> None:
    cloud.report.ensure_resource_class('VCPU')
    with pytest.raises(client.Gone, match='NO_SUCH') as caught:
        cloud.report.ensure_resource_class('NO_SUCH')
    assert caught.value.request_id
    assert cloud.recorder.writes() == []


def test_only_missing_traits_are_written(cloud: Caller) -> None:
    old, new = new_name(), new_name()
    cloud.report.ensure_traits([old, 'HW_CPU_X86_AVX'])
    sent = cloud.requests(lambda: cloud.report.ensure_traits([old, new, 'HW_CPU_X86_AVX']))
    assert sent == ['GET /traits', f'PUT /traits/{new}']


def test_many_traits_are_read_in_queries_of_limited_length(cloud: Caller) -> None:
    names = [new_name('CUSTOM_' + 'X' * 200) for _ in range(20)]
    cloud.report.ensure_traits(names)
    cloud.report.ensure_traits(names)
    assert len(cloud.recorder.writes()) == len(names)


# Trees


def test_only_what_differs_in_a_tree_is_written(cloud: Caller) -> None:
    tree = a_tree()
    assert cloud.writes(lambda: cloud.report.ensure_tree(tree)) != []
    assert cloud.writes(lambda: cloud.report.ensure_tree(tree)) == []
    names_alone = client.Provider(tree.uuid, tree.name)
    sent = cloud.requests(lambda: cloud.report.ensure_tree(names_alone))
    assert sent == ['GET /resource_providers']
    first, second = tree.children
    larger = dataclasses.replace(second, inventories={'VCPU': client.Inventory(16)})
    changed = dataclasses.replace(tree, children=(first, larger))
    written = cloud.writes(lambda: cloud.report.ensure_tree(changed))
    assert written == [f'PUT /resource_providers/{second.uuid}/inventories']


def test_a_provider_is_renamed_and_moved(cloud: Caller) -> None:
    tree, elsewhere = a_tree(), cloud.host()
    cloud.report.ensure_tree(tree)
    moved = dataclasses.replace(tree.children[0], name=new_name('moved'))
    cloud.report.ensure_tree(moved, parent=elsewhere.uuid)
    shown = cloud.recorder.get(f'/resource_providers/{moved.uuid}', microversion='1.14').json()
    assert shown['name'] == moved.name
    assert shown['root_provider_uuid'] == elsewhere.uuid


def test_another_name_or_parent_that_cannot_be_is_told(cloud: Caller) -> None:
    host = cloud.host()
    with pytest.raises(client.Gone):
        cloud.report.ensure_tree(a_host(), parent=new_uuid())
    with pytest.raises(client.NameTaken):
        cloud.report.ensure_tree(dataclasses.replace(a_host(), name=host.name))


def test_an_inventory_in_use_cannot_be_removed(cloud: Caller) -> None:
    host = cloud.host()
    consumer = cloud.claim(host)
    with pytest.raises(client.InUse):
        cloud.report.ensure_tree(dataclasses.replace(host, inventories={}))
    with pytest.raises(client.InUse):
        cloud.report.delete_provider(host.uuid)
    cloud.report.release(consumer.uuid)
    assert cloud.report.delete_provider(host.uuid) is True
    assert cloud.report.delete_provider(host.uuid) is False


@pytest.mark.parametrize('lost', range(9))
def test_ensure_tree_succeeds_whichever_answer_is_lost(cloud: Caller, lost: int) -> None:
    host = a_host(traits=['HW_CPU_X86_AVX'])
    cloud.lose_answer_after(lost)
    cloud.report.ensure_tree(host)
    assert cloud.recorder.afterwards == []
    assert cloud.writes(lambda: cloud.report.ensure_tree(host)) == []


# Candidates


def test_search_with_every_parameter_finds_candidates(cloud: Caller) -> None:
    trait, tree = new_name(), a_tree()
    cloud.report.ensure_traits([trait])
    cloud.report.ensure_tree(tree)
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
    assert len(cloud.report.find_candidates(request)) == 0
    cloud.report.ensure_tree(client.Provider(tree.uuid, tree.name, traits=[trait]))
    found = cloud.report.find_candidates(request)
    assert len(found) == 4
    assert all(candidate.amounts[tree.uuid] == {'MEMORY_MB': 512} for candidate in found)
    assert all(candidate.mappings['_A'] == candidate.mappings['_C'] for candidate in found)
    summary = found.summaries[tree.children[0].uuid]
    assert summary.stocks == {'VCPU': client.Stock(8, 0)}
    assert 'HW_NUMA_ROOT' in summary.traits
    assert (summary.parent, summary.root) == (tree.uuid, tree.uuid)


# Claims


def test_a_claim_is_one_request(cloud: Caller) -> None:
    host, consumer = cloud.host(), new_consumer()
    (candidate,) = cloud.candidates(host)
    sent = cloud.requests(lambda: cloud.report.claim(consumer, candidate))
    assert sent == [f'PUT /allocations/{consumer.uuid}']
    found = cloud.report.find_allocations(consumer.uuid)
    assert found is not None
    assert (found.consumer, found.amounts) == (consumer, {host.uuid: {'VCPU': 2}})


def test_claim_any_skips_a_full_host(cloud: Caller) -> None:
    offers = [*cloud.candidates(cloud.host(vcpu=2)), *cloud.candidates(cloud.host())]
    first, second, third = (new_consumer() for _ in range(3))
    assert cloud.report.claim_any(first, offers) == offers[0]
    with pytest.raises(client.NoCapacity, match='exceed the capacity'):
        cloud.report.claim(second, offers[0])
    assert cloud.report.claim_any(second, offers) == offers[1]
    with pytest.raises(client.NoCapacity) as caught:
        cloud.report.claim_any(third, offers[:1])
    assert isinstance(caught.value.__cause__, client.NoCapacity)


def test_claim_any_skips_a_deleted_host(cloud: Caller) -> None:
    gone, consumer = cloud.host(), new_consumer()
    offers = [*cloud.candidates(gone), *cloud.candidates(cloud.host())]
    cloud.report.delete_provider(gone.uuid)
    with pytest.raises(client.Gone):
        cloud.report.claim(consumer, offers[0])
    assert cloud.report.claim_any(consumer, offers) == offers[1]


# Read, modify, write


def test_allocations_are_written_as_they_were_read(cloud: Caller) -> None:
    host = cloud.host()
    consumer = cloud.claim(host).uuid
    sent = cloud.requests(lambda: cloud.report.change_allocations(consumer, one_more))
    assert sent == [f'GET /allocations/{consumer}', f'PUT /allocations/{consumer}']
    assert cloud.used(host) == 3
    unchanged = cloud.writes(lambda: cloud.report.change_allocations(consumer, lambda was: was))
    assert unchanged == []


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
    cloud: Caller, other: Caller, lost: int, is_told: bool, left: int
) -> None:
    host = cloud.host()
    consumer = cloud.claim(host).uuid
    # Somebody makes the same change first; then one of the answers is lost.
    cloud.lose_answer_after(lost)
    cloud.recorder.afterwards.insert(
        0, lambda *_: other.report.change_allocations(consumer, one_more)
    )
    try:
        cloud.report.change_allocations(consumer, one_more)
    except client.Unreachable:
        assert not is_told
    else:
        assert is_told
    assert cloud.recorder.afterwards == []
    assert cloud.used(host) == left


# Moves


@pytest.mark.parametrize('lost', [None, 0, 1])
def test_a_move_is_one_write_until_it_is_confirmed(cloud: Caller, lost: int | None) -> None:
    source, destination = cloud.host(), cloud.host()
    instance, migration = cloud.claim(source), new_uuid()
    (candidate,) = cloud.candidates(destination)
    if lost is not None:
        # The first answer is that to the reading.
        cloud.lose_answer_after(lost)
    written = cloud.writes(lambda: cloud.report.move(instance.uuid, migration, candidate))
    assert written == ['POST /allocations'] * (2 if lost == 1 else 1)
    assert cloud.amounts(instance.uuid) == {destination.uuid: {'VCPU': 2}}
    held = cloud.report.find_allocations(migration)
    assert held is not None
    assert held.amounts == {source.uuid: {'VCPU': 2}}
    assert held.consumer == dataclasses.replace(instance, uuid=migration, type='MIGRATION')
    with pytest.raises(client.Conflict):
        cloud.report.move(instance.uuid, migration, candidate)
    assert cloud.report.confirm(migration) is True
    assert (cloud.used(source), cloud.used(destination)) == (0, 2)
    assert cloud.report.confirm(migration) is False


@pytest.mark.parametrize('is_lost', [False, True])
def test_a_move_is_reverted_in_one_write(cloud: Caller, is_lost: bool) -> None:
    source, destination = cloud.host(), cloud.host()
    instance, migration = cloud.claim(source).uuid, new_uuid()
    (candidate,) = cloud.candidates(destination)
    cloud.report.move(instance, migration, candidate)
    if is_lost:
        cloud.lose_answer_after(2)
    written = cloud.writes(lambda: cloud.report.revert(instance, migration))
    assert set(written) == {'POST /allocations'}
    assert cloud.amounts(instance) == {source.uuid: {'VCPU': 2}}
    assert cloud.amounts(migration) is None
    assert (cloud.used(source), cloud.used(destination)) == (2, 0)


def test_resize_succeeds_where_both_sizes_together_do_not_fit(cloud: Caller) -> None:
    host = cloud.host(vcpu=4)
    instance, migration = cloud.claim(host, vcpu=3).uuid, new_uuid()
    with pytest.raises(client.NoCapacity):
        cloud.report.move(instance, migration, client.Candidate({host.uuid: {'VCPU': 4}}))
    assert cloud.amounts(migration) is None
    assert cloud.used(host) == 3
    cloud.report.change_allocations(instance, one_more)
    assert cloud.used(host) == 4


def test_what_is_to_be_done_to_an_unknown_consumer_raises_gone(cloud: Caller) -> None:
    (candidate,) = cloud.candidates(cloud.host())
    for action in (
        lambda: cloud.report.change_allocations(new_uuid(), one_more),
        lambda: cloud.report.move(new_uuid(), new_uuid(), candidate),
        lambda: cloud.report.revert(new_uuid(), new_uuid()),
    ):
        with pytest.raises(client.Gone, match='no allocations'):
            action()


@pytest.mark.parametrize('is_lost', [False, True])
def test_a_release_can_be_repeated(cloud: Caller, is_lost: bool) -> None:
    host = cloud.host()
    consumer = cloud.claim(host)
    if is_lost:
        cloud.lose_answer_after(0)
    cloud.report.release(consumer.uuid)
    assert cloud.used(host) == 0
    assert cloud.report.release(consumer.uuid) is False


# It warns of what it deprecates itself.
@pytest.mark.filterwarnings('ignore::PendingDeprecationWarning')
def test_client_takes_the_adapter_that_openstacksdk_makes(
    service: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / 'clouds.yaml'
    auth = f'{{endpoint: "{service}", token: admin}}'
    file.write_text(f'clouds: {{here: {{auth_type: admin_token, auth: {auth}}}}}')
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(file))
    with openstack.connect(cloud='here') as connection:
        report = client.ReportClient(connection.placement, QUICK)
        host = a_host()
        report.ensure_tree(host)
        report.claim(new_consumer(), client.Candidate({host.uuid: {'VCPU': 8}}))
        with pytest.raises(client.NoCapacity):
            report.claim(new_consumer(), client.Candidate({host.uuid: {'VCPU': 1}}))
        assert report.release(new_uuid()) is False
