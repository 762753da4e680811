# SPDX-License-Identifier: Apache-2.0
"""The kinds of findings: when each is repaired, and who finds it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from osc_placement_insight.audit import of_hypervisors, of_placement, of_servers
from osc_placement_insight.audit.finding import Finding, InNova, Repair
from osc_placement_insight.audit.model import Cloud, PlacementState


class Kind(NamedTuple):
    """A kind of finding; `in_nova` is what a repair checks in nova before it changes anything."""

    name: str
    repair: Repair
    in_nova: InNova = InNova.ANYTHING


OF_PLACEMENT: dict[Kind, Callable[[PlacementState], Iterable[Finding]]] = {
    Kind(of_placement.OVER_CAPACITY, Repair.NEVER): of_placement.over_capacity,
    Kind(
        of_placement.WITHOUT_ALLOCATIONS, Repair.ALWAYS
    ): of_placement.consumers_without_allocations,
    Kind(of_placement.WITHOUT_INVENTORY, Repair.NEVER): of_placement.allocations_without_inventory,
    Kind(of_placement.WITHOUT_ROOT, Repair.NEVER): of_placement.providers_without_root,
    Kind(of_placement.NOT_UPGRADED, Repair.NEVER): of_placement.agents_not_upgraded,
    Kind(
        of_placement.UNUSED_TRAIT, Repair.WHEN_NAMED, InNova.NO_FLAVOR_NAMES_IT
    ): of_placement.unused_traits,
    Kind(
        of_placement.UNUSED_CLASS, Repair.WHEN_NAMED, InNova.NO_FLAVOR_NAMES_IT
    ): of_placement.unused_resource_classes,
}

OF_NOVA: dict[Kind, Callable[[Cloud], Iterable[Finding]]] = {
    Kind(
        of_servers.WITHOUT_ALLOCATIONS, Repair.ALWAYS, InNova.SERVER_IS_THE_SAME
    ): of_servers.without_allocations,
    Kind(
        of_servers.ON_SEVERAL_HOSTS, Repair.ALWAYS, InNova.SERVER_IS_THE_SAME
    ): of_servers.on_several_hosts,
    Kind(
        of_servers.ON_ANOTHER_HOST, Repair.ALWAYS, InNova.SERVER_IS_THE_SAME
    ): of_servers.on_another_host,
    Kind(
        of_servers.WITHOUT_HOST, Repair.ALWAYS, InNova.SERVER_IS_THE_SAME
    ): of_servers.without_host,
    Kind(of_servers.DIFFERS_FROM_FLAVOR, Repair.NEVER): of_servers.different_from_flavor,
    Kind(
        of_servers.LEAKED_SERVER, Repair.ALWAYS, InNova.SERVER_IS_GONE
    ): of_servers.leaked_by_servers,
    Kind(of_servers.LEAKED_MIGRATION, Repair.ALWAYS): of_servers.leaked_by_migrations,
    Kind(
        of_servers.UNKNOWN_CONSUMER, Repair.WHEN_NAMED, InNova.SERVER_IS_GONE
    ): of_servers.unknown_consumers,
    Kind(of_hypervisors.REBUILT, Repair.NEVER): of_hypervisors.rebuilt,
    Kind(of_hypervisors.RENAMED, Repair.NEVER): of_hypervisors.renamed,
}

KINDS: dict[str, Kind] = {kind.name: kind for kind in (*OF_PLACEMENT, *OF_NOVA)}


def find(placement: PlacementState) -> list[Finding]:
    """Find faults in placement alone."""
    return [finding for check in OF_PLACEMENT.values() for finding in check(placement)]


def find_with_nova(cloud: Cloud) -> list[Finding]:
    """Find faults in placement, alone and compared with nova."""
    compared = [finding for check in OF_NOVA.values() for finding in check(cloud)]
    servers = {one.subject for one in compared if one.kind == of_servers.WITHOUT_ALLOCATIONS}
    return [
        *(one for one in find(cloud.placement) if not _is_explained(one, cloud, servers)),
        *compared,
    ]


def _is_explained(finding: Finding, cloud: Cloud, servers: Collection[str]) -> bool:
    """True if nova uses a name, or a finding about one of these servers says it better."""
    if finding.kind in (of_placement.UNUSED_TRAIT, of_placement.UNUSED_CLASS):
        return finding.subject in cloud.nova.names_in_flavors
    return finding.kind == of_placement.WITHOUT_ALLOCATIONS and finding.subject in servers
