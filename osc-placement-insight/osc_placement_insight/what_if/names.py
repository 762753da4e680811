# SPDX-License-Identifier: Apache-2.0
"""Aggregates, zones, servers and flavors by the names that an operator knows them by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from osc_lib import exceptions

from osc_placement_insight import candidate_request, compute
from osc_placement_insight.compute import Compute, Purpose
from osc_placement_insight.providers import is_uuid

WITHOUT = Purpose('This command', 'What is named by its UUID needs no nova.')


class Names:
    """Finds what nova calls by a name; nova is asked for a kind when the first is looked for.

    Methods raise `osc_lib.exceptions.CommandError` where nova has none of that name, or several,
    or cannot be asked.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def where(self, text: str) -> Any:
        """A host, or what is in an aggregate, whose name begins with @ here."""
        if text.startswith('@'):
            return {'member_of': self.aggregate(text[1:])}
        return [text]

    def aggregate_or_host(self, text: str) -> Any:
        """What is in an aggregate of this uuid or name, else the host of this name."""
        if is_uuid(text) or text in self._aggregates:
            return {'member_of': self.aggregate(text)}
        return [text]

    def aggregate(self, text: str) -> str:
        """The uuid of an aggregate, or of the one that a zone has."""
        if is_uuid(text):
            return text
        found = self._aggregates.get(text, frozenset())
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

    def server(self, text: str) -> str:
        """The uuid of a server."""
        if is_uuid(text):
            return text
        query = {'all_tenants': '1', 'name': f'^{_escaped(text)}$'}
        rows = self._nova.rows('/servers', 'servers', query, lambda doing: None)
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
        """What nova asks for when it schedules a server of a flavor."""
        found = candidate_request.find_flavor(self._manager, flavor)
        return candidate_request.of_flavor(found).text

    @cached_property
    def _nova(self) -> Compute:
        return compute.of_manager(self._manager, WITHOUT)

    @cached_property
    def _aggregates(self) -> Mapping[str, frozenset[str]]:
        """The uuids of aggregates by the names of these and of zones."""
        found: dict[str, set[str]] = defaultdict(set)
        for row in self._nova.ask('/os-aggregates')['aggregates']:
            for name in {row['name'], row['availability_zone'] or row['name']}:
                found[name].add(row['uuid'])
        return {name: frozenset(uuids) for name, uuids in found.items()}


def _escaped(name: str) -> str:
    """A name as a part of a regular expression of the database, which differs by database.

    All that is special in some of them stands for any character; who calls compares the names.
    """
    return ''.join(one if one.isalnum() or one in '-_' else '.' for one in name)
