# SPDX-License-Identifier: Apache-2.0
"""The data of nova about consumers that need a place, in the service's format."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from osc_placement_insight import flavors, owner
from osc_placement_insight.aggregates import Aggregate, list_aggregates
from osc_placement_insight.audit.model import Resources, added
from osc_placement_insight.candidate_request import CandidateRequest
from osc_placement_insight.compute import Compute
from osc_placement_insight.service import Service
from osc_placement_insight.what_if import nova
from osc_placement_insight.what_if.nova import Groups, Hypervisor, Server

#: How many requests, lists, and consumers of a list or of all lists a question has. The service
#: takes a hundred requests, of which some are for other purposes.
REQUESTS = 90
LISTS = 1_000
CONSUMERS = 10_000

#: The longest name of a request here; the service takes 255 characters.
NAME = 240

Query = list[tuple[str, str]]
#: What is held, by consumer and resource class.
Held = Mapping[str, Resources]


#: What is not as it should be, with a count each.
NOTES = (
    'Servers that hold other amounts than their flavor has, and are known by these',
    f'Servers that are known by what they hold, since there are more than {REQUESTS} kinds',
    'Server groups with anti-affinity that are left out, since there are too many',
    'Servers in groups with affinity, or where some may share a host, which is not in the answer',
    'Migrations and servers of ironic that count like others, since there are too many',
)
#: What an answer rests on, in words.
WITH_NOVA = 'flavors, zones and server groups as nova has them'
WITHOUT_NOVA = 'without nova: only what is held is known'


class Known(NamedTuple):
    """The data about a cloud from outside of placement.

    These are servers by uuid, nodes by the uuid of their provider, aggregates, server groups, and
    running migrations. With `is_owned`, requests of nova require its own providers.
    """

    servers: Mapping[str, Server]
    hypervisors: Mapping[str, Hypervisor]
    aggregates: Sequence[Aggregate]
    groups: Groups
    migrations: Collection[str]
    is_owned: bool

    def with_servers(self, servers: Iterable[Server]) -> Known:
        """The same cloud with these servers."""
        return self._replace(servers={server.uuid: server for server in servers})

    def host_of(self, provider: Mapping[str, Any]) -> str | None:
        """The compute host of a root provider: by its uuid in nova, else its name."""
        found = self.hypervisors.get(provider['uuid'])
        same = (one for one in self.hypervisors.values() if one.node == provider['name'])
        found = found or next(same, None)
        return None if found is None else found.host

    def names(self) -> dict[str, str]:
        """The names of servers by uuid."""
        return {uuid: server.name for uuid, server in self.servers.items()}


class Terms(NamedTuple):
    """The statements about consumers in a question, and messages about omissions."""

    requests: dict[str, str] = {}
    asked: Mapping[str, list[str]] = {}
    others: Mapping[str, Any] = {}
    notes: Sequence[str] = ()

    def body(self, wanted: Mapping[str, str]) -> dict[str, Any]:
        """The members of a question that has these of the requests."""
        asked = {name: uuids for name, uuids in self.asked.items() if name in wanted}
        members = {'requests': wanted, 'asked': asked, **self.others}
        return {name: value for name, value in members.items() if value}


def read(service: Service, compute: Compute) -> Known:
    """Read the data of nova about the cloud, without servers."""
    tell = service.tell
    hypervisors = nova.list_hypervisors(compute, tell)
    tell('reading aggregates and server groups of nova')
    return Known(
        {},
        {one.uuid: one for one in hypervisors},
        list_aggregates(compute),
        nova.list_groups(compute),
        nova.list_open_migrations(compute, tell),
        owner.is_required(service),
    )


def zones(known: Known) -> dict[str, list[str]]:
    """The uuids of the aggregates of each zone."""
    found: dict[str, list[str]] = defaultdict(list)
    for aggregate in known.aggregates:
        if aggregate.zone is not None:
            found[aggregate.zone].append(aggregate.uuid)
    return dict(found)


def terms(known: Known, held: Held) -> Terms:
    """The statements about these consumers, given the total amounts that they hold.

    The request of a server is included only if it matches the held amounts: ports, an image or an
    earlier flavor may have added to it.
    """
    ironic = {one.node for one in known.hypervisors.values() if one.is_ironic}
    servers = [server for uuid, server in known.servers.items() if uuid in held]
    ignored = [uuid for uuid in held if uuid in known.migrations]
    ignored += [server.uuid for server in servers if server.node in ironic]
    kinds, others = _kinds([one for one in servers if one.node not in ironic], known, held)
    requests, asked = _named(kinds)
    apart, left_out = _apart(known.groups.apart, held)
    unnamed = sum(map(len, kinds.values())) - sum(map(len, asked.values()))
    grouped = sum(len(one & held.keys()) for one in known.groups.others if len(one) > 1)
    counts = (others, unnamed, left_out, grouped, len(ignored) - CONSUMERS)
    notes = [f'{words}: {n:,}.' for n, words in zip(counts, NOTES, strict=True) if n > 0]
    within = [uuid for uuids in zones(known).values() for uuid in uuids][:LISTS]
    members = {'ignore': ignored[:CONSUMERS], 'within': within, 'apart': apart}
    return Terms(requests, asked, members, notes)


def _kinds(
    servers: Iterable[Server], known: Known, held: Held
) -> tuple[dict[tuple[str, str], list[str]], int]:
    """The servers that asked for the same, by what that is called and its query; and how many
    others hold something else than they asked for."""
    kinds, others = defaultdict[tuple[str, str], list[str]](list), 0
    in_zones = zones(known)
    for server in servers:
        name, query = _asked(server, in_zones, known.is_owned)
        if _totals(query) == held[server.uuid]:
            kinds[name, CandidateRequest(query).text].append(server.uuid)
        else:
            others += 1
    return kinds, others


def _asked(
    server: Server, in_zones: Mapping[str, Sequence[str]], is_owned: bool
) -> tuple[str, Query]:
    """The request of nova for a server, with a name."""
    query = flavors.translate(server.flavor, server.boots_from_volume, is_owned).query
    name = f'servers of {server.flavor.name}'
    name += ' from volume' if server.boots_from_volume else ''
    aggregates = in_zones.get(server.zone or '')
    if aggregates:
        query = [*query, ('member_of', f'in:{",".join(sorted(aggregates))}')]
        name = f'{name} in {server.zone}'
    return name[:NAME], query


def _totals(query: Query) -> Resources:
    """The amounts of all groups of a request together."""
    groups = [value for name, value in query if name.startswith('resources')]
    pairs = [part.split(':') for group in groups for part in group.split(',')]
    return added({name: int(amount)} for name, amount in pairs)


def _named(
    kinds: Mapping[tuple[str, str], list[str]],
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The allowed number of requests with their consumers, most frequent first."""
    requests, asked = dict[str, str](), dict[str, list[str]]()
    ordered = sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    parts = (
        (name, query, uuids[start : start + CONSUMERS])
        for (name, query), uuids in ordered
        for start in range(0, len(uuids), CONSUMERS)
    )
    for name, query, part in itertools.islice(parts, REQUESTS):
        others = sum(each == name or each.startswith(f'{name} (') for each in requests)
        called = f'{name} ({others + 1})' if others else name
        requests[called], asked[called] = query, part
    return requests, asked


def _apart(groups: Iterable[frozenset[str]], held: Held) -> tuple[list[list[str]], int]:
    """The allowed number of groups with a consumer to place, and the number of others."""
    concerned = [sorted(one) for one in groups if len(one) > 1 and not one.isdisjoint(held)]
    found, named = list[list[str]](), set[str]()
    for group in concerned[:LISTS]:
        named.update(group)
        if len(named) > CONSUMERS:
            break
        found.append(group)
    return found, len(concerned) - len(found)
