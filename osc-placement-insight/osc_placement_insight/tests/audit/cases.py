# SPDX-License-Identifier: Apache-2.0
"""Clouds of two hosts with one fault each, and those that only look as if they had one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from osc_placement_insight.audit.model import SHARING
from osc_placement_insight.tests.audit.clouds import SERVER, Cloud, Host
from osc_placement_insight.tests.audit.nova import flavor

#: Builds a case on two hosts, and returns the subject of the finding, if there is to be one.
Build = Callable[[Cloud, Host, Host], str | None]
AnyBuild = TypeVar('AnyBuild', bound=Build)
Subject = TypeVar('Subject', bound=str | None)


class Expected(NamedTuple):
    """The kind of the finding, None for none, and whether it is repaired without being named."""

    kind: str | None
    is_repaired: bool


CASES: dict[Build, Expected] = {}


def case(kind: str | None = None, is_repaired: bool = False) -> Callable[[AnyBuild], AnyBuild]:
    """Register a case."""

    def register(build: AnyBuild) -> AnyBuild:
        CASES[build] = Expected(kind, is_repaired)
        return build

    return register


def built(cloud: Cloud, build: Callable[[Cloud, Host, Host], Subject]) -> Subject:
    """Build a case on two hosts that are called a and b."""
    return build(cloud, cloud.host('a'), cloud.host('b'))


# What is no fault.


@case()
def ordinary_servers(cloud: Cloud, a: Host, b: Host) -> None:
    cloud.server(a.name, a.share)
    cloud.server(b.name, b.share)


@case()
def without_a_host(cloud: Cloud, a: Host, b: Host) -> None:
    cloud.server(None, {}, status='BUILD', task='scheduling')
    cloud.server(None, a.share, status='BUILD', task='spawning')
    cloud.server(None, {}, status='ERROR')
    cloud.server(None, {}, status='SHELVED_OFFLOADED')


@case()
def moves_under_way(cloud: Cloud, a: Host, b: Host) -> None:
    larger = {**SERVER, 'VCPU': 4}
    server = cloud.server(a.name, b.share, task='resize_migrating')
    cloud.migration(server, 'resize', 'migrating', (a, b), a.share)
    server = cloud.server(a.name, {a.uuid: larger}, flavor(vcpus=4), status='VERIFY_RESIZE')
    cloud.migration(server, 'resize', 'finished', (a, a), a.share)
    # Before the host has begun, the server has the old flavor still.
    server = cloud.server(a.name, {b.uuid: larger}, task='resize_prep')
    cloud.migration(server, 'resize', 'pre-migrating', (a, b), a.share)
    server = cloud.server(a.name, b.share, status='MIGRATING', task='migrating')
    cloud.migration(server, 'live-migration', 'running', (a, b), a.share)


@case()
def resize_awaiting_confirmation(cloud: Cloud, a: Host, b: Host) -> None:
    server = cloud.server(b.name, b.share, status='VERIFY_RESIZE')
    cloud.migration(server, 'resize', 'finished', (a, b), a.share)


@case()
def ended_migrations(cloud: Cloud, a: Host, b: Host) -> None:
    server = cloud.server(a.name, a.share)
    for status in ('confirmed', 'reverted', 'completed', 'error', 'failed', 'cancelled'):
        cloud.migration(server, 'migration', status, (b, a))


@case()
def evacuated_from_a_host_that_is_down(cloud: Cloud, a: Host, b: Host) -> None:
    server = cloud.server(b.name, {**a.share, **b.share})
    cloud.migration(server, 'evacuation', 'done', (a, b))


@case()
def amounts_that_follow_from_flavors(cloud: Cloud, a: Host, b: Host) -> None:
    # Those that boot from volumes have no root disk.
    cloud.server(a.name, {a.uuid: {'VCPU': 2, 'MEMORY_MB': 2048}}, image='')
    with_swap = {'VCPU': 2, 'MEMORY_MB': 2048, 'DISK_GB': 6}
    cloud.server(a.name, {a.uuid: with_swap}, flavor(ephemeral=5, swap=512), image='')
    sizes = flavor(disk=20, ephemeral=5, swap=1025)
    cloud.server(a.name, {a.uuid: {**SERVER, 'DISK_GB': 27}}, sizes)
    # The host may serve groups with a suffix as well.
    cloud.server(a.name, {a.uuid: {**SERVER, 'VCPU': 5}}, flavor(resources1__VCPU='3'))


@case()
def pinned_processors(cloud: Cloud, a: Host, b: Host) -> None:
    rest = {'MEMORY_MB': 2048, 'DISK_GB': 20}
    dedicated = flavor(hw__cpu_policy='dedicated')
    cloud.server(a.name, {a.uuid: {'PCPU': 2, **rest}}, dedicated)
    cloud.server(a.name, {a.uuid: {'VCPU': 2, **rest}}, dedicated)
    cloud.server(a.name, {a.uuid: {'PCPU': 2, **rest}})
    cloud.server(a.name, {a.uuid: {'PCPU': 3, **rest}}, dedicated)
    cloud.server(a.name, {a.uuid: {'PCPU': 1, 'VCPU': 1, **rest}}, flavor(hw__cpu_policy='mixed'))
    named = flavor(resources__PCPU='2', resources__VCPU='0')
    cloud.server(a.name, {a.uuid: {'PCPU': 2, **rest}}, named)


@case()
def soft_deleted(cloud: Cloud, a: Host, b: Host) -> None:
    cloud.server(a.name, a.share, status='SOFT_DELETED')


@case()
def baremetal(cloud: Cloud, a: Host, b: Host) -> None:
    cloud.send('PUT', '/resource_classes/CUSTOM_GOLD')
    node = cloud.host('5f4bc7a8-18b8-4d4b-94a5-7f0c1e0b7d55', {'CUSTOM_GOLD': 1})
    gold = flavor(
        resources__CUSTOM_GOLD='1',
        resources__VCPU='0',
        resources__MEMORY_MB='0',
        resources__DISK_GB='0',
    )
    cloud.server(node.name, {node.uuid: {'CUSTOM_GOLD': 1}}, gold)


@case()
def nested_providers(cloud: Cloud, a: Host, b: Host) -> None:
    host = cloud.host('nested', {'MEMORY_MB': 65536, 'DISK_GB': 100})
    numa = cloud.provider('NUMA0', {'VCPU': 8}, parent=host.uuid)
    gpu = cloud.provider('pci_1', {'VGPU': 4}, parent=numa)
    held = {host.uuid: {'MEMORY_MB': 2048, 'DISK_GB': 20}, numa: {'VCPU': 2}, gpu: {'VGPU': 1}}
    cloud.server(host.name, held, flavor(resources__VGPU='1'))


@case()
def shared_storage(cloud: Cloud, a: Host, b: Host) -> None:
    host = cloud.host('diskless', {'VCPU': 8, 'MEMORY_MB': 65536})
    pool = cloud.provider('pool', {'DISK_GB': 10000}, traits=(SHARING,))
    cloud.server(host.name, {host.uuid: {'VCPU': 2, 'MEMORY_MB': 2048}, pool: {'DISK_GB': 20}})


@case()
def ports_and_accelerators(cloud: Cloud, a: Host, b: Host) -> None:
    agent = cloud.provider('a:Open vSwitch agent', {}, parent=a.uuid)
    nic = cloud.provider('a:br0', {'NET_BW_EGR_KILOBIT_PER_SEC': 10000}, parent=agent)
    device = cloud.provider('a_fpga', {'FPGA': 1}, parent=a.uuid)
    bandwidth = {'NET_BW_EGR_KILOBIT_PER_SEC': 100}
    cloud.server(a.name, {**a.share, nic: bandwidth, device: {'FPGA': 1}})


@case()
def names_in_use(cloud: Cloud, a: Host, b: Host) -> None:
    for name in ('CUSTOM_USED', 'CUSTOM_ASKED_FOR'):
        cloud.send('PUT', f'/traits/{name}')
        cloud.send('PUT', f'/resource_classes/{name}')
    cloud.provider('user', {'CUSTOM_USED': 1}, traits=('CUSTOM_USED',))
    cloud.nova.flavors.append(
        flavor(trait__CUSTOM_ASKED_FOR='required', resources__CUSTOM_ASKED_FOR='1')
    )


@case()
def cells_that_are_down(cloud: Cloud, a: Host, b: Host) -> None:
    cloud.nova.has_cells_down = True
    cloud.server(a.name, a.share, is_away=True)
    cloud.claim(cloud.new_uuid(), a.share)


# Faults: each returns the subject of its finding.


@case('over-capacity')
def over_capacity(cloud: Cloud, a: Host, b: Host) -> str:
    cloud.server(a.name, a.share)
    path = f'/resource_providers/{a.uuid}'
    generation = cloud.send('GET', path)['generation']
    cloud.send(
        'PUT',
        f'{path}/inventories/VCPU',
        {'resource_provider_generation': generation, 'total': 1},
    )
    return a.uuid


@case('consumer-without-allocations', is_repaired=True)
def consumer_without_allocations(cloud: Cloud, a: Host, b: Host) -> str:
    consumer = cloud.new_uuid()
    cloud.claim(consumer, a.share)
    cloud.execute('delete from allocations')
    return consumer


@case('allocation-without-inventory')
def allocation_without_inventory(cloud: Cloud, a: Host, b: Host) -> str:
    cloud.server(a.name, a.share)
    cloud.execute('delete from inventories where total = 1000')
    return f'{a.uuid}:DISK_GB'


@case('provider-without-root')
def provider_without_root(cloud: Cloud, a: Host, b: Host) -> str:
    cloud.execute("update resource_providers set root_provider_id = null where name = 'a'")
    return a.uuid


@case('agents-not-upgraded')
def agents_not_upgraded(cloud: Cloud, a: Host, b: Host) -> str:
    _give_traits(cloud, a, 'COMPUTE_NODE', 'OWNER_NOVA')
    _give_traits(cloud, b, 'COMPUTE_NODE')
    return 'OWNER_NOVA'


@case()
def agents_that_are_all_upgraded(cloud: Cloud, a: Host, b: Host) -> str:
    for host in (a, b):
        _give_traits(cloud, host, 'COMPUTE_NODE', 'OWNER_NOVA')
    return ''


def _give_traits(cloud: Cloud, host: Host, *traits: str) -> None:
    path = f'/resource_providers/{host.uuid}/traits'
    had = cloud.send('GET', path)
    cloud.send('PUT', path, {**had, 'traits': [*had['traits'], *traits]})


@case('unused-trait')
def unused_trait(cloud: Cloud, a: Host, b: Host) -> str:
    cloud.send('PUT', '/traits/CUSTOM_LEFT')
    return 'CUSTOM_LEFT'


@case('unused-resource-class')
def unused_resource_class(cloud: Cloud, a: Host, b: Host) -> str:
    cloud.send('PUT', '/resource_classes/CUSTOM_LEFT')
    return 'CUSTOM_LEFT'


@case('server-without-allocations', is_repaired=True)
def server_without_allocations(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server(a.name, {})


@case('server-without-allocations')
def server_with_shared_storage_alone(cloud: Cloud, a: Host, b: Host) -> str:
    pool = cloud.provider('pool', {'DISK_GB': 1000}, traits=(SHARING,))
    return cloud.server(a.name, {pool: {'DISK_GB': 20}})


@case('server-without-allocations', is_repaired=True)
def server_whose_consumer_is_empty(cloud: Cloud, a: Host, b: Host) -> str:
    server = cloud.server(a.name, a.share)
    cloud.execute('delete from allocations')
    return server


@case('server-on-several-hosts', is_repaired=True)
def doubled(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server(a.name, {**a.share, **b.share})


@case('server-on-several-hosts', is_repaired=True)
def evacuated_from_a_host_that_is_gone(cloud: Cloud, a: Host, b: Host) -> str:
    del cloud.nova.hypervisors[a.uuid]
    server = cloud.server(b.name, {**a.share, **b.share})
    cloud.migration(server, 'evacuation', 'done', (a, b))
    return server


@case('server-on-another-host', is_repaired=True)
def on_another_host(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server(a.name, b.share)


@case('server-on-another-host')
def on_a_host_without_provider(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server('unheard of', a.share)


@case('server-without-host', is_repaired=True)
def offloaded_but_holding(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server(None, a.share, status='SHELVED_OFFLOADED')


@case('differs-from-flavor')
def more_processors_than_the_flavor(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server(a.name, {a.uuid: {**SERVER, 'VCPU': 3}})


@case('differs-from-flavor')
def no_disk_though_not_booted_from_volume(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server(a.name, {a.uuid: {'VCPU': 2, 'MEMORY_MB': 2048}})


@case('differs-from-flavor')
def fewer_pinned_processors_than_the_flavor_names(cloud: Cloud, a: Host, b: Host) -> str:
    named = flavor(resources__PCPU='2', resources__VCPU='0')
    return cloud.server(a.name, a.share, named)


@case('leaked-by-server', is_repaired=True)
def leaked_by_a_deleted_server(cloud: Cloud, a: Host, b: Host) -> str:
    return cloud.server(a.name, a.share, is_deleted=True)


@case('leaked-by-server', is_repaired=True)
def leaked_by_a_consumer_of_type_instance(cloud: Cloud, a: Host, b: Host) -> str:
    consumer = cloud.new_uuid()
    cloud.claim(consumer, a.share, 'INSTANCE')
    return consumer


@case('leaked-by-migration', is_repaired=True)
def leaked_by_an_ended_migration(cloud: Cloud, a: Host, b: Host) -> str:
    server = cloud.server(b.name, b.share)
    return cloud.migration(server, 'resize', 'confirmed', (a, b), a.share)


@case('leaked-by-migration', is_repaired=True)
def leaked_by_a_migration_of_a_deleted_server(cloud: Cloud, a: Host, b: Host) -> str:
    server = cloud.server(b.name, {}, is_deleted=True)
    return cloud.migration(server, 'resize', 'finished', (a, b), a.share)


@case('leaked-by-migration', is_repaired=True)
def leaked_by_a_consumer_of_type_migration(cloud: Cloud, a: Host, b: Host) -> str:
    consumer = cloud.new_uuid()
    cloud.claim(consumer, a.share, 'MIGRATION')
    return consumer


@case('unknown-consumer')
def unknown_consumer(cloud: Cloud, a: Host, b: Host) -> str:
    consumer = cloud.new_uuid()
    cloud.claim(consumer, a.share)
    return consumer


@case('unknown-consumer')
def consumer_of_another_service(cloud: Cloud, a: Host, b: Host) -> str:
    consumer = cloud.new_uuid()
    cloud.claim(consumer, {a.uuid: {'VCPU': 1}}, 'RESERVATION')
    return consumer


@case('rebuilt-hypervisor')
def rebuilt_hypervisor(cloud: Cloud, a: Host, b: Host) -> str:
    rebuilt = cloud.new_uuid()
    cloud.nova.hypervisors = {rebuilt: a.name}
    cloud.server(a.name, a.share)
    return rebuilt


@case('renamed-hypervisor')
def renamed_hypervisor(cloud: Cloud, a: Host, b: Host) -> str:
    cloud.nova.hypervisors = {a.uuid: 'a.example.org'}
    cloud.server('a.example.org', a.share)
    return a.uuid
