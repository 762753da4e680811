# SPDX-License-Identifier: Apache-2.0
"""Reads of nova what placement does not know: servers with their flavors, hosts, server groups
and migrations under way, each in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from osc_placement_insight.compute import Compute, Purpose, Tell
from osc_placement_insight.flavors import Flavor

PURPOSE = Purpose('This command', 'To leave nova out, add --without-nova.')

#: The first microversion of nova with the requested zone of a server.
PINNED = '2.96'
#: The statuses of migrations whose source may still hold allocations. An evacuation is done before
#: its source host has removed them.
OPEN = (
    'accepted', 'queued', 'preparing', 'running', 'pre-migrating', 'migrating', 'post-migrating',
    'finished', 'confirming', 'reverting', 'done',
)  # fmt: skip
#: The policies of server groups that nova enforces.
ANTI_AFFINITY, AFFINITY = 'anti-affinity', 'affinity'
#: The limit of a page of server groups, unless nova has a smaller one.
PAGE = 1000


class Server(NamedTuple):
    """A server. `zone` is where it has to be, None if anywhere; `task` is None while nova does
    nothing with it."""

    uuid: str
    name: str
    status: str
    task: str | None
    host: str | None
    node: str | None
    zone: str | None
    is_locked: bool
    flavor: Flavor
    boots_from_volume: bool


class Hypervisor(NamedTuple):
    """A node of a compute host, by the uuid of its resource provider."""

    uuid: str
    node: str
    host: str
    is_ironic: bool


def list_servers(compute: Compute, tell: Tell, hosts: Iterable[str] | None) -> list[Server]:
    """The servers of all projects on some compute hosts, or on all."""
    queries = [{}] if hosts is None else [{'host': host} for host in sorted(set(hosts))]
    asked = compute.at(PINNED)
    rows = (
        row
        for query in queries
        for row in asked.rows('/servers/detail', 'servers', {'all_tenants': '1', **query}, tell)
    )
    # Of those in a cell that is down nova knows neither host nor flavor.
    return [_server(row) for row in rows if row['status'] != 'UNKNOWN']


def find_server(compute: Compute, uuid: str) -> Server | None:
    """The server with a uuid, or None."""
    found = compute.at(PINNED).find(f'/servers/{uuid}')
    return None if found is None else _server(found['server'])


def _server(row: Mapping[str, Any]) -> Server:
    """A server as nova shows it. Older ones do not tell the zone: it stays in the one it is in."""
    flavor = row['flavor']
    return Server(
        row['id'],
        row['name'],
        row['status'],
        row['OS-EXT-STS:task_state'],
        row['OS-EXT-SRV-ATTR:host'],
        row['OS-EXT-SRV-ATTR:hypervisor_hostname'],
        row.get('pinned_availability_zone', row.get('OS-EXT-AZ:availability_zone')),
        row['locked'],
        Flavor(
            flavor['original_name'],
            flavor['vcpus'],
            flavor['ram'],
            flavor['disk'],
            flavor['ephemeral'],
            flavor['swap'],
            flavor.get('extra_specs', {}),
        ),
        not row['image'],
    )


def list_hypervisors(compute: Compute, tell: Tell) -> list[Hypervisor]:
    """All nodes."""
    return [
        Hypervisor(
            row['id'],
            row['hypervisor_hostname'],
            row['service']['host'],
            row['hypervisor_type'] == 'ironic',
        )
        for row in compute.rows('/os-hypervisors/detail', 'hypervisors', {}, tell)
    ]


class Groups(NamedTuple):
    """The members of server groups.

    No two of a group in `apart` may be on one host. Groups in `others` have another policy: to be
    together, or a limited number on one host.
    """

    apart: list[frozenset[str]]
    others: list[frozenset[str]]


def list_groups(compute: Compute) -> Groups:
    """The server groups of all projects whose policy nova enforces."""
    groups = Groups([], [])
    for row in _server_groups(compute):
        most = (row.get('rules') or {}).get('max_server_per_host', 1)
        if row['policy'] == ANTI_AFFINITY and most == 1:
            groups.apart.append(frozenset(row['members']))
        elif row['policy'] in (ANTI_AFFINITY, AFFINITY):
            groups.others.append(frozenset(row['members']))
    return groups


def _server_groups(compute: Compute) -> Iterator[Mapping[str, Any]]:
    offset = 0
    while True:
        query = {'all_projects': 'True', 'limit': str(PAGE), 'offset': str(offset)}
        groups = compute.ask('/os-server-groups', query)['server_groups']
        yield from groups
        offset += len(groups)
        if not groups:
            return


def list_open_migrations(compute: Compute, tell: Tell) -> set[str]:
    """The uuids of migrations under way, as consumers that hold what their servers leave."""
    return {
        row['uuid']
        for status in OPEN
        for row in compute.rows('/os-migrations', 'migrations', {'status': status}, tell)
    }
