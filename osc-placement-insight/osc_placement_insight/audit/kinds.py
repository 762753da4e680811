# SPDX-License-Identifier: Apache-2.0
"""The kinds of findings: what each means, what to do about it, and who finds it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from osc_placement_insight.audit import of_hypervisors, of_placement, of_servers
from osc_placement_insight.audit.finding import Finding, InNova, Repair
from osc_placement_insight.audit.model import Cloud, PlacementState


class Kind(NamedTuple):
    """A kind of finding.

    `meaning` is a sentence about it. `in_nova` is what a repair checks in nova before it changes
    anything.
    """

    name: str
    meaning: str
    repair: Repair
    in_nova: InNova = InNova.ANYTHING


OF_PLACEMENT: dict[Kind, Callable[[PlacementState], Iterable[Finding]]] = {
    Kind(
        of_placement.OVER_CAPACITY,
        'More of a resource class is allocated than the provider has.',
        Repair.NEVER,
    ): of_placement.over_capacity,
    Kind(
        of_placement.WITHOUT_ALLOCATIONS,
        'A consumer holds nothing; old releases left it when its allocations were removed.',
        Repair.ALWAYS,
    ): of_placement.consumers_without_allocations,
    Kind(
        of_placement.WITHOUT_INVENTORY,
        'Something is allocated of a resource class that the provider has no inventory of.',
        Repair.NEVER,
    ): of_placement.allocations_without_inventory,
    Kind(
        of_placement.WITHOUT_ROOT,
        'A provider that old releases wrote does not say which tree it is in.',
        Repair.NEVER,
    ): of_placement.providers_without_root,
    Kind(
        of_placement.UNUSED_TRAIT,
        'No provider has a custom trait, and no flavor names it.',
        Repair.WHEN_NAMED,
        InNova.NO_FLAVOR_NAMES_IT,
    ): of_placement.unused_traits,
    Kind(
        of_placement.UNUSED_CLASS,
        'No inventory is of a custom resource class, and no flavor names it.',
        Repair.WHEN_NAMED,
        InNova.NO_FLAVOR_NAMES_IT,
    ): of_placement.unused_resource_classes,
}

OF_NOVA: dict[Kind, Callable[[Cloud], Iterable[Finding]]] = {
    Kind(
        of_servers.WITHOUT_ALLOCATIONS,
        'A server runs on a host and holds nothing there, so that others are given its place.',
        Repair.ALWAYS,
        InNova.SERVER_IS_THE_SAME,
    ): of_servers.without_allocations,
    Kind(
        of_servers.ON_SEVERAL_HOSTS,
        'A server holds resources of more hosts than the one that runs it, and is not moving.',
        Repair.ALWAYS,
        InNova.SERVER_IS_THE_SAME,
    ): of_servers.on_several_hosts,
    Kind(
        of_servers.ON_ANOTHER_HOST,
        'A server holds resources of other hosts, and none of the one that runs it.',
        Repair.ALWAYS,
        InNova.SERVER_IS_THE_SAME,
    ): of_servers.on_another_host,
    Kind(
        of_servers.WITHOUT_HOST,
        'A server that no host runs holds resources of a host.',
        Repair.ALWAYS,
        InNova.SERVER_IS_THE_SAME,
    ): of_servers.without_host,
    Kind(
        of_servers.DIFFERS_FROM_FLAVOR,
        'A server holds other amounts of VCPU, PCPU, MEMORY_MB or DISK_GB than its flavor has.',
        Repair.NEVER,
    ): of_servers.different_from_flavor,
    Kind(
        of_servers.LEAKED_SERVER,
        'A server that was deleted still holds resources.',
        Repair.ALWAYS,
        InNova.SERVER_IS_GONE,
    ): of_servers.leaked_by_servers,
    Kind(
        of_servers.LEAKED_MIGRATION,
        'A migration that has ended still holds resources.',
        Repair.ALWAYS,
    ): of_servers.leaked_by_migrations,
    Kind(
        of_servers.UNKNOWN_CONSUMER,
        'A consumer that nova does not know holds resources; it may belong to another service.',
        Repair.WHEN_NAMED,
        InNova.SERVER_IS_GONE,
    ): of_servers.unknown_consumers,
    Kind(
        of_hypervisors.REBUILT,
        "A hypervisor's name belongs to a provider with another uuid.",
        Repair.NEVER,
    ): of_hypervisors.rebuilt,
    Kind(
        of_hypervisors.RENAMED,
        'A hypervisor and the provider with its uuid have different names.',
        Repair.NEVER,
    ): of_hypervisors.renamed,
}

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*OF_PLACEMENT, *OF_NOVA)}


def find(placement: PlacementState) -> list[Finding]:
    """What is wrong in placement alone."""
    return [finding for check in OF_PLACEMENT.values() for finding in check(placement)]


def find_with_nova(cloud: Cloud) -> list[Finding]:
    """What is wrong in placement, alone and compared with nova."""
    compared = [finding for check in OF_NOVA.values() for finding in check(cloud)]
    servers = {one.subject for one in compared if one.kind == of_servers.WITHOUT_ALLOCATIONS}
    return [
        *(one for one in find(cloud.placement) if not _is_explained(one, cloud, servers)),
        *compared,
    ]


def _is_explained(finding: Finding, cloud: Cloud, servers: Collection[str]) -> bool:
    """Whether nova uses a name, or a finding about one of these servers says it better."""
    if finding.kind in (of_placement.UNUSED_TRAIT, of_placement.UNUSED_CLASS):
        return finding.subject in cloud.nova.names_in_flavors
    return finding.kind == of_placement.WITHOUT_ALLOCATIONS and finding.subject in servers
