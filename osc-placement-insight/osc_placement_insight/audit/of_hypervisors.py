# SPDX-License-Identifier: Apache-2.0
"""Hypervisors whose identity nova and placement do not agree on."""

from __future__ import annotations

from collections.abc import Iterator

from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.model import Cloud

REBUILT = 'rebuilt-hypervisor'
RENAMED = 'renamed-hypervisor'


def rebuilt(cloud: Cloud) -> Iterator[Finding]:
    """Hypervisors whose name a provider with another uuid has."""
    by_name = {one.name: one for one in cloud.placement.providers.values()}
    for uuid, name in cloud.nova.hypervisors.items():
        provider = by_name.get(name)
        if provider is not None and provider.uuid != uuid:
            yield Finding(
                REBUILT,
                uuid,
                name,
                f'Hypervisor {name} is {uuid} in nova, but the provider of that name is '
                f'{provider.uuid}. nova-compute cannot report what the host has.',
                'Stop nova-compute. Then restore the file compute_id of the host with '
                f'{provider.uuid}, or run placement-manage provider set-uuid '
                f'{provider.uuid} {uuid}.',
            )


def renamed(cloud: Cloud) -> Iterator[Finding]:
    """Hypervisors whose uuid a provider with another name has."""
    for uuid, name in cloud.nova.hypervisors.items():
        provider = cloud.placement.providers.get(uuid)
        if provider is not None and provider.name != name:
            yield Finding(
                RENAMED,
                uuid,
                name,
                f'Hypervisor {name} in nova is {provider.name} in placement.',
                f'Give the host its name {provider.name} back, or rename the provider: '
                f'openstack resource provider set --name {name} {uuid}.',
            )
