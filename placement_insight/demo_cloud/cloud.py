# SPDX-License-Identifier: Apache-2.0
"""The cloud of the demonstration, generated from ``cloud.yaml``, and its problems."""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import pkgutil
import random
import shlex
import uuid
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import yaml

from placement.objects.claim import Claim
from placement.schemas.common import NOT_SENT
from placement.search.model.capacity import Capacity
from placement.search.model.kind import DISABLED_TRAIT, OWNER_TRAIT

_NAMESPACE = uuid.UUID('6f0b6a2e-3d0f-5b52-9a35-5c1c9b1f4d17')

SEED = 17

#: Inventories as in a request body, by resource class.
Inventories = Mapping[str, Mapping[str, Any]]

#: Amounts by resource class, by the uuid of the provider.
Allocations = Mapping[str, Mapping[str, int]]


@functools.cache
def uuid_of(name: str) -> str:
    """Return the uuid for a name, the same each time."""
    return str(uuid.uuid5(_NAMESPACE, name))


class DemoProvider(NamedTuple):
    """A resource provider; `aggregates` are names, for which `uuid_of` gives the uuids."""

    name: str
    inventories: Inventories
    traits: frozenset[str] = frozenset()
    aggregates: tuple[str, ...] = ()
    parent: DemoProvider | None = None

    @property
    def uuid(self) -> str:
        """The uuid, derived from the name."""
        return uuid_of(self.name)


class Cloud(NamedTuple):
    """The providers and claims of the cloud.

    `shrunk` has inventories by the name of their provider, which shrink below their usage in the
    last hour.
    """

    providers: Sequence[DemoProvider]
    claims: Sequence[Claim]
    shrunk: Mapping[str, Inventories]


class Host(NamedTuple):
    """A tree of providers, the root first, and the description of its series of hosts."""

    providers: Sequence[DemoProvider]
    description: Mapping[str, Any]

    @property
    def root(self) -> DemoProvider:
        """The root of the tree."""
        return self.providers[0]


#: The free amount of each inventory, by uuid of the provider and class, while servers are placed.
FreeAmounts = dict[tuple[str, str], int]


def make_cloud(seed: int = SEED) -> Cloud:
    """Generate the cloud of a seed, the same each time."""
    data = yaml.safe_load(pkgutil.get_data(__name__, 'cloud.yaml'))
    pool = data['storage']
    storage = _provider(pool['name'], pool, aggregates=pool['aggregates'])
    hosts = list(_hosts(data))
    providers = [storage, *(provider for host in hosts for provider in host.providers)]
    free = {
        (provider.uuid, name): capacity_of(inventory)
        for provider in providers
        for name, inventory in provider.inventories.items()
    }
    servers = [
        (host.root.name, server)
        for host in hosts
        for server in _servers(data, host, storage, free, seed)
    ]
    claims = [_with_faults(data, *server, index) for index, server in enumerate(servers)]
    migrations = data['migrations']
    for name in migrations['hosts']:
        held = {uuid_of(name): migrations['resources']}
        claims.append(_claim(f'{name} migration', migrations['project'], 'MIGRATION', held))
    return Cloud(providers, claims, data['shrunk'])


def capacity_of(inventory: Mapping[str, Any]) -> int:
    """Return the capacity of an inventory, given as in a request body."""
    return Capacity(**inventory).ceiling


def _hosts(data: Mapping[str, Any]) -> Iterator[Host]:
    """Yield all hosts in the order of ``cloud.yaml``."""
    for beginning, description in data['hosts'].items():
        kinds = description['kinds']
        # The trait of an upgraded agent.
        owner = {OWNER_TRAIT} if description.get('upgraded') else set[str]()
        for index in range(description['count']):
            name = f'{beginning}-{index + 1:03}'
            kind = data['kinds'][kinds[index % len(kinds)]]
            traits = owner | ({DISABLED_TRAIT} if name in data['disabled'] else set())
            root = _provider(name, kind, traits, description['aggregates'])
            providers, level = [root], [(root, kind)]
            while level:
                level = [
                    (_provider(f'{parent.name}-{suffix}', child, owner, parent=parent), child)
                    for parent, described in level
                    for suffix, child in described.get('children', {}).items()
                ]
                providers += [provider for provider, _description in level]
            yield Host(providers, description)


def _provider(
    name: str,
    description: Mapping[str, Any],
    traits: Set[str] = frozenset(),
    aggregates: Sequence[str] = (),
    parent: DemoProvider | None = None,
) -> DemoProvider:
    every = frozenset(traits).union(*description['traits'])
    return DemoProvider(name, description['inventories'], every, tuple(aggregates), parent)


def _claim(name: str, project: str, kind: str, held: Allocations) -> Claim:
    return Claim(uuid_of(name), held, project, f'user-of-{project}', None, kind)


