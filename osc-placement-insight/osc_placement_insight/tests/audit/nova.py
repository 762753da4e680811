# SPDX-License-Identifier: Apache-2.0
"""A nova of the tests: it answers what the reference of the Compute API says, from memory.

Nova itself is more real, but takes minutes to install and seconds for each server. What it answers
is compared with this in `tests/servers/nova_cases.py`.
"""

from __future__ import annotations

import dataclasses
import http
import json
import re
import urllib.parse
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

NEWEST = (2, 96)
VERSION = {
    'id': 'v2.1',
    'status': 'CURRENT',
    'version': '2.96',
    'min_version': '2.1',
    'links': [{'rel': 'self', 'href': '/'}],
}


class Refusal(Exception):
    """An error of nova."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclasses.dataclass
class Server:
    """A server in nova's database, with what its detailed view has of it."""

    uuid: str
    name: str
    flavor: Mapping[str, Any]
    node: str | None
    status: str = 'ACTIVE'
    task: str | None = None
    image: str = 'an-image'
    updated: str = '2026-01-01T00:00:00Z'
    is_deleted: bool = False
    #: Whether its cell's database cannot be reached.
    is_away: bool = False
    is_locked: bool = False
    pinned_zone: str | None = None

    @property
    def row(self) -> dict[str, Any]:
        """The view of nova."""
        if self.is_away:
            return {'id': self.uuid, 'status': 'UNKNOWN', 'tenant_id': 'a-project'}
        return {
            'id': self.uuid,
            'name': self.name,
            'tenant_id': 'a-project',
            'user_id': 'a-user',
            'status': 'DELETED' if self.is_deleted else self.status,
            'updated': self.updated,
            'image': {'id': self.image} if self.image else '',
            'flavor': dict(self.flavor),
            'locked': self.is_locked,
            'OS-EXT-STS:task_state': self.task,
            'OS-EXT-SRV-ATTR:host': self.node,
            'OS-EXT-SRV-ATTR:hypervisor_hostname': self.node,
        }


@dataclasses.dataclass
class Migration:
    """A migration in nova's database."""

    server: str
    type: str
    status: str
    source_node: str
    dest_node: str
    uuid: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def row(self) -> dict[str, Any]:
        """The view of nova."""
        return {
            'id': 1,
            'uuid': self.uuid,
            'instance_uuid': self.server,
            'migration_type': self.type,
            'status': self.status,
            'source_node': self.source_node,
            'source_compute': self.source_node,
            'dest_node': self.dest_node,
            'dest_compute': self.dest_node,
            'dest_host': None,
            'created_at': '2026-01-01T00:00:00.000000',
            'updated_at': None,
        }


def aggregate(uuid: str, name: str, zone: str | None, *hosts: str) -> dict[str, Any]:
    """An aggregate, as nova shows it."""
    return {'id': 1, 'uuid': uuid, 'name': name, 'availability_zone': zone, 'hosts': [*hosts]}


def flavor(
    vcpus: int = 2,
    ram: int = 2048,
    disk: int = 20,
    ephemeral: int = 0,
    swap: int = 0,
    name: str = 'a-flavor',
    **extra_specs: str,
) -> dict[str, Any]:
    """A flavor as servers have it; colons of extra specs are written as two underscores."""
    return {
        'original_name': name,
        'vcpus': vcpus,
        'ram': ram,
        'disk': disk,
        'ephemeral': ephemeral,
        'swap': swap,
        'extra_specs': {name.replace('__', ':'): value for name, value in extra_specs.items()},
    }


