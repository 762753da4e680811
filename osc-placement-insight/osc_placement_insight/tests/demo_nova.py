# SPDX-License-Identifier: Apache-2.0
"""The nova of the cloud of `make demo`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from osc_placement_insight.tests.audit import nova
from osc_placement_insight.tests.audit.nova import Nova, Server
from placement.objects.claim import Claim
from placement_insight.demo_cloud.cloud import Cloud, DemoProvider, uuid_of

#: The amounts that a flavor has members for.
OF_FLAVOR = ('VCPU', 'MEMORY_MB', 'DISK_GB')


def zone_of(cloud: Cloud, zone: str) -> Cloud:
    """The hosts of a zone, with their servers."""
    providers = [one for one in cloud.providers if zone in _root(one).aggregates]
    uuids = {one.uuid for one in providers}
    claims = [claim for claim in cloud.claims if uuids >= claim.resources.keys()]
    return Cloud(providers, claims, {})


def nova_of(cloud: Cloud) -> Nova:
    """A nova that knows hosts, zones and servers of the demonstration.

    Every fifth server is stopped.
    """
    known = Nova()
    nodes = {one.uuid: _root(one).name for one in cloud.providers}
    hosts = [one for one in cloud.providers if one.parent is None and 'ceph' not in one.name]
    known.hypervisors = {one.uuid: one.name for one in hosts}
    zones = sorted({name for one in hosts for name in one.aggregates if name.startswith('az')})
    for zone in zones:
        members = [one.name for one in hosts if zone in one.aggregates]
        known.aggregates.append(nova.aggregate(uuid_of(zone), zone, zone, *members))
    servers = [claim for claim in cloud.claims if claim.consumer_type != 'MIGRATION']
    of_node = Counter[str]()
    for number, claim in enumerate(servers, 1):
        (node, *_pools) = (nodes[uuid] for uuid in claim.resources)
        of_node[node] += 1
        status = 'ACTIVE' if number % 5 else 'SHUTOFF'
        uuid, name = claim.consumer_uuid, f'{node}-vm{of_node[node]}'
        known.servers[uuid] = Server(uuid, name, _flavor(claim), node, status)
    return known


def _root(provider: DemoProvider) -> DemoProvider:
    return provider if provider.parent is None else _root(provider.parent)


def _flavor(claim: Claim) -> Mapping[str, Any]:
    """A flavor that asks for what a server holds; of GPUs each is a group."""
    held = Counter[str]()
    for amounts in claim.resources.values():
        held.update(amounts)
    vcpus, ram, disk = (held.pop(name, 0) for name in OF_FLAVOR)
    specs = {f'resources{n}__VGPU': '1' for n in range(1, held.pop('VGPU', 0) + 1)}
    specs |= {f'resources__{name}': str(amount) for name, amount in held.items()}
    specs |= {'group_policy': 'isolate'} if len(specs) > 1 else {}
    name = '-'.join([f'c{vcpus or held["PCPU"]}', f'm{ram // 1024}', *sorted(held)])
    return nova.flavor(vcpus, ram, disk, 0, 0, name.lower(), **specs)