def _servers(
    data: Mapping[str, Any], host: Host, storage: DemoProvider, free: FreeAmounts, seed: int
) -> Iterator[Claim]:
    """Yield servers until the host is as full as it should be, or no flavor fits."""
    if host.root.name in data['disabled']:
        return
    if host.root.name in data['servers']:
        yield from _described_servers(host, data['servers'][host.root.name])
        return
    chance = random.Random(f'{seed} {host.root.name}')
    wanted = chance.uniform(*host.description['fullness'])
    flavors = list(host.description['flavors'])
    number = 0
    while flavors and _used_part(host, free) < wanted:
        flavor = chance.choice(flavors)
        allocations = _allocations(host, storage, flavor, chance)
        if not _take(allocations, free):
            flavors.remove(flavor)
            continue
        number += 1
        name = f'{host.root.name} server {number}'
        yield _claim(name, chance.choice(data['projects']), 'INSTANCE', allocations)


def _described_servers(host: Host, servers: Sequence[Any]) -> Iterator[Claim]:
    """Yield the servers that ``cloud.yaml`` lists for a host, with project and resources."""
    root = host.root.name
    for number, (project, held) in enumerate(servers, 1):
        allocations = {
            uuid_of(f'{root}-{suffix}' if suffix else root): amounts
            for suffix, amounts in held.items()
        }
        yield _claim(f'{root} server {number}', project, 'INSTANCE', allocations)


def _allocations(
    host: Host, storage: DemoProvider, flavor: Mapping[str, int], chance: random.Random
) -> Allocations:
    """Return the allocations of a server on a host, even where there is no room.

    Providers are tried in this order: a random child of the root and the children of that, the
    root, and the storage.
    """
    children = [provider for provider in host.providers if provider.parent is host.root]
    chosen = chance.choice(children) if children else host.root
    places = [provider for provider in host.providers if chosen in (provider, provider.parent)]
    taken: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for name, amount in flavor.items():
        having = (p for p in (*places, host.root, storage) if name in p.inventories)
        taken[next(having).uuid][name] = amount
    return dict(taken)


def _take(allocations: Allocations, free: FreeAmounts) -> bool:
    """Subtract allocations from the free amounts and return True; False if they do not fit."""
    wanted = [
        ((uuid, name), amount)
        for uuid, resources in allocations.items()
        for name, amount in resources.items()
    ]
    if any(free[key] < amount for key, amount in wanted):
        return False
    for key, amount in wanted:
        free[key] -= amount
    return True


def _used_part(host: Host, free: FreeAmounts) -> float:
    """Return the used share of a host's memory, from 0 to 1."""
    having = [provider for provider in host.providers if 'MEMORY_MB' in provider.inventories]
    capacity = sum(capacity_of(provider.inventories['MEMORY_MB']) for provider in having)
    return 1 - sum(free[provider.uuid, 'MEMORY_MB'] for provider in having) / capacity


def _with_faults(data: Mapping[str, Any], host: str, server: Claim, index: int) -> Claim:
    for project, hosts in data['projects_of_hosts'].items():
        if host in hosts:
            server = dataclasses.replace(server, project_id=project)
    if index % data['without_type_every'] == 7:
        server = dataclasses.replace(server, consumer_type=NOT_SENT)
    return server


class DemoProblem(NamedTuple):
    """A question of an operator, and two ways to answer it.

    `client` is a command of the OpenStack client. `path` and `body` are a request, a POST if it
    has a body.
    """

    question: str
    client: str
    path: str
    body: Mapping[str, Any] | None = None

    def commands(self, url: str) -> list[str]:
        """Return both shell commands, of which the second sends the request with curl."""
        curl = ['curl', '-s', '-H', 'X-Auth-Token: admin', url + self.path]
        if self.body is not None:
            curl += ['-H', 'Content-Type: application/json', '-d', json.dumps(self.body)]
        return [self.client, shlex.join(curl)]


class _Names(dict[str, str]):
    """Queries by name; any other key is the name of a provider, and its value the uuid."""

    def __missing__(self, name: str) -> str:
        return uuid_of(name)


def list_problems() -> list[DemoProblem]:
    """List the problems of the cloud."""
    data = yaml.safe_load(pkgutil.get_data(__name__, 'problems.yaml'))
    names = _Names(data['queries'])
    return [
        DemoProblem(
            problem['question'],
            problem['client'].format_map(names),
            problem['path'].format_map(names),
            problem.get('body'),
        )
        for problem in data['problems']
    ]


def list_searches_in_vain() -> dict[str, str]:
    """Return queries without candidates, by the ids of the requests that send them."""
    data = yaml.safe_load(pkgutil.get_data(__name__, 'problems.yaml'))
    return {key: data['queries'][name] for key, name in data['searches_in_vain'].items()}