class Nova:
    """A WSGI application with the cloud that tests put into it."""

    def __init__(self, max_limit: int = 1000) -> None:
        self.max_limit = max_limit
        self.servers: dict[str, Server] = {}
        self.migrations: dict[str, Migration] = {}
        self.hypervisors: dict[str, str] = {}
        self.flavors: list[dict[str, Any]] = []
        self.aggregates: list[dict[str, Any]] = []
        self.server_groups: list[dict[str, Any]] = []
        #: The compute hosts of nodes that have other names.
        self.hosts: dict[str, str] = {}
        #: The types of hypervisors that are not QEMU, by name.
        self.hypervisor_types: dict[str, str] = {}
        self.has_cells_down = False
        self.is_admin = True
        self.is_failing = False
        #: What is called, with the path, before each answer.
        self.before_answer: list[Any] = []
        self.requests = 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path, status, body = environ['PATH_INFO'], 200, {}
        query = dict(urllib.parse.parse_qsl(environ['QUERY_STRING'], keep_blank_values=True))
        self.requests += 1
        for called in self.before_answer:
            called(path)
        try:
            if path.strip('/'):
                _check_version(environ.get('HTTP_OPENSTACK_API_VERSION', ''))
                body = self._answer(path, query, environ)
            else:
                body = {'version': VERSION}
        except Refusal as refusal:
            status = refusal.status
            name = {400: 'badRequest', 403: 'forbidden', 404: 'itemNotFound'}.get(status, 'error')
            body = {name: {'code': status, 'message': str(refusal)}}
        content = json.dumps(body).encode()
        start_response(
            f'{status} {http.HTTPStatus(status).phrase}',
            [('Content-Type', 'application/json'), ('Content-Length', str(len(content)))],
        )
        return [content]

    def _answer(
        self, path: str, query: dict[str, str], environ: WSGIEnvironment
    ) -> dict[str, Any]:
        if self.is_failing:
            raise Refusal(500, 'Unexpected API Error.')
        match path.strip('/').split('/'):
            case ['servers'] | ['servers', 'detail']:
                rows = [{'id': server.uuid} for server in self._listed(query)]
                page = self._page('servers', rows, query, self.servers)
                shown = [self._server(self.servers[row['id']], environ) for row in page['servers']]
                return {**page, 'servers': shown}
            case ['servers', uuid]:
                if uuid in self.servers and not self.servers[uuid].is_deleted:
                    return {'server': self._server(self.servers[uuid], environ)}
                raise Refusal(404, f'Instance {uuid} could not be found.')
            case ['os-migrations']:
                return self._page('migrations', self._migrations(query), query, self.migrations)
            case ['os-hypervisors', *is_detailed]:
                _check_names(query, 'marker limit')
                rows = [
                    self.hypervisor(*item, bool(is_detailed)) for item in self.hypervisors.items()
                ]
                return self._page('hypervisors', rows, query, self.hypervisors)
            case ['os-aggregates']:
                return {'aggregates': self.aggregates}
            case ['os-server-groups']:
                _check_names(query, 'all_projects limit offset')
                rows = self.server_groups[int(query.get('offset', 0)) :]
                return {'server_groups': rows[: self.max_limit]}
            case ['flavors'] | ['flavors', 'detail']:
                _check_names(query, 'is_public marker limit')
                flavors = self._flavors()
                return self._page('flavors', [*flavors.values()], query, flavors)
            case ['flavors', identity, *_extra_specs] if identity in self._flavors():
                row = self._flavors()[identity]
                return {'extra_specs': row['extra_specs']} if _extra_specs else {'flavor': row}
            case ['os-services']:
                status = 'UNKNOWN' if self.has_cells_down else 'enabled'
                service = {'binary': 'nova-compute', 'host': 'a-host', 'status': status}
                return {'services': [service]}
        raise Refusal(404, 'The resource could not be found.')

    def hypervisor(self, uuid: str, name: str, is_detailed: bool) -> dict[str, Any]:
        """The view of nova of a hypervisor."""
        row: dict[str, Any] = {'id': uuid, 'hypervisor_hostname': name}
        row |= {'state': 'up', 'status': 'enabled'}
        if is_detailed:
            row['hypervisor_type'] = self.hypervisor_types.get(name, 'QEMU')
            row['service'] = {'id': uuid, 'host': self.host_of(name), 'disabled_reason': None}
        return row

    def host_of(self, node: str | None) -> str | None:
        """The compute host of a node, which has another name where nova makes that of the node."""
        return self.hosts.get(node or '', node)

    def _server(self, server: Server, environ: WSGIEnvironment) -> dict[str, Any]:
        row = {**server.row, 'OS-EXT-SRV-ATTR:host': self.host_of(server.node)}
        if _version(environ) >= (2, 96):
            row['pinned_availability_zone'] = server.pinned_zone
        return row

    def _listed(self, query: dict[str, str]) -> list[Server]:
        _check_names(query, 'all_tenants sort_key sort_dir deleted uuid marker limit host name')
        if 'all_tenants' in query and not self.is_admin:
            raise Refusal(403, 'Policy does not allow servers:index:get_all_tenants.')
        return [
            server
            for server in self.servers.values()
            if server.is_deleted == (query.get('deleted') == 'true')
            and query.get('uuid') in (None, server.uuid)
            and query.get('host') in (None, self.host_of(server.node))
            and re.search(query.get('name', ''), server.name)
            and server.status != 'SOFT_DELETED'
            # Nova leaves out servers of cells that are down from lists that are sorted.
            and not server.is_away
        ]

    def _migrations(self, query: dict[str, str]) -> list[dict[str, Any]]:
        _check_names(query, 'instance_uuid status migration_type marker limit')
        server = query.get('instance_uuid')
        return [
            one.row
            for one in self.migrations.values()
            if server in (None, one.server) and query.get('status') in (None, one.status)
        ]

    def _flavors(self) -> dict[str, dict[str, Any]]:
        """The flavors by their ids."""
        return {
            str(index): {
                **one,
                'id': str(index),
                'name': one['original_name'],
                'OS-FLV-EXT-DATA:ephemeral': one['ephemeral'],
            }
            for index, one in enumerate(self.flavors)
        }

    def _page(
        self,
        name: str,
        rows: Sequence[dict[str, Any]],
        query: dict[str, str],
        known: Iterable[str],
    ) -> dict[str, Any]:
        """A page, which has a link only if it is full."""
        marker = query.get('marker')
        if marker is not None and marker not in known:
            raise Refusal(400, f'marker [{marker}] not found')
        by_id = {row.get('uuid') or row['id']: row for row in rows}
        page: dict[str, Any] = {
            name: [row for id_, row in sorted(by_id.items()) if id_ > (marker or '')][
                : self.max_limit
            ]
        }
        if len(page[name]) == self.max_limit:
            page[f'{name}_links'] = [{'rel': 'next', 'href': 'http://behind.a.proxy'}]
        return page


def _version(environ: WSGIEnvironment) -> tuple[int, ...]:
    header = environ.get('HTTP_OPENSTACK_API_VERSION', '')
    return tuple(map(int, header.partition(' ')[2].split('.')))


def _check_version(header: str) -> None:
    service, _, version = header.partition(' ')
    if service == 'compute' and tuple(map(int, version.split('.'))) <= NEWEST:
        return
    raise Refusal(406, f'Version {version} is not supported by the API. Minimum is 2.1.')


def _check_names(query: Mapping[str, str], names: str) -> None:
    unknown = query.keys() - set(names.split())
    if unknown:
        raise Refusal(400, f'Additional properties are not allowed ({unknown})')
