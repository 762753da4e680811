# SPDX-License-Identifier: Apache-2.0
"""Each fault is found and named, and what is no fault is not reported."""

from collections.abc import Callable
from typing import Any

import pytest

from osc_placement_insight.audit import kinds
from osc_placement_insight.audit.model import SHARING
from osc_placement_insight.tests.audit import clouds
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud
from osc_placement_insight.tests.audit.nova import flavor

Build = Callable[[Cloud], Any]
Case = tuple[Build, set[str]]


def two_hosts(cloud: Cloud) -> tuple[str, str]:
    return cloud.host('a'), cloud.host('b')


# What is no fault.


def ordinary_servers(cloud: Cloud) -> None:
    a, b = two_hosts(cloud)
    cloud.server('one', 'a', {a: SERVER})
    cloud.server('two', 'b', {b: SERVER})


def building(cloud: Cloud) -> None:
    a = cloud.host('a')
    cloud.server('unplaced', None, {}, status='BUILD', task='scheduling')
    cloud.server('placed', None, {a: SERVER}, status='BUILD', task='spawning')


def failed_to_build(cloud: Cloud) -> None:
    cloud.host('a')
    cloud.server('one', None, {}, status='ERROR')


def resize_under_way(cloud: Cloud) -> None:
    a, b = two_hosts(cloud)
    server = cloud.server('one', 'a', {b: SERVER}, task='resize_migrating')
    cloud.migration(server, 'resize', 'migrating', 'a', 'b', allocations={a: SERVER})


def resize_awaiting_confirmation(cloud: Cloud) -> None:
    a, b = two_hosts(cloud)
    server = cloud.server('one', 'b', {b: SERVER}, status='VERIFY_RESIZE')
    cloud.migration(server, 'resize', 'finished', 'a', 'b', allocations={a: SERVER})


def resize_on_the_same_host(cloud: Cloud) -> None:
    a = cloud.host('a')
    larger = {**SERVER, 'VCPU': 4}
    server = cloud.server('one', 'a', {a: larger}, flavor(vcpus=4), status='VERIFY_RESIZE')
    cloud.migration(server, 'resize', 'finished', 'a', 'a', allocations={a: SERVER})


def resize_with_the_old_flavor_still(cloud: Cloud) -> None:
    a, b = two_hosts(cloud)
    server = cloud.server('one', 'a', {b: {**SERVER, 'VCPU': 4}}, task='resize_prep')
    cloud.migration(server, 'resize', 'pre-migrating', 'a', 'b', allocations={a: SERVER})


def live_migration(cloud: Cloud) -> None:
    a, b = two_hosts(cloud)
    server = cloud.server('one', 'a', {b: SERVER}, status='MIGRATING', task='migrating')
    cloud.migration(server, 'live-migration', 'running', 'a', 'b', allocations={a: SERVER})


def ended_migrations(cloud: Cloud) -> None:
    a = cloud.host('a')
    server = cloud.server('one', 'a', {a: SERVER})
    for status in ('confirmed', 'reverted', 'completed', 'error', 'failed', 'cancelled'):
        cloud.migration(server, 'migration', status, 'b', 'a')


def evacuated_from_a_host_that_is_down(cloud: Cloud) -> None:
    a, b = two_hosts(cloud)
    server = cloud.server('one', 'b', {a: SERVER, b: SERVER})
    cloud.migration(server, 'evacuation', 'done', 'a', 'b')


def boot_from_volume(cloud: Cloud) -> None:
    a = cloud.host('a')
    cloud.server('one', 'a', {a: {'VCPU': 2, 'MEMORY_MB': 2048}}, image='')
    with_swap = {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 6}
    cloud.server('two', 'a', {a: with_swap}, flavor(ephemeral=5, swap=512), image='')


def ephemeral_and_swap(cloud: Cloud) -> None:
    a = cloud.host('a')
    sizes = flavor(disk=20, ephemeral=5, swap=1025)
    cloud.server('one', 'a', {a: {**SERVER, 'DISK_GB': 27}}, sizes)


