# SPDX-License-Identifier: Apache-2.0
"""The state of a cloud in placement and nova, as values."""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

#: Amounts by resource class.
Resources = Mapping[str, int]
#: Amounts by the uuid of a provider and resource class.
Allocations = Mapping[str, Resources]

#: A status of a migration that nova never changes again. An evacuation that is 'done' is not: its
#: source host still holds allocations, which nova-compute there removes when it starts again.
ENDED = frozenset({'confirmed', 'reverted', 'error', 'failed', 'completed', 'cancelled'})
EVACUATED = 'done'
EVACUATION = 'evacuation'

#: The trait of providers whose resources hosts of their aggregates use.
SHARING = 'MISC_SHARES_VIA_AGGREGATE'
_OF_HOSTS = frozenset({'VCPU', 'PCPU', 'MEMORY_MB'})


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """The inventory of one resource class of a provider."""

    total: int
    reserved: int
    allocation_ratio: float

    @property
    def capacity(self) -> float:
        """The amount that can be allocated."""
        return (self.total - self.reserved) * self.allocation_ratio


@dataclasses.dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider. `root` is None for one that old releases wrote without a root."""

    uuid: str
    name: str
    generation: int
    root: str | None
    inventories: Mapping[str, Inventory]
    usages: Resources
    traits: frozenset[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer and its allocations; `type` is None if unknown."""

    uuid: str
    generation: int
    project_id: str
    user_id: str
    type: str | None
    allocations: Allocations

    @property
    def amounts(self) -> dict[str, int]:
        """The amounts that it holds by resource class, summed over providers."""
        return added(self.allocations.values())


def added(parts: Iterable[Resources]) -> dict[str, int]:
    """The sums of amounts by resource class."""
    sums: dict[str, int] = defaultdict(int)
    for part in parts:
        for name, amount in part.items():
            sums[name] += amount
    return dict(sums)


@dataclasses.dataclass(frozen=True, slots=True)
class Flavor:
    """The flavor of a server, in nova's units: `ram` and `swap` in MiB, disks in GiB."""

    vcpus: int
    ram: int
    disk: int
    ephemeral: int
    swap: int
    extra_specs: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server. `host` and `node` are None while no host runs it; `updated` is nova's time.

    `flavor` is None for a server of a cell whose database nova could not reach: nova knows then
    that it exists, and nothing else.
    """

    uuid: str
    name: str
    project_id: str
    user_id: str | None
    status: str
    task: str | None = None
    host: str | None = None
    node: str | None = None
    updated: str | None = None
    flavor: Flavor | None = None
    boots_from_volume: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Migration:
    """A resize, a cold or live migration, or an evacuation of a server."""

    uuid: str
    server: str
    type: str
    status: str
    source_node: str | None

    @property
    def is_open(self) -> bool:
        """True if it may still hold allocations, or its server allocations on two hosts."""
        if self.status == EVACUATED:
            return self.type == EVACUATION
        return self.status not in ENDED


@dataclasses.dataclass(frozen=True)
class PlacementState:
    """All that an audit reads of placement; the unused names are custom ones."""

    providers: Mapping[str, Provider]
    consumers: Mapping[str, Consumer]
    unused_traits: frozenset[str]
    unused_classes: frozenset[str]


@dataclasses.dataclass(frozen=True)
class NovaState:
    """All that an audit reads of nova.

    `migrations` are by uuid and `hypervisors` names by uuid. `deleted` are uuids of servers that
    nova remembers as deleted. `has_cells_down` tells that nova could not read all its cells.
    """

    servers: Mapping[str, Server]
    migrations: Mapping[str, Migration]
    hypervisors: Mapping[str, str]
    names_in_flavors: frozenset[str]
    has_cells_down: bool
    deleted: frozenset[str] = frozenset()


@dataclasses.dataclass(frozen=True)
class Cloud:
    """The states of placement and nova."""

    placement: PlacementState
    nova: NovaState

    def root_of(self, provider: str) -> str:
        """The uuid of the root of a provider's tree."""
        known = self.placement.providers.get(provider)
        return provider if known is None else known.root or provider

    @functools.cached_property
    def open_migrations(self) -> Mapping[str, list[Migration]]:
        """The migrations under way, by server."""
        found = defaultdict(list)
        for migration in self.nova.migrations.values():
            if self._is_under_way(migration):
                found[migration.server].append(migration)
        return dict(found)

    def _is_under_way(self, migration: Migration) -> bool:
        """True if nova has still something to do for a migration.

        It will never clean a host after an evacuation that is no longer one of its hypervisors.
        """
        if migration.status == EVACUATED:
            return migration.is_open and migration.source_node in self._names_of_hypervisors
        return migration.is_open

    @functools.cached_property
    def _names_of_hypervisors(self) -> frozenset[str]:
        return frozenset(self.nova.hypervisors.values())

    def is_settled(self, server: Server) -> bool:
        """True if nova knows a server and does nothing with it at present."""
        return (
            server.flavor is not None
            and server.task is None
            and server.status not in ('BUILD', 'DELETED')
            and server.uuid not in self.open_migrations
        )

    @functools.cached_property
    def settled_servers(self) -> tuple[Server, ...]:
        """The servers that can be judged."""
        return tuple(filter(self.is_settled, self.nova.servers.values()))

    def provider_of_node(self, node: str) -> Provider | None:
        """The provider that stands for a node of nova: the same uuid, else the same name."""
        same = self.placement.providers.get(self._hypervisor_uuids.get(node, ''))
        return same or self._roots_by_name.get(node)

    @functools.cached_property
    def _hypervisor_uuids(self) -> Mapping[str, str]:
        return {name: uuid for uuid, name in self.nova.hypervisors.items()}

    @functools.cached_property
    def _roots_by_name(self) -> Mapping[str, Provider]:
        return {one.name: one for one in self.placement.providers.values()}

    def hosts_of(self, consumer: Consumer) -> frozenset[str]:
        """The roots of the compute hosts that a consumer has allocations on."""
        return frozenset(root for _, root in self.on_hosts(consumer))

    def on_hosts(self, consumer: Consumer) -> Iterator[tuple[str, str]]:
        """Each provider that a consumer has allocations on, with its root, if that is a host."""
        by_root = defaultdict(list)
        for provider in consumer.allocations:
            by_root[self.root_of(provider)].append(provider)
        for root, providers in by_root.items():
            if self._is_host(root, providers, consumer):
                yield from ((provider, root) for provider in providers)

    def _is_host(self, root: str, providers: Iterable[str], consumer: Consumer) -> bool:
        """True if a root is a compute host: nova says so, or a consumer has processors there."""
        if root in self.nova.hypervisors or root in self._named_as_hypervisors:
            return True
        held = added(consumer.allocations[one] for one in providers)
        return not _OF_HOSTS.isdisjoint(held) and not self._is_sharing(root)

    @functools.cached_property
    def _named_as_hypervisors(self) -> frozenset[str]:
        """The providers that have the name of a hypervisor, but another uuid."""
        found = map(self._roots_by_name.get, self.nova.hypervisors.values())
        return frozenset(one.uuid for one in found if one is not None)

    def _is_sharing(self, provider: str) -> bool:
        known = self.placement.providers.get(provider)
        return known is not None and SHARING in known.traits
