# SPDX-License-Identifier: Apache-2.0
"""The latest changes that may have taken room from a promise, by the history of the service."""

from __future__ import annotations

import datetime
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from osc_lib import exceptions

from osc_placement_insight import refusals
from osc_placement_insight.providers import get_provider
from osc_placement_insight.service import Service

Entry = Mapping[str, Any]

PAGE = ('page_limit', '1000')
#: How far back the history is read, and the maximum number of listed changes.
PERIOD = datetime.timedelta(days=1)
MAX_CHANGES = 3
#: The maximum number of changed providers of which the tree is asked for.
MAX_PROVIDERS = 50


def list_takers(service: Service, request: str) -> list[str]:
    """Describe the latest changes of trees that could serve a request if nothing were used.

    None are known where the history is off, or not for this user.
    """
    since = (datetime.datetime.now(datetime.UTC) - PERIOD).strftime('%Y-%m-%dT%H:%M:%SZ')
    try:
        history = service.ask('/insight/history', [('since', since), PAGE])['history']
    except refusals.Refused:
        return []
    taking = list(_taking(history))
    roots = _list_roots(service, request) if taking else set()
    known: dict[str, Any] = {}
    changes: list[str] = []
    for entry in taking:
        uuid = entry['uuid']
        if uuid not in known and len(known) < MAX_PROVIDERS:
            known[uuid] = _find_provider(service, uuid)
        provider = known.get(uuid)
        if provider is not None and provider['root_provider_uuid'] in roots:
            changes.append(_words(entry, provider['name']))
        if len(changes) == MAX_CHANGES:
            break
    return changes


def _find_provider(service: Service, uuid: str) -> Any:
    """Return a provider, or None if it is gone."""
    try:
        return get_provider(service, uuid)
    except exceptions.CommandError:
        return None


def _list_roots(service: Service, request: str) -> set[str]:
    query = [*urllib.parse.parse_qsl(request), ('by', 'root'), PAGE]
    return {
        tree['root']['uuid']
        for page in service.pages('/insight/capacity', query)
        for tree in page['trees']
        if tree['if_empty']['at_most'] > 0
    }


def _taking(history: list[Entry]) -> Iterator[Entry]:
    """The changes that may have taken room, the latest first, as the history has them."""
    inventories: dict[str, Entry] = {}
    taking = []
    for entry in reversed(history):
        before = inventories.get(entry['uuid'])
        state = entry['state'] or {}
        if 'inventories' in state:
            inventories[entry['uuid']] = state['inventories']
        if entry['kind'] == 'provider' and _may_take(entry, before):
            taking.append(entry)
    return reversed(taking)


def _may_take(entry: Entry, before: Entry | None) -> bool:
    """True if a change of a provider did more than give back, or than grow."""
    state = entry['state']
    if state is None:
        return True
    if 'allocations' in state:
        return any(one['resources'] for one in state['allocations'].values())
    if 'inventories' not in state:
        return 'traits' in state or 'aggregates' in state
    if before is None:
        return True
    after = state['inventories']
    return any(_room(after.get(name)) < _room(had) for name, had in before.items())


def _room(inventory: Entry | None) -> float:
    if inventory is None:
        return 0
    room: float = (inventory['total'] - inventory['reserved']) * inventory['allocation_ratio']
    return room


def _words(entry: Entry, name: str) -> str:
    caller = entry['caller'] or {}
    who = caller.get('user_name') or caller.get('user_id') or 'nobody'
    return f'{entry["at"]} {entry["action"]} of {name} by {who}'
