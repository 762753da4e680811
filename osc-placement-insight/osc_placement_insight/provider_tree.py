# SPDX-License-Identifier: Apache-2.0
"""One provider tree as text, as a graph and as rows."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from osc_placement_insight.layout import counted, wrapped

Provider = Mapping[str, Any]

COLUMNS = (
    'provider',
    'parent',
    'resource_class',
    'used',
    'capacity',
    'total',
    'reserved',
    'allocation_ratio',
)
SHARING = 'MISC_SHARES_VIA_AGGREGATE'
#: Traits of no one model or site that are shown nevertheless; a host has a hundred others.
NOTABLE = frozenset({'COMPUTE_STATUS_DISABLED', 'HW_NUMA_ROOT', SHARING})
CUSTOM = 'CUSTOM_'

#: The width of a bar, and the column in which each begins.
BAR = 10
BAR_COLUMN = 30
FULL, EMPTY, OVER = '█', '░', '▓'
#: What a terminal shows that knows only ASCII.
ASCII = str.maketrans('├└│─█░▓', '+`|-#.!')


class Drawing(NamedTuple):
    """The prefixes of the lines of a provider, of its descendants, and between siblings."""

    branch: str
    last: str
    through: str
    space: str = '   '


LINES = Drawing('├─ ', '└─ ', '│  ')


class Tree(NamedTuple):
    """The providers of a tree, and the sharing providers that it reaches by aggregates."""

    providers: Sequence[Provider]
    sharing: Sequence[Provider]

    def answer(self) -> dict[str, Any]:
        """All of it, as the service gave it."""
        return {'providers': [*self.providers], 'sharing_providers': [*self.sharing]}

    def children(self, parent: str | None) -> list[Provider]:
        """The providers right below one, by name; the root below None."""
        found = [one for one in self.providers if one['parent_provider_uuid'] == parent]
        return sorted(found, key=lambda one: _natural(one['name']))

    def walk(self, parent: str | None = None) -> Iterator[Provider]:
        """The providers below one, each before those below it; all of them below None."""
        for child in self.children(parent):
            yield child
            yield from self.walk(child['uuid'])


def _natural(name: str) -> list[tuple[int, str]]:
    """A key by which node10 comes after node9."""
    return [
        (int(part), '') if part.isdecimal() else (-1, part) for part in re.split(r'(\d+)', name)
    ]


def capacity(inventory: Mapping[str, Any]) -> int:
    """The total amount of a class that consumers may hold."""
    return int((inventory['total'] - inventory['reserved']) * inventory['allocation_ratio'])


def rows(tree: Tree) -> Iterator[tuple[Any, ...]]:
    """A row for each inventory, with `COLUMNS`; a provider without any has one row."""
    names = {one['uuid']: one['name'] for one in tree.providers}
    for one in (*tree.walk(), *tree.sharing):
        parent = names.get(one['parent_provider_uuid'])
        for name, inventory in sorted(one['inventories'].items()) or [(None, None)]:
            yield (one['name'], parent, name, *_numbers(one, name, inventory))


def _numbers(provider: Provider, name: str | None, inventory: Any) -> tuple[Any, ...]:
    if inventory is None:
        return (None,) * 5
    numbers = (inventory[key] for key in ('total', 'reserved', 'allocation_ratio'))
    return (provider['usages'].get(name, 0), capacity(inventory), *numbers)


def lines(tree: Tree, all_traits: bool = False, one_by_one: bool = False) -> Iterator[str]:
    """The tree for a terminal: what each provider has, and how much of it is used.

    Leaves that differ by nothing but their names are drawn once, unless `one_by_one`. Of the
    traits only those that tell this host from others are named, unless `all_traits`.
    """
    (root,) = tree.children(None)
    yield from wrapped(f'{root["name"]}  {root["uuid"]}  generation {root["generation"]}')
    yield from _facts(root, _stem(tree, root), all_traits)
    yield from _lines_below(tree, root, '', all_traits, one_by_one)
    for provider in sorted(tree.sharing, key=lambda one: _natural(one['name'])):
        yield ''
        yield from wrapped(f'shares with it: {provider["name"]}')
        yield from _facts(provider, LINES.space, all_traits)


def _lines_below(
    tree: Tree, parent: Provider, margin: str, all_traits: bool, one_by_one: bool
) -> Iterator[str]:
    groups = _alike(tree, tree.children(parent['uuid']), one_by_one)
    for position, group in enumerate(groups):
        is_last = position == len(groups) - 1
        below = margin + (LINES.space if is_last else LINES.through)
        head = margin + (LINES.last if is_last else LINES.branch)
        yield from wrapped(_title(group), head, below)
        yield from _facts(group[0], f'{below}{_stem(tree, group[0])}', all_traits)
        yield from _lines_below(tree, group[0], below, all_traits, one_by_one)


def _stem(tree: Tree, provider: Provider) -> str:
    """The line from a provider down to its children, in front of its own facts."""
    return LINES.through if tree.children(provider['uuid']) else LINES.space


def _alike(tree: Tree, siblings: list[Provider], one_by_one: bool) -> list[list[Provider]]:
    """The siblings; leaves that follow each other and differ by their names alone together."""
    if one_by_one:
        return [[one] for one in siblings]

    def key(provider: Provider) -> str:
        if tree.children(provider['uuid']):
            return str(provider['uuid'])
        facts = ('inventories', 'usages', 'traits', 'aggregates')
        return json.dumps([provider[name] for name in facts], sort_keys=True)

    return [list(group) for _, group in itertools.groupby(siblings, key)]


def _title(group: Sequence[Provider]) -> str:
    first, last = group[0]['name'], group[-1]['name']
    return first if len(group) == 1 else f'{first} to {last} ({len(group)} alike)'


def _facts(provider: Provider, margin: str, all_traits: bool) -> Iterator[str]:
    """A line for each inventory, the traits, and the aggregates."""
    for name, inventory in sorted(provider['inventories'].items()):
        used = provider['usages'].get(name, 0)
        yield from _wrapped_within(_inventory(name, inventory, used, len(margin)), margin)
    traits = [*_traits(provider['traits'], all_traits)]
    if traits:
        yield from _wrapped_within(f'traits: {", ".join(traits)}', margin)
    if provider['aggregates']:
        yield from _wrapped_within(f'aggregates: {", ".join(provider["aggregates"])}', margin)


def _wrapped_within(text: str, margin: str) -> list[str]:
    return wrapped(text, margin, f'{margin}  ')


def _inventory(name: str, inventory: Mapping[str, Any], used: int, column: int) -> str:
    """One line, which begins in a column: `VCPU  █████░░░░░  12 of 24, 4 reserved`."""
    most = capacity(inventory)
    words = f'{used:,} of {most:,}'
    if inventory['reserved']:
        words += f', {inventory["reserved"]:,} reserved'
    if used > most:
        words += f', {used - most:,} too many'
    return f'{name:{BAR_COLUMN - column}} {_bar(used, most)} {words}'


def _bar(used: int, most: int) -> str:
    """A bar of the usage: at least one cell if anything is used, and full only if all is."""
    if used > most:
        return OVER * BAR
    cells = 0 if not used else max(1, min(BAR, used * BAR // most))
    return FULL * cells + EMPTY * (BAR - cells)


def _traits(names: Iterable[str], all_traits: bool) -> Iterator[str]:
    """The names that are shown, and how many are not."""
    known = sorted(names)
    shown = [one for one in known if all_traits or one in NOTABLE or one.startswith(CUSTOM)]
    yield from shown
    if len(known) > len(shown):
        yield f'{counted(len(known) - len(shown), "other")} (--traits)'


def dot(tree: Tree) -> Iterator[str]:
    """The tree as a graph in the language of Graphviz; dashed lines lead to sharing providers."""
    yield 'digraph {'
    yield '  node [shape=box, fontname="sans-serif"];'
    for one in (*tree.providers, *tree.sharing):
        yield f'  {_quoted(one["uuid"])} [label={_quoted(_label(one))}];'
    for one in tree.providers:
        if one['parent_provider_uuid']:
            yield f'  {_quoted(one["parent_provider_uuid"])} -> {_quoted(one["uuid"])};'
    for one, other in _shared(tree):
        yield f'  {_quoted(one["uuid"])} -> {_quoted(other["uuid"])} [style=dashed];'
    yield '}'


def _shared(tree: Tree) -> Iterator[tuple[Provider, Provider]]:
    """Each provider of the tree with each that shares an aggregate with it."""
    for one, other in itertools.product(tree.providers, tree.sharing):
        if not {*one['aggregates']}.isdisjoint(other['aggregates']):
            yield one, other


def _label(provider: Provider) -> str:
    amounts = (
        f'{name}: {provider["usages"].get(name, 0)} of {capacity(inventory)}'
        for name, inventory in sorted(provider['inventories'].items())
    )
    return '\n'.join([provider['name'], *amounts])


def _quoted(text: str) -> str:
    """A string of Graphviz, in which only quotes and backslashes are special."""
    escaped = text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')
    return f'"{escaped}"'
