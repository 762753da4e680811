# SPDX-License-Identifier: Apache-2.0
"""Clouds and queries for the tests of the search, in a few words.

Providers are named, and the name is their uuid: a cloud is a list of `provider(...)`, a query is
written as a client writes it.
"""

import random
from collections.abc import Iterator, Mapping
from urllib import parse as urlparse

from placement.search.candidates import Result, find_candidates
from placement.search.model.provider import InventoryRow, ProviderRow
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.search.model.snapshot import Snapshot

SHARING = 'MISC_SHARES_VIA_AGGREGATE'


def provider(
    name: str,
    parent: str | None = None,
    traits: str = '',
    aggregates: str = '',
    **inventories: int | Mapping[str, float],
) -> dict[str, object]:
    """A provider; an inventory is a total, or a dict of what is out of the ordinary."""
    return {
        'name': name,
        'parent': parent,
        'traits': traits.split(),
        'aggregates': aggregates.split(),
        'inventories': {
            name: InventoryRow(**({'total': given} if isinstance(given, int) else given))
            for name, given in inventories.items()
        },
    }


def rows_of(*providers: dict) -> Iterator[ProviderRow]:
    """Rows for these providers, numbered in turn; a parent has to come before its children."""
    ids: dict[str, int] = {}
    roots: dict[str, int] = {}
    for number, given in enumerate(providers, 1):
        name, parent = given['name'], given['parent']
        ids[name] = number
        roots[name] = roots[parent] if parent else number
        yield ProviderRow(
            number,
            name,
            ids[parent] if parent else None,
            roots[name],
            given['inventories'],
            given['traits'],
            given['aggregates'],
        )


def cloud(*providers: dict) -> Snapshot:
    """A snapshot of these providers."""
    return Snapshot.of(rows_of(*providers))


def rows_in(snapshot: Snapshot) -> dict[int, ProviderRow]:
    """The row of each provider, by id."""
    return {one.id: one.as_row() for one in snapshot}


def contents(snapshot: Snapshot) -> tuple[object, ...]:
    """All that makes snapshots equal: the rows in order, and who shares in which aggregate."""
    return list(rows_in(snapshot).values()), snapshot.indexes.sharing


def parse(query: str, **options: object) -> CandidateRequest:
    """The request that a well-formed query stands for."""
    groups: dict[str, dict] = {}
    settings: dict = {'same_subtree': ()}
    for key, value in urlparse.parse_qsl(query, strict_parsing=True):
        if key == 'group_policy':
            settings['isolate'] = value == 'isolate'
        elif key == 'limit':
            settings['limit'] = int(value)
        elif key == 'same_subtree':
            settings['same_subtree'] += (frozenset(value.split(',')),)
        elif key == 'root_required':
            wanted, barred = _signed(value.split(','))
            settings |= {'root_required': frozenset(wanted), 'root_forbidden': frozenset(barred)}
        else:
            _add_to_group(groups, key, value)
    parsed = tuple(RequestGroup(suffix=suffix, **given) for suffix, given in groups.items())
    return CandidateRequest(parsed, **(settings | options))


def _add_to_group(groups: dict[str, dict], key: str, value: str) -> None:
    words = ('resources', 'required', 'member_of', 'in_tree')
    word = next(word for word in words if key.startswith(word))
    group = groups.setdefault(key.removeprefix(word), {})
    if word == 'resources':
        pairs = (item.split(':') for item in value.split(','))
        group['resources'] = {name: int(amount) for name, amount in pairs}
    elif word == 'in_tree':
        group['in_tree'] = value
    else:
        barring = {'required': 'forbidden', 'member_of': 'forbidden_aggregates'}[word]
        wanted, barred = _alternatives(word, value)
        group[word] = group.get(word, ()) + wanted
        group[barring] = group.get(barring, frozenset()) | barred


def _alternatives(word: str, value: str) -> tuple[tuple[frozenset[str], ...], frozenset[str]]:
    if value.startswith('in:'):
        return (frozenset(value[3:].split(',')),), frozenset()
    if word == 'member_of' and value.startswith('!'):
        return (), frozenset(value.removeprefix('!').removeprefix('in:').split(','))
    wanted, barred = _signed(value.split(','))
    return tuple(frozenset([name]) for name in wanted), frozenset(barred)


def _signed(names: list[str]) -> tuple[list[str], list[str]]:
    wanted = [name for name in names if not name.startswith('!')]
    return wanted, [name[1:] for name in names if name.startswith('!')]


def search(snapshot: Snapshot, query: str, **options: object) -> Result:
    """The result of a query."""
    return find_candidates(snapshot, parse(query, **options), random.Random(7))


def who(result: Result) -> list[str]:
    """The providers that give something, a word for each candidate, in order of the alphabet."""
    return sorted(
        '+'.join(sorted(given.uuid for given in candidate.allocations))
        for candidate in result.candidates
    )


def mapped(result: Result) -> list[dict[str, list[str]]]:
    """The providers of each group, for each candidate."""
    return [
        {suffix: sorted(one.uuid for one in ones) for suffix, ones in candidate.mappings.items()}
        for candidate in result.candidates
    ]
