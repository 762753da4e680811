# SPDX-License-Identifier: Apache-2.0
"""Servers and migrations of nova that hold other resources than they should."""

from __future__ import annotations

from collections.abc import Iterator

from osc_placement_insight.audit import flavor_amounts
from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.model import Allocations, Cloud, Consumer, Migration, Server

WITHOUT_ALLOCATIONS = 'server-without-allocations'
ON_SEVERAL_HOSTS = 'server-on-several-hosts'
ON_ANOTHER_HOST = 'server-on-another-host'
WITHOUT_HOST = 'server-without-host'
DIFFERS_FROM_FLAVOR = 'differs-from-flavor'
LEAKED_SERVER = 'leaked-by-server'
LEAKED_MIGRATION = 'leaked-by-migration'
UNKNOWN_CONSUMER = 'unknown-consumer'

#: The types of consumers that stand for servers and migrations of nova.
INSTANCE = 'INSTANCE'
MIGRATION = 'MIGRATION'

_REPAIR = 'Run audit repair.'


def without_allocations(cloud: Cloud) -> Iterator[Finding]:
    """Servers that run on a host and hold nothing of any host."""
    for server in cloud.settled_servers:
        consumer = cloud.placement.consumers.get(server.uuid)
        if consumer is not None and cloud.hosts_of(consumer):
            continue
        if server.node is None or not flavor_amounts.expected(server):
            continue
        holds_nothing = consumer is None or not consumer.allocations
        wanted = _claim(cloud, server) if holds_nothing else None
        yield Finding(
            WITHOUT_ALLOCATIONS,
            server.uuid,
            server.name,
            f'Server {server.name} runs on {server.node} and holds nothing there.',
            f'Run nova-manage placement heal_allocations --instance {server.uuid}'
            + ('.' if wanted is None else ', or audit repair.'),
            consumer=consumer,
            server=server,
            wanted=wanted,
        )


def _claim(cloud: Cloud, server: Server) -> Allocations | None:
    """The allocations that a server should have, if all are on its host's provider; else None."""
    assert server.node is not None
    provider = cloud.provider_of_node(server.node)
    amounts = flavor_amounts.expected(server)
    if provider is None or not flavor_amounts.is_simple(server):
        return None
    if not amounts.keys() <= provider.inventories.keys():
        return None
    return {provider.uuid: amounts}


def on_several_hosts(cloud: Cloud) -> Iterator[Finding]:
    """Servers that hold resources of their host and of others."""
    for server, consumer, own in _placed(cloud):
        others = cloud.hosts_of(consumer) - {own}
        if own in cloud.hosts_of(consumer) and others:
            yield Finding(
                ON_SEVERAL_HOSTS,
                server.uuid,
                server.name,
                f'Server {server.name} runs on {server.node} and also holds resources of '
                f'{_names(cloud, others)}.',
                _REPAIR,
                consumer=consumer,
                server=server,
                wanted=_without_hosts(cloud, consumer, others),
            )


def on_another_host(cloud: Cloud) -> Iterator[Finding]:
    """Servers that hold resources of hosts, but not of their own."""
    for server, consumer, own in _placed(cloud):
        hosts = cloud.hosts_of(consumer)
        if hosts and own not in hosts:
            wanted = _moved(cloud, consumer, hosts, own)
            yield Finding(
                ON_ANOTHER_HOST,
                server.uuid,
                server.name,
                f'Server {server.name} runs on {server.node}, but holds resources of '
                f'{_names(cloud, hosts)}.',
                _REPAIR if wanted is not None else _BY_HAND.format(server.uuid),
                consumer=consumer,
                server=server,
                wanted=wanted,
            )


_BY_HAND = (
    'Set what it holds: openstack resource provider allocation set {}. '
    'Its host has no provider, or no single one with all resources.'
)


def _placed(cloud: Cloud) -> Iterator[tuple[Server, Consumer, str | None]]:
    """Settled servers on a host, with their consumers, and their host's provider if it has one."""
    for server in cloud.settled_servers:
        consumer = cloud.placement.consumers.get(server.uuid)
        if consumer is not None and server.node is not None:
            provider = cloud.provider_of_node(server.node)
            yield server, consumer, None if provider is None else provider.uuid


def _without_hosts(cloud: Cloud, consumer: Consumer, hosts: frozenset[str]) -> Allocations:
    return {
        uuid: resources
        for uuid, resources in consumer.allocations.items()
        if cloud.root_of(uuid) not in hosts
    }


def _moved(
    cloud: Cloud, consumer: Consumer, hosts: frozenset[str], own: str | None
) -> Allocations | None:
    """The same allocations on the server's own host, if they are unambiguous; else None.

    They are if the server holds resources of the root of one other host only, and the root of its
    own host has inventories of all these classes.
    """
    held = [uuid for uuid, _ in cloud.on_hosts(consumer)]
    if own is None or held != list(hosts):
        return None
    resources = consumer.allocations[held[0]]
    if not resources.keys() <= cloud.placement.providers[own].inventories.keys():
        return None
    return {**_without_hosts(cloud, consumer, hosts), own: resources}


