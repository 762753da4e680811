# SPDX-License-Identifier: Apache-2.0
"""Reads all that an audit needs of nova: servers of all projects, migrations, hypervisors.

The reference of nova's Compute API says what each request answers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from osc_lib import exceptions

from osc_placement_insight.audit.model import Flavor, Migration, NovaState, Server
from osc_placement_insight.compute import Compute, Tell
from osc_placement_insight.flavor_list import list_flavors

_HOST = 'OS-EXT-SRV-ATTR:host'
_NODE = 'OS-EXT-SRV-ATTR:hypervisor_hostname'
_TASK = 'OS-EXT-STS:task_state'
_UNKNOWN = 'UNKNOWN'
_DELETED = 'DELETED'
_CUSTOM = 'CUSTOM_'
# An order that stays the same while servers come and go.
_ALL_SERVERS = {'all_tenants': '1', 'sort_key': 'uuid', 'sort_dir': 'asc'}


def read(compute: Compute, tell: Tell) -> NovaState:
    """Read everything in nova that the audit needs.

    The list of servers lacks soft-deleted servers, and servers in cells that are down;
    `read_again` reads them.

    :raises osc_lib.exceptions.CommandError: nova does not answer, or does not show all servers to
        this user
    """
    servers = compute.rows('/servers/detail', 'servers', _ALL_SERVERS, tell)
    migrations = compute.rows('/os-migrations', 'migrations', {}, tell)
    hypervisors = compute.rows('/os-hypervisors', 'hypervisors', {}, tell)
    return NovaState(
        servers={row['id']: server(row) for row in servers},
        migrations={row['uuid']: migration(row) for row in migrations},
        hypervisors={row['id']: row['hypervisor_hostname'] for row in hypervisors},
        names_in_flavors=names_in_flavors(compute, tell),
        has_cells_down=_has_cells_down(compute),
    )


def read_again(
    compute: Compute, state: NovaState, servers: Iterable[str], tell: Tell
) -> NovaState:
    """The same state, with some servers and their migrations as they are now."""
    known, deleted, migrations = dict(state.servers), set(state.deleted), dict(state.migrations)
    for count, uuid in enumerate(servers, 1):
        tell(f'reading suspicious servers again: {count}')
        found = find_server(compute, uuid)
        if found is not None:
            known[uuid] = found
        else:
            known.pop(uuid, None)
            deleted |= {uuid} if is_remembered_as_deleted(compute, uuid) else set()
        migrations.update((one.uuid, one) for one in migrations_of(compute, uuid))
    return dataclasses.replace(
        state, servers=known, migrations=migrations, deleted=frozenset(deleted)
    )


def find_server(compute: Compute, uuid: str) -> Server | None:
    """The current state of a server; None if it does not exist or is deleted."""
    found = compute.find(f'/servers/{uuid}')
    if found is None or found['server']['status'] == _DELETED:
        return None
    return server(found['server'])


def is_remembered_as_deleted(compute: Compute, uuid: str) -> bool:
    """True if nova still has the record of a server that was deleted."""
    query = {'all_tenants': '1', 'deleted': 'true', 'uuid': uuid}
    return any(one['id'] == uuid for one in compute.ask('/servers', query)['servers'])


def migrations_of(compute: Compute, server: str) -> list[Migration]:
    """All migrations of a server."""
    query = {'instance_uuid': server}
    return [
        migration(row)
        for page in compute.pages('/os-migrations', 'migrations', query)
        for row in page
    ]


def server(row: dict[str, Any]) -> Server:
    """A server as nova shows it to an administrator.

    :raises osc_lib.exceptions.CommandError: nova hides its host
    """
    if row['status'] == _UNKNOWN:
        return Server(row['id'], row['id'], row['tenant_id'], None, _UNKNOWN)
    if _HOST not in row or _NODE not in row:
        raise exceptions.CommandError(
            f'Nova does not show {_HOST} of servers: '
            'the audit needs the rights of an administrator.'
        )
    return Server(
        row['id'],
        row['name'],
        row['tenant_id'],
        row['user_id'],
        row['status'],
        row[_TASK],
        row[_HOST],
        row[_NODE],
        row['updated'],
        flavor(row['flavor']),
        boots_from_volume=not row['image'],
    )


def flavor(row: dict[str, Any]) -> Flavor:
    """A flavor as a server has it."""
    return Flavor(
        row['vcpus'],
        row['ram'],
        row['disk'],
        row['ephemeral'],
        row['swap'],
        row.get('extra_specs', {}),
    )


def migration(row: dict[str, Any]) -> Migration:
    """A migration as nova shows it."""
    return Migration(
        row['uuid'],
        row['instance_uuid'],
        row['migration_type'],
        row['status'],
        row['source_node'],
    )


def names_in_flavors(compute: Compute, tell: Tell) -> frozenset[str]:
    """The custom traits and resource classes that the extra specs of any flavor name."""
    keys = {key for flavor in list_flavors(compute, tell) for key in flavor.extra_specs}
    names = (key.partition(':')[2] for key in keys)
    return frozenset(name for name in names if name.startswith(_CUSTOM))


def _has_cells_down(compute: Compute) -> bool:
    """True if nova could not ask the database of one of its cells about its services."""
    return any(one['status'] == _UNKNOWN for one in compute.ask('/os-services')['services'])
