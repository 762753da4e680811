# SPDX-License-Identifier: Apache-2.0
"""A client that builds trees, and changes all that a provider has."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from placement.tests.region import checker
from placement.tests.region.clients import OWNER, Client, Service
from placement.tests.region.record import Operation, Record

TRAITS = ('HW_CPU_X86_AVX2', 'HW_CPU_X86_SSE', 'STORAGE_DISK_SSD')
AGGREGATES = tuple(str(uuid.uuid5(uuid.NAMESPACE_URL, f'aggregate {n}')) for n in range(3))
# The class of the inventory that is moved to and fro within the tree, and how much of it.
MOVED = 'MEMORY_MB'
ROOM = 100
# How many providers and consumers a tree has at most.
SIZE = 5
# Seconds for which a request may be under way whose client got no answer.
UNDER_WAY = 10
# What a part of a provider shows, with the generation of the provider or without.
Shown = tuple[int | None, Any]


class Builder(Client):
    """Changes the shape, names, traits, aggregates, inventories and allocations of its own tree.

    It reads its providers before and after each write, and compares them with its record.
    """

    def __init__(self, name: str, service: Service, record: Record, seed: int) -> None:
        super().__init__(name, service, record, seed)
        self.own = str(uuid.uuid4())
        #: What each path showed after the last write of it.
        self._known: dict[str, Any] = {}
        self._steps = (
            self._create, self._arrange, self._delete, self._set_traits, self._set_aggregates,
            self._set_inventory, self._claim, self._release, self._reshape,
        )  # fmt: skip

    @property
    def token(self) -> str:
        """The token of a service."""
        return self.service.tokens.service

    def asked(self, service: Service) -> Mapping[str, str]:
        """The balancer, as clients of a region do.

        Those that ask any instance wait for one that listens and still starts, and would soon all
        do so.
        """
        return {'balancer': service.urls['balancer']}

    def work(self) -> None:
        """Change something."""
        self.random.choice(self._steps)()

    def look_again(self) -> None:
        """Read all that it knows of, which must still be so."""
        tree = self._tree()
        for path in list(self._known):
            if path.startswith('/resource_providers/') and path.split('/')[2] not in tree:
                continue
            self._look(path)

    @property
    def _tree_path(self) -> str:
        return f'/resource_providers?in_tree={self.own}'

    def _tree(self) -> dict[str, tuple[str, str | None]]:
        """The name and the parent of each of its providers."""
        _generation, tree = self._look(self._tree_path)
        return dict(tree)

    def _look(self, path: str) -> Shown:
        """Read a path, which must show what it showed before."""
        found = self.read(path)
        value = _essence(found)
        if self._known.setdefault(path, value) != value:
            self.record.violation(f'{path} shows {value}, and showed', self._known[path])
            self._known[path] = value
        return found.get('resource_provider_generation'), value

    def _write(self, kind: str, request: tuple[str, str, Any], after: Mapping[str, Any]) -> None:
        """Send a request after which these paths show this, all of it or none."""
        before = {path: self._look(path) for path in after}
        values = {path: value for path, (_generation, value) in before.items()}
        operation, _found = self.ask(*request, kind, request[1], values, after)
        possible = [after] if operation.is_acknowledged else [values]
        if operation.is_unknown:
            self._wait_for(after)
            possible = [values, after]
        elif not operation.is_acknowledged and operation.status not in (409, 503):
            self.record.violation(f'{kind} is answered {operation.status}', operation.text)
        for path in after:
            del self._known[path]
        now = {path: self._look(path) for path in after}
        found = {path: value for path, (_generation, value) in now.items()}
        if found not in possible:
            self.record.violation(f'{kind} was answered {operation.status}', (found, possible))
        # A provider keeps its generation where allocations are deleted.
        if values != after and request[0] != 'DELETE':
            self._check_generations(operation, before, now)

    def _wait_for(self, after: Mapping[str, Any]) -> None:
        """Wait for a while until paths show this: the request may still be under way."""
        end = self.record.now + UNDER_WAY
        while self.record.now < end:
            if all(_essence(self.read(path)) == value for path, value in after.items()):
                return
            self.record.sleep(1)

    def _check_generations(
        self, of: Operation, before: Mapping[str, Shown], after: Mapping[str, Shown]
    ) -> None:
        for path, (generation, _value) in before.items():
            if not checker.has_grown(generation, after[path][0], of):
                self.record.violation(
                    f'{of.kind} was answered {of.status}', (path, before, after[path])
                )

    def _create(self) -> None:
        tree = self._tree()
        if len(tree) < SIZE:
            child, parent = str(uuid.uuid4()), self.random.choice(list(tree))
            body = {'uuid': child, 'name': child, 'parent_provider_uuid': parent}
            after = {self._tree_path: {**tree, child: (child, parent)}}
            self._write('create', ('POST', '/resource_providers', body), after)

    def _leaf(self) -> str | None:
        """A child without children, and without the inventory that is moved."""
        tree = self._tree()
        parents = {parent for _name, parent in tree.values()}
        leaves = [one for one in tree if one != self.own and one not in parents]
        return self.random.choice([one for one in leaves if one != self._place()] or [None])

    def _arrange(self) -> None:
        """Rename a child, and let it have another parent."""
        leaf, tree = self._leaf(), self._tree()
        if leaf is not None:
            name, parent = (
                str(uuid.uuid4()),
                self.random.choice([one for one in tree if one != leaf]),
            )
            body = {'name': name, 'parent_provider_uuid': parent}
            after = {self._tree_path: {**tree, leaf: (name, parent)}}
            self._write('arrange', ('PUT', f'/resource_providers/{leaf}', body), after)

    def _delete(self) -> None:
        leaf, tree = self._leaf(), self._tree()
        if leaf is not None and len(tree) > SIZE - 2:
            after = {self._tree_path: {one: tree[one] for one in tree if one != leaf}}
            self._write('delete', ('DELETE', f'/resource_providers/{leaf}', None), after)

    def _set_traits(self) -> None:
        self._set('traits', self._some(TRAITS))

    def _set_aggregates(self) -> None:
        self._set('aggregates', self._some(AGGREGATES))

    def _set_inventory(self) -> None:
        provider = self.random.choice(list(self._tree()))
        _generation, known = self._look(f'/resource_providers/{provider}/inventories')
        totals = {**known, 'VCPU': self.random.randint(1, 1000)}
        self._set('inventories', totals, provider)

    def _some(self, names: tuple[str, ...]) -> list[str]:
        return sorted(self.random.sample(names, self.random.randint(0, len(names))))

    def _set(self, part: str, value: Any, provider: str = '') -> None:
        """Set a part of a provider by its generation."""
        path = f'/resource_providers/{provider or self.random.choice(list(self._tree()))}/{part}'
        generation, _known = self._look(path)
        given = _inventories(value) if part == 'inventories' else value
        body = {'resource_provider_generation': generation, part: given}
        self._write(part, ('PUT', path, body), {path: value})

    def _place(self) -> str | None:
        """The provider that has the inventory which is moved."""
        for path, value in self._known.items():
            if path.endswith('/inventories') and MOVED in value:
                return path.split('/')[2]
        return None

    def _held(self) -> tuple[str, dict[str, Any]]:
        """Where consumers hold something, and who."""
        path = f'/resource_providers/{self._place() or self.own}/allocations'
        return path, dict(self._look(path)[1])

    def _claim(self) -> None:
        """Let two consumers at once claim something."""
        place, (path, held) = self._place(), self._held()
        if place and len(held) < SIZE:
            given = {str(uuid.uuid4()): {MOVED: self.random.randint(1, 9)} for _ in range(2)}
            body = {
                consumer: {
                    'allocations': {place: {'resources': resources}},
                    'consumer_generation': None,
                    **OWNER,
                }
                for consumer, resources in given.items()
            }
            self._write('claim of two', ('POST', '/allocations', body), {path: {**held, **given}})

    def _release(self) -> None:
        path, held = self._held()
        if held:
            consumer = self.random.choice(list(held))
            after = {path: {one: held[one] for one in held if one != consumer}}
            self._write('delete of a claim', ('DELETE', f'/allocations/{consumer}', None), after)

    def _reshape(self) -> None:
        """Move an inventory to another provider, with all that is allocated of it."""
        old = self._place()
        others = [one for one in self._tree() if one != old]
        if others:
            self._move(old, self.random.choice(others))

    def _move(self, old: str | None, new: str) -> None:
        _path, held = self._held()
        inventories, after = dict[str, Any](), dict[str, Any]()
        for provider in filter(None, (old, new)):
            base = f'/resource_providers/{provider}'
            generation, totals = self._look(f'{base}/inventories')
            wanted = {name: total for name, total in totals.items() if name != MOVED}
            wanted |= {MOVED: ROOM} if provider == new else {}
            after[f'{base}/inventories'] = wanted
            after[f'{base}/allocations'] = held if provider == new else {}
            inventories[provider] = {
                'resource_provider_generation': generation, 'inventories': _inventories(wanted)
            }  # fmt: skip
        allocations = {consumer: self._moved(consumer, new) for consumer in held}
        body = {'inventories': inventories, 'allocations': allocations}
        self._write('reshape', ('POST', '/reshaper', body), after)

    def _moved(self, consumer: str, new: str) -> dict[str, Any]:
        """What a consumer holds, on another provider."""
        found = self.read(f'/allocations/{consumer}')
        (amounts,) = found['allocations'].values()
        return {
            'allocations': {new: {'resources': amounts['resources']}},
            'consumer_generation': found['consumer_generation'],
            **OWNER,
        }


def _inventories(totals: Mapping[str, int]) -> dict[str, Any]:
    return {name: {'total': total} for name, total in totals.items()}


def _essence(found: Mapping[str, Any]) -> Any:
    """What an answer shows, without generations and links."""
    if 'resource_providers' in found:
        return {
            one['uuid']: (one['name'], one['parent_provider_uuid'])
            for one in found['resource_providers']
        }
    if 'inventories' in found:
        return {name: one['total'] for name, one in found['inventories'].items()}
    if 'allocations' in found:
        return {one: amounts['resources'] for one, amounts in found['allocations'].items()}
    return sorted(found['traits'] if 'traits' in found else found['aggregates'])
