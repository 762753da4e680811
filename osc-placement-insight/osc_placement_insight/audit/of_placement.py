# SPDX-License-Identifier: Apache-2.0
"""Checks of placement alone, for any client."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.model import PlacementState, Provider
from osc_placement_insight.owner import COMPUTE_NODE, OWNER

OVER_CAPACITY = 'over-capacity'
WITHOUT_ALLOCATIONS = 'consumer-without-allocations'
WITHOUT_INVENTORY = 'allocation-without-inventory'
WITHOUT_ROOT = 'provider-without-root'
NOT_UPGRADED = 'agents-not-upgraded'
UNUSED_TRAIT = 'unused-trait'
UNUSED_CLASS = 'unused-resource-class'


def over_capacity(state: PlacementState) -> Iterator[Finding]:
    """Providers of which more is allocated than they have, each with all such classes."""
    for provider in state.providers.values():
        exceeded = list(_exceeded(provider))
        if exceeded:
            yield Finding(
                OVER_CAPACITY,
                provider.uuid,
                provider.name,
                f'Provider {provider.name} has less than is allocated: {", ".join(exceeded)}.',
                'Move servers away, or raise the allocation ratio of the host.',
            )


def _exceeded(provider: Provider) -> Iterator[str]:
    for name, inventory in provider.inventories.items():
        used = provider.usages.get(name, 0)
        if used > inventory.capacity:
            yield f'{name} {used} of {inventory.capacity:g}'


def consumers_without_allocations(state: PlacementState) -> Iterator[Finding]:
    """Consumers that hold nothing."""
    for consumer in state.consumers.values():
        if not consumer.allocations:
            yield Finding(
                WITHOUT_ALLOCATIONS,
                consumer.uuid,
                consumer.uuid,
                f'Consumer {consumer.uuid} holds nothing.',
                'Remove it with audit repair.',
                consumer=consumer,
                wanted={},
            )


def allocations_without_inventory(state: PlacementState) -> Iterator[Finding]:
    """Providers of which something is allocated that they do not have."""
    holders: dict[tuple[str, str], int] = defaultdict(int)
    for consumer in state.consumers.values():
        for uuid, resources in consumer.allocations.items():
            for name in resources:
                holders[uuid, name] += 1
    for uuid, name in sorted(holders):
        provider = state.providers.get(uuid)
        if provider is not None and name not in provider.inventories:
            yield Finding(
                WITHOUT_INVENTORY,
                f'{uuid}:{name}',
                provider.name,
                f'Provider {provider.name} has no inventory of {name}, '
                f'which {holders[uuid, name]} consumers hold.',
                'Find out why the inventory was removed: the configuration of nova-compute or of '
                'an agent on this host, or a missing device. Move the servers that need it.',
            )


def providers_without_root(state: PlacementState) -> Iterator[Finding]:
    """Providers that do not say which tree they are in."""
    for provider in state.providers.values():
        if provider.root is None:
            yield Finding(
                WITHOUT_ROOT,
                provider.uuid,
                provider.name,
                f'Provider {provider.name} has no root.',
                'Run placement-manage db online_data_migrations where Placement is installed.',
            )


def agents_not_upgraded(state: PlacementState) -> Iterator[Finding]:
    """The hosts without the trait of nova, in a cloud in which others have it."""
    hosts = [one for one in state.providers.values() if COMPUTE_NODE in one.traits]
    lacking = sorted(one.name for one in hosts if OWNER not in one.traits)
    if not 0 < len(lacking) < len(hosts):
        return
    yield Finding(
        NOT_UPGRADED,
        OWNER,
        OWNER,
        f'{len(lacking)} of {len(hosts)} hosts, such as {lacking[0]}, lack the trait {OWNER}: '
        'their agents have not been upgraded.',
        'Upgrade nova-compute there. nova requires the trait of every request once all agents '
        'report the version that gives it.',
    )


def unused_traits(state: PlacementState) -> Iterator[Finding]:
    """Custom traits that no provider has."""
    for name in sorted(state.unused_traits):
        yield Finding(
            UNUSED_TRAIT,
            name,
            name,
            f'No provider has the trait {name}.',
            'Remove it if no image needs it: audit repair --kind unused-trait.',
        )


def unused_resource_classes(state: PlacementState) -> Iterator[Finding]:
    """Custom resource classes without inventories and allocations."""
    for name in sorted(state.unused_classes):
        yield Finding(
            UNUSED_CLASS,
            name,
            name,
            f'No provider has an inventory of {name}.',
            'Remove it if no service needs it: audit repair --kind unused-resource-class.',
        )