def _names(cloud: Cloud, providers: frozenset[str]) -> str:
    known = cloud.placement.providers
    return ', '.join(sorted(known[uuid].name if uuid in known else uuid for uuid in providers))


def without_host(cloud: Cloud) -> Iterator[Finding]:
    """Servers that no host runs, and that hold resources of hosts nevertheless."""
    for server in cloud.settled_servers:
        consumer = cloud.placement.consumers.get(server.uuid)
        if server.node is None and server.host is None and consumer is not None:
            hosts = cloud.hosts_of(consumer)
            if hosts:
                yield Finding(
                    WITHOUT_HOST,
                    server.uuid,
                    server.name,
                    f'Server {server.name} is {server.status} and runs on no host, but holds '
                    f'resources of {_names(cloud, hosts)}.',
                    _REPAIR,
                    consumer=consumer,
                    server=server,
                    wanted=_without_hosts(cloud, consumer, hosts),
                )


def different_from_flavor(cloud: Cloud) -> Iterator[Finding]:
    """Servers that hold other amounts, on their host alone, than their flavor has."""
    for server, consumer, own in _placed(cloud):
        if cloud.hosts_of(consumer) != {own}:
            continue
        different = flavor_amounts.differences(server, consumer.amounts)
        if different:
            words = ', '.join(
                f'{name} {held}, its flavor has {wanted}'
                for name, (held, wanted) in different.items()
            )
            yield Finding(
                DIFFERS_FROM_FLAVOR,
                server.uuid,
                server.name,
                f'Server {server.name} holds {words}.',
                'Find out which is right; a resize or a migration of the server writes its '
                'allocations anew.',
                consumer=consumer,
                server=server,
            )


def leaked_by_servers(cloud: Cloud) -> Iterator[Finding]:
    """Consumers that were servers of nova and are not any more."""
    for consumer in _not_of_nova(cloud):
        if consumer.uuid in cloud.nova.deleted or consumer.type == INSTANCE:
            yield _leak(cloud, LEAKED_SERVER, consumer, 'A server that was deleted')


def leaked_by_migrations(cloud: Cloud) -> Iterator[Finding]:
    """Consumers that are, or were, migrations that have ended."""
    for consumer in cloud.placement.consumers.values():
        migration = cloud.nova.migrations.get(consumer.uuid)
        if migration is not None and _has_ended(cloud, migration) and consumer.allocations:
            who = f'The migration of server {migration.server}, which is {migration.status},'
            yield _leak(cloud, LEAKED_MIGRATION, consumer, who)
    for consumer in _not_of_nova(cloud):
        if consumer.type == MIGRATION and not cloud.nova.has_cells_down:
            yield _leak(cloud, LEAKED_MIGRATION, consumer, 'A migration that nova does not know')


def _has_ended(cloud: Cloud, migration: Migration) -> bool:
    """True if a migration, or one without a server, no longer needs its allocations."""
    return not migration.is_open or migration.server not in cloud.nova.servers


def unknown_consumers(cloud: Cloud) -> Iterator[Finding]:
    """Consumers that hold something, and of which nova knows nothing.

    None while nova cannot read all its cells: they may have the migrations that these are.
    """
    if cloud.nova.has_cells_down:
        return
    for consumer in _not_of_nova(cloud):
        if consumer.uuid not in cloud.nova.deleted and consumer.type not in (INSTANCE, MIGRATION):
            who = f'A consumer of type {consumer.type or "unknown"} that nova does not know'
            yield _leak(cloud, UNKNOWN_CONSUMER, consumer, who)


def _not_of_nova(cloud: Cloud) -> Iterator[Consumer]:
    """Consumers that hold something and are neither servers nor migrations of nova."""
    nova = cloud.nova
    for consumer in cloud.placement.consumers.values():
        is_known = consumer.uuid in nova.servers or consumer.uuid in nova.migrations
        if consumer.allocations and not is_known:
            yield consumer


_REMEDIES_OF_LEAKS = {
    LEAKED_SERVER: _REPAIR,
    LEAKED_MIGRATION: _REPAIR,
    UNKNOWN_CONSUMER: (
        'Ask the services that use placement besides nova whether it is theirs. A server that was '
        'purged from the database of nova looks the same. If nobody knows it, run audit repair '
        '--kind unknown-consumer.'
    ),
}


def _leak(cloud: Cloud, kind: str, consumer: Consumer, who: str) -> Finding:
    amounts = ', '.join(f'{name} {amount}' for name, amount in sorted(consumer.amounts.items()))
    providers = _names(cloud, frozenset(consumer.allocations))
    return Finding(
        kind,
        consumer.uuid,
        consumer.uuid,
        f'{who} holds {amounts} of {providers}.',
        _REMEDIES_OF_LEAKS[kind],
        consumer=consumer,
        wanted={},
    )
