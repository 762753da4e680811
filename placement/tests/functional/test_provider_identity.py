# SPDX-License-Identifier: Apache-2.0
"""A provider is given another uuid while everybody works on it, and nothing is lost.

Specification: commands, "provider set-uuid".
"""

import collections
import concurrent.futures
import http.client
import itertools
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement import deploy, errors
from placement.cmd import manage
from placement.cmd.provider_identity import ACTION
from placement.microversions import NEWEST
from placement.objects import provider_identity

from .fixtures import applications, clouds, follower, workers
from .fixtures.client import Answer
from .fixtures.clouds import uuid_of
from .fixtures.follower import Follower
from .fixtures.history_replay import Replay, rows_of, shown_by
from .fixtures.workload import HttpClient

OLD, NEW, CHILD = uuid_of('host'), uuid_of('another host'), uuid_of('child')

WORKERS = 3
CLAIMANTS = 3

# More than all of them claim, however long it takes.
CAPACITY = 1_000_000

# Seconds between what one does and the next thing: each claim gives the provider another
# generation, and an agent has to read and write it in between.
AGENT_PAUSE, CLAIMANT_PAUSE = 0.01, 0.1

# How much each client has done at least before the change, and after it.
DONE_BEFORE = 5
DONE_AFTER = 5

# How many statements the command has at least, with the COMMIT.
MIN_STEPS = 5

# Number of races of two changes for one uuid.
ROUNDS = 10


class Agent:
    """Repeatedly reports a larger inventory of the provider with one uuid."""

    pause = AGENT_PAUSE

    def __init__(self, port: int, provider: str) -> None:
        self.client = HttpClient(port)
        self.path = f'/resource_providers/{provider}'
        #: The totals that were acknowledged, by the generation that they left the provider with.
        self.written: dict[int, int] = {}
        self.answers: collections.Counter[int] = collections.Counter()

    def work(self) -> None:
        """Read the provider, and report its inventories."""
        shown = self.client.send('GET', self.path, version=NEWEST)
        self.answers[shown.status] += 1
        if shown.status != 200:
            return
        total = CAPACITY + len(self.written)
        body = {
            'inventories': {'VCPU': {'total': total}},
            'resource_provider_generation': shown.json['generation'],
        }
        answer = self.client.send('PUT', f'{self.path}/inventories', body, version=NEWEST)
        self.answers[answer.status] += 1
        if answer.status == 200:
            generation = answer.json['resource_provider_generation']
            assert generation not in self.written
            self.written[generation] = total

    @property
    def done(self) -> int:
        return len(self.written)


class Claimant:
    """Claims for new consumers on whichever provider exists, and releases every third."""

    pause = CLAIMANT_PAUSE

    def __init__(self, port: int) -> None:
        self.client = HttpClient(port)
        #: The amounts that were acknowledged, by consumer.
        self.held: dict[str, int] = {}
        self.providers = itertools.cycle((OLD, NEW))
        self.provider = next(self.providers)
        self.released: list[str] = []
        self.done = 0

    def work(self) -> None:
        """Claim, or release the last claim."""
        if self.done % 3 == 2:
            self._release(next(iter(self.held)))
        else:
            self._claim(str(uuid.uuid4()), 1 + self.done % 4)

    def _claim(self, consumer: str, amount: int) -> None:
        body = clouds.claim({self.provider: {'VCPU': amount}})
        answer = self.client.send('PUT', f'/allocations/{consumer}', body, version=NEWEST)
        if answer.status == 204:
            self.held[consumer] = amount
            self.done += 1
            return
        assert answer.status == 400, answer.text
        assert f"'{self.provider}' that does not exist" in answer.text
        self.provider = next(self.providers)

    def _release(self, consumer: str) -> None:
        answer = self.client.send('DELETE', f'/allocations/{consumer}', version=NEWEST)
        assert answer.status == 204, answer.text
        del self.held[consumer]
        self.released.append(consumer)
        self.done += 1


Party = Agent | Claimant


def work_until(
    parties: list[Party], stop: threading.Event
) -> list[concurrent.futures.Future[None]]:
    """Run each worker in a thread of its own until `stop` is set."""

    def work(party: Party) -> None:
        while not stop.wait(party.pause):
            party.work()
        party.client.close()

    pool = concurrent.futures.ThreadPoolExecutor(len(parties))
    return [pool.submit(work, party) for party in parties]


def wait_until_done(
    parties: list[Party], more: int, futures: list[concurrent.futures.Future[None]]
) -> None:
    """Wait until each worker has done a number of further steps; raises the error of one."""
    wanted = [party.done + more for party in parties]
    while any(party.done < enough for party, enough in zip(parties, wanted, strict=True)):
        ended = concurrent.futures.wait(futures, 0.02).done
        for future in ended:
            future.result()


OPTIONS = {'OS_HISTORY__ENABLED': 'true'}


@pytest.fixture
def port(url: str) -> Iterator[int]:
    """The port of several workers on the database of the URL."""
    with workers.running(url, WORKERS, options=OPTIONS) as running:
        yield running.port


def set_uuid(url: str, directory: pathlib.Path) -> None:
    """Run the command as an operator does."""
    command = [sys.executable, '-m', manage.__name__, 'provider', 'set-uuid', OLD, NEW, '--yes']
    environ = workers.environ(url, directory) | OPTIONS
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    # Shown when a test fails: the command logs why it wrote no history.
    print(done.stderr)


