# SPDX-License-Identifier: Apache-2.0
"""This service and upstream, side by side, answer a random workload with the same.

What may differ is named by the page about coming from upstream, and by the specification.
"""

import collections
import contextlib
import dataclasses
import json
import random
import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from placement.tests.databases.test_upgrade import OURS, UPSTREAM, manage, serving
from placement.tests.functional.fixtures import databases
from placement.tests.functional.fixtures.client import Answer, Sender
from placement.tests.functional.fixtures.clouds import uuid_of
from placement.tests.functional.fixtures.freshness_workload import (
    AGGREGATES,
    CLASSES,
    CONSUMERS,
    PROVIDERS,
    TRAITS,
    Workload,
)
from placement.tests.functional.fixtures.valid_requests import NEWEST
from placement.tests.functional.known_differences import Read, differences
from placement.tests.thorough import examples

# At least, and at most: more, until each kind of change has succeeded.
STEPS, MOST_STEPS = examples(600), 1500
# Searches and other reads after each step of the workload.
READS = 4

OF_PROVIDER = ('', *(f'/{name}' for name in (
    'inventories', 'inventories/VCPU', 'aggregates', 'traits', 'usages', 'allocations',
)))  # fmt: skip


class Reads:
    """Requests that read what a workload writes, at random."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def path(self) -> str:
        """The path of one request."""
        choose = self._chance.choice
        provider = uuid_of(choose(PROVIDERS))
        return choose([
            f'/resource_providers/{provider}{choose(OF_PROVIDER)}',
            f'/resource_providers?{self._filters()}',
            f'/allocations/{choose(CONSUMERS)}',
            '/usages?project_id=project' + choose(['', '&user_id=user', '&consumer_type=all']),
            '/traits?name=startswith:CUSTOM' + choose(['', '&associated=true']),
            f'/traits/{choose(TRAITS)}',
            '/resource_classes',
            f'/resource_classes/{choose(CLASSES)}',
            *[f'/allocation_candidates?{self._search()}'] * 8,
        ])  # fmt: skip

    def _filters(self, suffix: str = '') -> str:
        """Random filters for a list of providers, or for a group of a search."""
        choose, some = self._chance.choice, self._some
        filters = {
            'required': [choose(TRAITS), '!' + choose(TRAITS), some(TRAITS), 'in:' + some(TRAITS)],
            'member_of': [choose(AGGREGATES), '!' + choose(AGGREGATES), 'in:' + some(AGGREGATES)],
            'in_tree': [uuid_of(choose(PROVIDERS))],
        }
        names = self._chance.sample([*filters], choose([0, 0, 1, 1, 2]))
        return '&'.join(f'{name}{suffix}={choose(filters[name])}' for name in names)

    def _search(self) -> str:
        # Upstream combines the unsuffixed group with others wrongly (specification:
        # allocation_candidates, "Differences from upstream").
        parameters = ['group_policy=' + self._chance.choice(['none', 'isolate'])]
        for suffix in self._chance.choice([[''], ['1'], ['1', '_B']]):
            classes = self._chance.sample(CLASSES, self._chance.choice([1, 1, 2]))
            amounts = [f'{name}:{self._chance.choice([1, 2, 4])}' for name in classes]
            parameters += [f'resources{suffix}={",".join(amounts)}', self._filters(suffix)]
        return '&'.join(filter(None, parameters))

    def _some(self, names: Sequence[str]) -> str:
        return ','.join(self._chance.sample(names, 2))


class Both:
    """Sends each request to both services; an answer is ours after it was compared."""

    def __init__(self, ours: Sender, theirs: Sender, chance: random.Random) -> None:
        self._ours, self._theirs = ours, theirs
        self._chance = chance
        #: How many answers upstream gave, by method and status.
        self.answers: collections.Counter[tuple[str, int]] = collections.Counter()
        #: The consumers as upstream knows them: one whose claim it refuses stays there.
        self._theirs_of = {consumer: consumer for consumer in CONSUMERS}

    def send(self, method: str, path: str, body: Any = None, version: str | None = None) -> Answer:
        """Our answer; a change may be asked for in another version before."""
        if method != 'GET' and self._chance.random() < 0.3:
            self._send(method, path, body, f'1.{self._chance.randint(0, NEWEST)}')
        return self._send(method, path, body, version)

    def _send(self, method: str, path: str, body: Any, version: str | None) -> Answer:
        ours = self._ours.send(method, path, body, version)
        asked = self._renamed(json.dumps([path, body]), self._theirs_of)
        known_path, known_body = json.loads(asked)
        theirs = self._theirs.send(method, known_path, known_body, version)
        self.answers[method, theirs.status] += 1
        text = self._renamed(theirs.text, {new: old for old, new in self._theirs_of.items()})
        theirs = dataclasses.replace(theirs, body=text.encode())
        if not Read(path, NEWEST, ours, theirs).names_unknown():
            found = [*differences(method, ours, theirs)]
            assert not found, f'{method} {path} {version} {body}: {found}'
        if method != 'GET':
            self._leave_behind()
        return ours

    def _leave_behind(self) -> None:
        """Give other uuids to the consumers of which upstream may know only the generation."""
        for consumer, known in self._theirs_of.items():
            if not self._theirs.send('GET', f'/allocations/{known}').json['allocations']:
                self._theirs_of[consumer] = str(uuid.UUID(int=self._chance.getrandbits(128)))

    @staticmethod
    def _renamed(text: str, names: dict[str, str]) -> str:
        return re.sub('|'.join(names), lambda found: names[found[0]], text)


@contextlib.contextmanager
def both(seed: int) -> Iterator[Both]:
    """A sender to both services, each with an empty database."""
    with contextlib.ExitStack() as stack:
        clients = []
        for python in (OURS, UPSTREAM):
            database = databases.create_empty('')
            stack.callback(database.drop)
            assert manage(python, database.url, 'db', 'sync') == 0
            clients.append(stack.enter_context(serving(python, database.url)))
        yield Both(clients[0], clients[1], random.Random(seed))


def test_a_random_workload_is_answered_as_by_upstream() -> None:
    with both(seed=1) as sender:
        workload, reads, chance = Workload(sender, 1), Reads(random.Random(1)), random.Random(1)
        for number in range(MOST_STEPS):
            workload.step()
            for _ in range(READS):
                sender.send('GET', reads.path(), version=f'1.{chance.randint(0, NEWEST)}')
            if number >= STEPS and not workload.undone():
                break
        print(dict(sender.answers))
        assert not workload.undone()
