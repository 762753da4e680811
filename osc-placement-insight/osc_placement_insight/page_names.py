# SPDX-License-Identifier: Apache-2.0
"""Names of what Placement knows by id alone, as Keystone and nova have them, for the page.

They are only read, and with the rights of the user: what these do not suffice for has no names.
"""

from __future__ import annotations

import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from keystoneauth1 import exceptions as keystone
from osc_lib import exceptions

from osc_placement_insight import compute, flavors
from osc_placement_insight.aggregates import list_aggregates
from osc_placement_insight.flavor_list import list_flavors

PURPOSE = compute.Purpose('The page', 'The page shows ids in the place of its names.')
#: Seconds after which the next request reads names again.
KEPT = 600

#: By kind, such as `servers`: names by id, or the queries of flavors by name.
Names = Mapping[str, Mapping[str, str]]
Source = Callable[[], Names]


class PageNames:
    """Names from several sources, which a background thread reads one after the other.

    In large clouds nova takes minutes to list servers; requests do not wait for that.
    """

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._names: dict[str, Mapping[str, str]] = {}
        self._problems: dict[str, str] = {}
        self._is_reading = False
        self._read_at: float | None = None

    def known(self) -> Mapping[str, Any]:
        """The names that are known by now; reading begins with the first call.

        `problems` says by source why it has none, and `complete` whether all were read.
        """
        with self._lock:
            now = time.monotonic()
            is_due = self._read_at is None or now > self._read_at + KEPT
            if is_due and not self._is_reading:
                self._is_reading = True
                threading.Thread(target=self._read, daemon=True).start()
            return {
                **self._names,
                'problems': dict(self._problems),
                'complete': self._read_at is not None,
            }

    def _read(self) -> None:
        try:
            for name, read in self._sources.items():
                self._read_from(name, read)
        finally:
            with self._lock:
                self._is_reading, self._read_at = False, time.monotonic()

    def _read_from(self, name: str, read: Source) -> None:
        found: Names = {}
        problems = {}
        try:
            found = read()
        except exceptions.CommandError as error:
            problems[name] = str(error)
        with self._lock:
            self._names.update(found)
            self._problems.pop(name, None)
            self._problems.update(problems)


def sources(manager: Any, is_owned: Callable[[], bool]) -> Mapping[str, Source]:
    """The sources of names in the cloud of a client, slowest last.

    `is_owned` tells if nova asks for its own providers (`owner`).
    """
    return {
        'aggregates': lambda: _aggregates(compute.of_manager(manager, PURPOSE)),
        'flavors': lambda: _flavors(compute.of_manager(manager, PURPOSE), is_owned()),
        'projects': lambda: _projects(manager),
        'servers': lambda: _servers(compute.of_manager(manager, PURPOSE)),
    }


def _aggregates(nova: compute.Compute) -> Names:
    """The names of aggregates, and of the zones that they are."""
    found = list_aggregates(nova)
    return {
        'aggregates': {one.uuid: one.name for one in found},
        'zones': {one.uuid: one.zone for one in found if one.zone},
    }


def _flavors(nova: compute.Compute, is_owned: bool) -> Names:
    """The queries that nova sends for flavors."""
    return {'flavors': {one.name: _query_of(one, is_owned) for one in list_flavors(nova)}}


def _query_of(flavor: flavors.Flavor, is_owned: bool) -> str:
    return urllib.parse.urlencode(flavors.translate(flavor, is_owned=is_owned).query, safe=':,!')


def _servers(nova: compute.Compute) -> Names:
    query = {'all_tenants': '1', 'sort_key': 'uuid', 'sort_dir': 'asc'}
    rows = nova.rows('/servers', 'servers', query)
    # One whose cell is down has no name.
    return {'servers': {row['id']: row['name'] for row in rows if 'name' in row}}


def _projects(manager: Any) -> Names:
    client = compute.adapter_of(manager, 'identity', min_version='3', max_version='3.latest')
    try:
        rows = client.get('/projects', headers={'Accept': 'application/json'}).json()['projects']
    except (keystone.ClientException, ValueError, LookupError, TypeError) as error:
        raise exceptions.CommandError(f'Keystone does not list projects: {error}') from error
    return {'projects': {row['id']: row['name'] for row in rows}}
