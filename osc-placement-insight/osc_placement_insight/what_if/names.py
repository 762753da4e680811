# SPDX-License-Identifier: Apache-2.0
"""Aggregates, zones, servers and flavors by the names that an operator knows them by.

Names of aggregates that the service has, from `[metrics] aggregate_names_file`, need no nova.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from osc_lib import exceptions

from osc_placement_insight import candidate_request, compute, owner
from osc_placement_insight.aggregates import list_aggregates
from osc_placement_insight.compute import Compute, Purpose
from osc_placement_insight.providers import is_uuid
from osc_placement_insight.refusals import Refused
from osc_placement_insight.service import Service

NAMES = '/insight/names'

WITHOUT = Purpose('This command', 'What is named by its UUID needs no nova.')


class Names:
    """Finds what the service or nova call by a name, which they are asked for when it is needed.

    The service is asked first. Methods raise `osc_lib.exceptions.CommandError` where neither has
    the name, where one has it several times, or where nova cannot be asked.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def where(self, text: str) -> Any:
        """A host, or what is in an aggregate, whose name begins with @ here."""
        if text.startswith('@'):
            return {'member_of': self.aggregate(text[1:])}
        return [text]

    def aggregate_or_host(self, text: str) -> Any:
        """The filter for an aggregate with this uuid or name, else for the host of this name."""
        if is_uuid(text) or text in self._named or text in self._aggregates:
            return {'member_of': self.aggregate(text)}
        return [text]

    def aggregate(self, text: str) -> str:
        """The uuid of an aggregate, or of the one that a zone has."""
        if is_uuid(text):
            return text
        found = self._named.get(text) or self._aggregates.get(text, frozenset())
        if len(found) == 1:
            (uuid,) = found
            return uuid
        if found:
            raise exceptions.CommandError(
                f'There are {len(found)} aggregates in zone {text}: {", ".join(sorted(found))}. '
                'Name one of them.'
            )
        raise exceptions.CommandError(
            f'nova has no aggregate or zone {text}. List them with "openstack aggregate list '
            '--long".'
        )

    def zones(self) -> Mapping[str, frozenset[str]]:
        """The uuids of the aggregates to which the service gives names, by these."""
        return self._named

    def server(self, text: str) -> str:
        """The uuid of a server."""
        if is_uuid(text):
            return text
        query = {'all_tenants': '1', 'name': f'^{_escaped(text)}$'}
        rows = self._nova.rows('/servers', 'servers', query)
        uuids = [row['id'] for row in rows if row.get('name') == text]
        if len(uuids) == 1:
            return str(uuids[0])
        if uuids:
            raise exceptions.CommandError(
                f'There are {len(uuids)} servers of the name {text}: {", ".join(uuids)}. '
                'Name one by its UUID.'
            )
        raise exceptions.CommandError(f'nova has no server {text}.')

    def query(self, flavor: str) -> str:
        """The query of nova for a server of a flavor."""
        found = candidate_request.find_flavor(self._manager, flavor)
        is_owned = owner.is_required(Service(self._manager.placement))
        return candidate_request.of_flavor(found, False, is_owned).text

    @cached_property
    def _nova(self) -> Compute:
        return compute.of_manager(self._manager, WITHOUT)

    @cached_property
    def _named(self) -> Mapping[str, frozenset[str]]:
        """Empty where the service gives no names, or not to this user."""
        try:
            names = Service(self._manager.placement).ask(NAMES)['aggregates']
        except Refused:
            return {}
        found: dict[str, set[str]] = defaultdict(set)
        for uuid, name in names.items():
            found[name].add(uuid)
        return {name: frozenset(uuids) for name, uuids in found.items()}

    @cached_property
    def _aggregates(self) -> Mapping[str, frozenset[str]]:
        """The uuids of aggregates by the names of these and of zones."""
        found: dict[str, set[str]] = defaultdict(set)
        for aggregate in list_aggregates(self._nova):
            for name in {aggregate.name, aggregate.zone or aggregate.name}:
                found[name].add(aggregate.uuid)
        return {name: frozenset(uuids) for name, uuids in found.items()}


def _escaped(name: str) -> str:
    """A name as a part of a regular expression of the database, which differs by database.

    All that is special in some of them stands for any character; who calls compares the names.
    """
    return ''.join(one if one.isalnum() or one in '-_' else '.' for one in name)