def pinned_processors(cloud: Cloud) -> None:
    a = cloud.host('a')
    rest = {'MEMORY_MB': 2048, 'DISK_GB': 20}
    dedicated = flavor(hw__cpu_policy='dedicated')
    cloud.server('one', 'a', {a: {'PCPU': 2, **rest}}, dedicated)
    cloud.server('on a host without PCPU', 'a', {a: {'VCPU': 2, **rest}}, dedicated)
    cloud.server('by its image', 'a', {a: {'PCPU': 2, **rest}})
    cloud.server('emulator', 'a', {a: {'PCPU': 3, **rest}}, dedicated)
    cloud.server('mixed', 'a', {a: {'PCPU': 1, 'VCPU': 1, **rest}}, flavor(hw__cpu_policy='mixed'))
    named = flavor(resources__PCPU='2', resources__VCPU='0')
    cloud.server('named', 'a', {a: {'PCPU': 2, **rest}}, named)


def shelved_and_offloaded(cloud: Cloud) -> None:
    cloud.host('a')
    cloud.server('one', None, {}, status='SHELVED_OFFLOADED')


def soft_deleted(cloud: Cloud) -> None:
    a = cloud.host('a')
    cloud.server('one', 'a', {a: SERVER}, status='SOFT_DELETED')


def baremetal(cloud: Cloud) -> None:
    cloud.send('PUT', '/resource_classes/CUSTOM_GOLD')
    node = cloud.host('5f4bc7a8-18b8-4d4b-94a5-7f0c1e0b7d55', {'CUSTOM_GOLD': 1})
    gold = flavor(
        resources__CUSTOM_GOLD='1',
        resources__VCPU='0',
        resources__MEMORY_MB='0',
        resources__DISK_GB='0',
    )
    cloud.server('one', cloud.nova.hypervisors[node], {node: {'CUSTOM_GOLD': 1}}, gold)


def nested_providers(cloud: Cloud) -> None:
    a = cloud.host('a', {'MEMORY_MB': 65536, 'DISK_GB': 100})
    numa = cloud.provider('a_NUMA0', {'VCPU': 8}, parent=a)
    gpu = cloud.provider('a_pci_1', {'VGPU': 4}, parent=numa)
    held = {a: {'MEMORY_MB': 2048, 'DISK_GB': 20}, numa: {'VCPU': 2}, gpu: {'VGPU': 1}}
    cloud.server('one', 'a', held, flavor(resources__VGPU='1'))


def shared_storage(cloud: Cloud) -> None:
    a = cloud.host('a', {'VCPU': 8, 'MEMORY_MB': 65536})
    pool = cloud.provider('pool', {'DISK_GB': 10000}, traits=(SHARING,))
    cloud.server('one', 'a', {a: {'VCPU': 2, 'MEMORY_MB': 2048}, pool: {'DISK_GB': 20}})


def ports_and_accelerators(cloud: Cloud) -> None:
    a = cloud.host('a')
    agent = cloud.provider('a:Open vSwitch agent', {}, parent=a)
    nic = cloud.provider('a:br0', {'NET_BW_EGR_KILOBIT_PER_SEC': 10000}, parent=agent)
    device = cloud.provider('a_fpga', {'FPGA': 1}, parent=a)
    bandwidth = {'NET_BW_EGR_KILOBIT_PER_SEC': 100}
    cloud.server('one', 'a', {a: SERVER, nic: bandwidth, device: {'FPGA': 1}})


def other_groups_of_resources(cloud: Cloud) -> None:
    a = cloud.host('a')
    cloud.server('one', 'a', {a: {**SERVER, 'VCPU': 5}}, flavor(resources1__VCPU='3'))


def names_in_use(cloud: Cloud) -> None:
    for name in ('CUSTOM_USED', 'CUSTOM_ASKED_FOR'):
        cloud.send('PUT', f'/traits/{name}')
        cloud.send('PUT', f'/resource_classes/{name}')
    cloud.provider('a', {'CUSTOM_USED': 1}, traits=('CUSTOM_USED',))
    cloud.nova.flavors.append(
        flavor(trait__CUSTOM_ASKED_FOR='required', resources__CUSTOM_ASKED_FOR='1')
    )


def cells_that_are_down(cloud: Cloud) -> None:
    a = cloud.host('a')
    cloud.nova.has_cells_down = True
    cloud.server('one', 'a', {a: SERVER}, is_away=True)
    cloud.claim(cloud.new_uuid(), {a: SERVER})


HARMLESS: list[Build] = [
    ordinary_servers,
    building,
    failed_to_build,
    resize_under_way,
    resize_awaiting_confirmation,
    resize_on_the_same_host,
    resize_with_the_old_flavor_still,
    live_migration,
    ended_migrations,
    evacuated_from_a_host_that_is_down,
    boot_from_volume,
    ephemeral_and_swap,
    pinned_processors,
    shelved_and_offloaded,
    soft_deleted,
    baremetal,
    nested_providers,
    shared_storage,
    ports_and_accelerators,
    other_groups_of_resources,
    names_in_use,
    cells_that_are_down,
]


