# SPDX-License-Identifier: Apache-2.0
"""Rows of the history as text (specification: insight, "GET /insight/history")."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from osc_placement_insight.layout import wrapped

Entry = Mapping[str, Any]

COLUMNS = (
    'at',
    'action',
    'kind',
    'uuid',
    'project_id',
    'user_id',
    'generation',
    'caller',
    'global_request_id',
    'request_id',
    'state',
)
INDENT = '  '


def row(entry: Entry) -> list[Any]:
    """The values of `COLUMNS`."""
    return [entry[name] for name in COLUMNS]


def lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Each request, and below it the objects that it changed, with their new states."""
    for _, rows in itertools.groupby(entries, lambda entry: entry['request_id']):
        first, *others = rows
        yield from _request(first)
        for entry in (first, *others):
            yield from _subject(entry)


def _request(entry: Entry) -> Iterator[str]:
    yield from wrapped(f'{entry["at"]}  {entry["action"]}{_by(entry["caller"])}')
    if entry['global_request_id']:
        yield from wrapped(f'request {entry["global_request_id"]}', INDENT)
    yield from wrapped(f'in the log of the service {entry["request_id"]}', INDENT)


def _by(caller: Mapping[str, Any] | None) -> str:
    """The sender of the request; a command of the operator has none."""
    name = caller and (caller['user_name'] or caller['user_id'])
    return f'  by {name} of project {caller["project_id"]}' if caller and name else ''


def _subject(entry: Entry) -> Iterator[str]:
    """The provider, consumer, resource class or trait, its owner, and its state."""
    words = [entry['kind'].replace('_', ' '), entry['uuid'] or (entry['state'] or {}).get('name')]
    if entry['project_id']:
        words.append(f'(project {entry["project_id"]}, user {entry["user_id"]})')
    yield from wrapped(' '.join(filter(None, words)), INDENT, INDENT * 3)
    for line in _state(entry['state']):
        yield from wrapped(line, INDENT * 2, INDENT * 4)


def _state(state: Mapping[str, Any] | None) -> Iterator[str]:
    if state is None:
        yield 'is gone'
        return
    for name, value in state.items():
        yield from _allocations(value) if name == 'allocations' else _member(name, value)


def _allocations(allocations: Mapping[str, Entry]) -> Iterator[str]:
    """The allocations of a consumer by provider, or of a provider by consumer."""
    for uuid, one in allocations.items():
        amounts = (f'{name} {amount}' for name, amount in one.get('resources', {}).items())
        yield f'{uuid}: {", ".join(amounts) or "nothing any more"}'
    if not allocations:
        yield 'holds nothing any more'


def _member(name: str, value: Any) -> Iterator[str]:
    if name == 'inventories':
        yield from (f'{one}: {_settings(inventory)}' for one, inventory in value.items())
    elif isinstance(value, list):
        yield f'{name}: {", ".join(value) or "none"}'
    elif value is not None:
        yield f'{name}: {value}'


def _settings(inventory: Mapping[str, Any]) -> str:
    return ', '.join(f'{name} {value}' for name, value in inventory.items())