def searched(port: int) -> Answer:
    """The answer of one of the workers to a search."""
    client = HttpClient(port)
    answer = client.send('GET', '/allocation_candidates?resources=VCPU:1', version=NEWEST)
    client.close()
    assert answer.status == 200, answer.text
    return answer


def test_nothing_is_lost_while_agents_of_both_uuids_and_claimants_write(
    url: str, port: int, tmp_path: pathlib.Path
) -> None:
    client = HttpClient(port)
    clouds.build((clouds.Provider('host', {'VCPU': CAPACITY}),), client)
    child = {'name': 'child', 'uuid': CHILD, 'parent_provider_uuid': OLD}
    assert client.send('POST', '/resource_providers', child, NEWEST).status == 200
    for _ in range(4 * WORKERS):
        assert OLD in searched(port).json['provider_summaries']
    old_agent, new_agent = Agent(port, OLD), Agent(port, NEW)
    claimants = [Claimant(port) for _ in range(CLAIMANTS)]
    watching = Follower(client)
    stop = threading.Event()
    parties: list[Party] = [old_agent, new_agent, *claimants]
    futures = work_until(parties, stop)
    try:
        wait_until_done([old_agent, *claimants], DONE_BEFORE, futures)
        set_uuid(url, tmp_path)
        for _ in range(8 * WORKERS):
            summaries = searched(port).json['provider_summaries']
            assert {uuid: one['parent_provider_uuid'] for uuid, one in summaries.items()} == {
                NEW: None,
                CHILD: NEW,
            }
            assert {one['root_provider_uuid'] for one in summaries.values()} == {NEW}
        wait_until_done([new_agent, *claimants], DONE_AFTER, futures)
    finally:
        stop.set()
        concurrent.futures.wait(futures)
    for future in futures:
        future.result()

    # Who writes by the former uuid is told that there is none.
    assert old_agent.answers[404]
    assert old_agent.answers.keys() | new_agent.answers.keys() <= {200, 404, 409}
    assert max(old_agent.written) < min(new_agent.written)
    held = {uuid: amount for one in claimants for uuid, amount in one.held.items()}
    released = [consumer for one in claimants for consumer in one.released]
    expected = shown_by(client, [*held, *released])
    provider = expected['providers'][NEW]
    assert expected['providers'].keys() == {NEW, CHILD}
    assert provider['allocations'] == {one: {'VCPU': amount} for one, amount in held.items()}
    assert provider['inventories']['VCPU']['total'] == new_agent.written[max(new_agent.written)]
    assert expected['providers'][CHILD]['root_provider_uuid'] == NEW
    watching.follow()
    assert watching.providers == follower.everything(client)
    assert watching.reads == 1
    replay = Replay()
    replay.apply(rows_of(client))
    assert replay.as_data() == expected
    client.close()


def test_one_of_two_that_want_the_same_uuid_at_the_same_time_has_it(url: str) -> None:
    configuration = applications.configured(url)
    with applications.serving(url) as client:
        for number in range(ROUNDS):
            old, new = uuid_of(f'old{number}'), uuid_of(f'new{number}')
            body: dict[str, Any] = {'name': f'host{number}', 'uuid': old}
            assert client.send('POST', '/resource_providers', body, NEWEST).status == 200
            start = threading.Barrier(2)

            def change(old: str = old, new: str = new, start: threading.Barrier = start) -> int:
                with deploy.context_of_command(configuration, ACTION) as context:
                    start.wait()
                    try:
                        provider_identity.set_uuid(context, old, new)
                    except errors.DuplicateResourceProvider:
                        return http.client.CONFLICT
                return http.client.OK

            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                changing = pool.submit(change)
                start.wait()
                other = {'name': f'other{number}', 'uuid': new}
                created = client.send('POST', '/resource_providers', other, NEWEST).status
                statuses = {created, changing.result()}
            assert statuses == {200, 409}
            name = client.send('GET', f'/resource_providers/{new}', version=NEWEST).json['name']
            assert name == (f'other{number}' if created == 200 else f'host{number}')


def set_uuid_and_die(url: str, step: int) -> None:
    """Give the host another uuid in a process that is killed before a statement or the COMMIT."""
    steps = itertools.count()

    def die(*_arguments: object) -> None:
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with deploy.context_of_command(applications.configured(url), ACTION) as context:
        sa.event.listen(context.database.engine, 'before_cursor_execute', die)
        sa.event.listen(context.database.engine, 'commit', die)
        provider_identity.set_uuid(context, OLD, NEW)


def test_a_command_that_is_killed_at_any_step_has_changed_all_or_nothing(url: str) -> None:
    server = multiprocessing.get_context('forkserver')
    server.set_forkserver_preload([__name__])
    killed = 0
    with applications.serving(url, applications.insight_options('on')) as client:
        clouds.build((clouds.Provider('host', {'VCPU': 8}), clouds.Provider('child')), client)
        known = Follower(client)
        stored = follower.everything(client)
        while True:
            process = server.Process(target=set_uuid_and_die, args=(url, killed))
            process.start()
            process.join()
            known.follow()
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL
            killed += 1
            assert follower.everything(client) == stored == known.providers
        assert killed >= MIN_STEPS
        assert NEW in known.providers
        assert OLD not in known.providers
        assert known.providers == follower.everything(client)