@pytest.mark.parametrize('build', HARMLESS, ids=lambda build: build.__name__)
def test_what_is_no_fault_is_not_reported(cloud: Cloud, build: Build) -> None:
    build(cloud)

    assert cloud.audit() == []


# Faults: each returns the subjects of its findings.


def over_capacity(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    cloud.server('one', 'a', {a: SERVER})
    cloud.set_inventories(a, {'VCPU': 1, 'MEMORY_MB': 2048, 'DISK_GB': 20})
    return [a]


def consumer_without_allocations(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    consumer = cloud.new_uuid()
    cloud.claim(consumer, {a: SERVER})
    cloud.execute('delete from allocations')
    return [consumer]


def allocation_without_inventory(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    cloud.server('one', 'a', {a: SERVER})
    cloud.execute('delete from inventories where total = 1000')
    return [f'{a}:DISK_GB']


def provider_without_root(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    cloud.execute('update resource_providers set root_provider_id = null')
    return [a]


def unused_trait(cloud: Cloud) -> list[str]:
    cloud.send('PUT', '/traits/CUSTOM_LEFT')
    return ['CUSTOM_LEFT']


def unused_resource_class(cloud: Cloud) -> list[str]:
    cloud.send('PUT', '/resource_classes/CUSTOM_LEFT')
    return ['CUSTOM_LEFT']


def server_without_allocations(cloud: Cloud) -> list[str]:
    cloud.host('a')
    return [cloud.server('one', 'a', {}).uuid]


def server_with_shared_storage_alone(cloud: Cloud) -> list[str]:
    cloud.host('a')
    pool = cloud.provider('pool', {'DISK_GB': 1000}, traits=(SHARING,))
    return [cloud.server('one', 'a', {pool: {'DISK_GB': 20}}).uuid]


def server_whose_consumer_is_empty(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    server = cloud.server('one', 'a', {a: SERVER})
    cloud.execute('delete from allocations')
    return [server.uuid]


def doubled(cloud: Cloud) -> list[str]:
    a, b = two_hosts(cloud)
    return [cloud.server('one', 'a', {a: SERVER, b: SERVER}).uuid]


def evacuated_from_a_host_that_is_gone(cloud: Cloud) -> list[str]:
    old, b = cloud.provider('old', clouds.HOST), cloud.host('b')
    server = cloud.server('one', 'b', {old: SERVER, b: SERVER})
    cloud.migration(server, 'evacuation', 'done', 'old', 'b')
    return [server.uuid]


def doubled_on_a_nested_provider(cloud: Cloud) -> list[str]:
    a, b = two_hosts(cloud)
    gpu = cloud.provider('b_gpu', {'VGPU': 1}, parent=b)
    return [cloud.server('one', 'a', {a: SERVER, gpu: {'VGPU': 1}}).uuid]


def on_another_host(cloud: Cloud) -> list[str]:
    _a, b = two_hosts(cloud)
    return [cloud.server('one', 'a', {b: SERVER}).uuid]


def on_a_host_without_provider(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    return [cloud.server('one', 'unheard of', {a: SERVER}).uuid]


def offloaded_but_holding(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    return [cloud.server('one', None, {a: SERVER}, status='SHELVED_OFFLOADED').uuid]


def failed_but_holding(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    return [cloud.server('one', None, {a: SERVER}, status='ERROR').uuid]


def more_processors_than_the_flavor(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    return [cloud.server('one', 'a', {a: {**SERVER, 'VCPU': 3}}).uuid]


def no_disk_though_not_booted_from_volume(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    return [cloud.server('one', 'a', {a: {'VCPU': 2, 'MEMORY_MB': 2048}}).uuid]


def fewer_pinned_processors_than_the_flavor_names(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    named = flavor(resources__PCPU='2', resources__VCPU='0')
    return [cloud.server('one', 'a', {a: {**SERVER}}, named).uuid]


def leaked_by_a_deleted_server(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    return [cloud.server('one', 'a', {a: SERVER}, is_deleted=True).uuid]


def leaked_by_a_consumer_of_type_instance(cloud: Cloud) -> list[str]:
    a, consumer = cloud.host('a'), cloud.new_uuid()
    cloud.claim(consumer, {a: SERVER}, 'INSTANCE')
    return [consumer]


def leaked_by_an_ended_migration(cloud: Cloud) -> list[str]:
    a, b = two_hosts(cloud)
    server = cloud.server('one', 'b', {b: SERVER})
    held = {a: SERVER}
    return [cloud.migration(server, 'resize', 'confirmed', 'a', 'b', allocations=held).uuid]


def leaked_by_a_migration_of_a_deleted_server(cloud: Cloud) -> list[str]:
    a, _b = two_hosts(cloud)
    server = cloud.server('one', 'b', {}, is_deleted=True)
    held = {a: SERVER}
    return [cloud.migration(server, 'resize', 'finished', 'a', 'b', allocations=held).uuid]


def leaked_by_a_consumer_of_type_migration(cloud: Cloud) -> list[str]:
    a, consumer = cloud.host('a'), cloud.new_uuid()
    cloud.claim(consumer, {a: SERVER}, 'MIGRATION')
    return [consumer]


def unknown_consumer(cloud: Cloud) -> list[str]:
    a, consumer = cloud.host('a'), cloud.new_uuid()
    cloud.claim(consumer, {a: {'VCPU': 1}})
    return [consumer]


def consumer_of_another_service(cloud: Cloud) -> list[str]:
    a, consumer = cloud.host('a'), cloud.new_uuid()
    cloud.claim(consumer, {a: {'VCPU': 1}}, 'RESERVATION')
    return [consumer]


def rebuilt_hypervisor(cloud: Cloud) -> list[str]:
    a, rebuilt = cloud.host('a'), cloud.new_uuid()
    cloud.nova.hypervisors = {rebuilt: 'a'}
    cloud.server('one', 'a', {a: SERVER})
    return [rebuilt]


def renamed_hypervisor(cloud: Cloud) -> list[str]:
    a = cloud.host('a')
    cloud.nova.hypervisors = {a: 'a.example.org'}
    cloud.server('one', 'a.example.org', {a: SERVER})
    return [a]


FAULTY: dict[Callable[[Cloud], list[str]], str] = {
    over_capacity: 'over-capacity',
    consumer_without_allocations: 'consumer-without-allocations',
    allocation_without_inventory: 'allocation-without-inventory',
    provider_without_root: 'provider-without-root',
    unused_trait: 'unused-trait',
    unused_resource_class: 'unused-resource-class',
    server_without_allocations: 'server-without-allocations',
    server_with_shared_storage_alone: 'server-without-allocations',
    server_whose_consumer_is_empty: 'server-without-allocations',
    doubled: 'server-on-several-hosts',
    evacuated_from_a_host_that_is_gone: 'server-on-several-hosts',
    doubled_on_a_nested_provider: 'server-on-several-hosts',
    on_another_host: 'server-on-another-host',
    on_a_host_without_provider: 'server-on-another-host',
    offloaded_but_holding: 'server-without-host',
    failed_but_holding: 'server-without-host',
    more_processors_than_the_flavor: 'differs-from-flavor',
    no_disk_though_not_booted_from_volume: 'differs-from-flavor',
    fewer_pinned_processors_than_the_flavor_names: 'differs-from-flavor',
    leaked_by_a_deleted_server: 'leaked-by-server',
    leaked_by_a_consumer_of_type_instance: 'leaked-by-server',
    leaked_by_an_ended_migration: 'leaked-by-migration',
    leaked_by_a_migration_of_a_deleted_server: 'leaked-by-migration',
    leaked_by_a_consumer_of_type_migration: 'leaked-by-migration',
    unknown_consumer: 'unknown-consumer',
    consumer_of_another_service: 'unknown-consumer',
    rebuilt_hypervisor: 'rebuilt-hypervisor',
    renamed_hypervisor: 'renamed-hypervisor',
}


@pytest.mark.parametrize('build', FAULTY, ids=lambda build: build.__name__)
def test_a_fault_is_found_and_nothing_else(
    cloud: Cloud, build: Callable[[Cloud], list[str]]
) -> None:
    subjects = build(cloud)

    assert [(one.kind, one.subject) for one in cloud.audit()] == [
        (FAULTY[build], subject) for subject in subjects
    ]


def test_each_kind_has_a_fault_that_shows_it() -> None:
    assert set(FAULTY.values()) == set(kinds.KINDS)
