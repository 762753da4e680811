# SPDX-License-Identifier: Apache-2.0
"""The consumers that have to move: all on some hosts, or some servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from osc_lib import exceptions

from osc_placement_insight import providers
from osc_placement_insight.audit.model import Resources, added
from osc_placement_insight.service import Service
from osc_placement_insight.what_if import held

PAGE = ('page_limit', '1000')
#: Number of hosts from which on reading the allocations of the whole cloud is faster.
MANY_HOSTS = 20


class Chosen(NamedTuple):
    """The consumers to move, in the service's format, and the roots to empty, if any."""

    body: Mapping[str, Sequence[str]]
    roots: Sequence[Mapping[str, Any]] = ()

    def held(self, service: Service) -> Mapping[str, Resources]:
        """The amounts that they hold, summed over providers."""
        if not self.roots:
            return {uuid: _held_by(service, uuid) for uuid in self.body['consumers']}
        if len(self.roots) > MANY_HOSTS:
            return held.by_all(service)
        trees = (_providers(service, 'in_tree', root['uuid']) for root in self.roots)
        return held.by_holders_of(service, [one['uuid'] for tree in trees for one in tree])


def choose_hosts(service: Service, wheres: Iterable[Any]) -> Chosen:
    """All that hold something of hosts by uuid or name, or of those in aggregates.

    :raises osc_lib.exceptions.CommandError: there is no such host, or none in an aggregate
    """
    roots = dict[str, Mapping[str, Any]]()
    for where in wheres:
        if isinstance(where, list):
            found = [providers.get_provider(service, name) for name in where]
        else:
            members = _providers(service, 'member_of', where['member_of'])
            found = [one for one in members if one['parent_provider_uuid'] is None]
            if not found:
                raise exceptions.CommandError(f'No host is in aggregate {where["member_of"]}.')
        roots |= {one['uuid']: one for one in found}
    return Chosen({'providers': [*roots]}, [*roots.values()])


def choose_servers(uuids: Iterable[str]) -> Chosen:
    """Some servers."""
    return Chosen({'consumers': [*dict.fromkeys(uuids)]})


def _providers(service: Service, name: str, value: str) -> list[Any]:
    pages = service.pages(providers.PATH, [(name, value), PAGE])
    return [one for page in pages for one in page['providers']]


def _held_by(service: Service, consumer: str) -> Resources:
    allocations = service.ask(f'/allocations/{consumer}')['allocations']
    return added(each['resources'] for each in allocations.values())
