# SPDX-License-Identifier: Apache-2.0
"""Whatever becomes of a COMMIT and its reply, the answer to the client is true.

Clients write through a proxy that cuts connections at their COMMIT. Each of them writes what is
its own, so that every request can succeed, and one that is refused was refused because of itself.
"""

import collections
import concurrent.futures
import contextlib
import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement import deploy, errors
from placement.cmd.provider_identity import ACTION
from placement.db.engine.database import Database
from placement.feed import commit_outcome
from placement.microversions import NEWEST
from placement.objects import provider_identity

from .fixtures import applications, clouds, databases
from .fixtures.backends import on_servers
from .fixtures.client import Answer, Client
from .fixtures.commit_proxy import CommitProxy, Cut

# How many rounds of all kinds of writes each client makes, and how many clients there are.
ROUNDS = int(os.environ.get('PLACEMENT_TEST_LOST_COMMIT_ROUNDS', '2'))
CLIENTS = 4
SHARE = 0.3

# How many providers are given another uuid.
IDENTITIES = 40

pytestmark = on_servers


@contextlib.contextmanager
def behind_proxy(url: str, seed: int) -> Iterator[tuple[Client, Client, CommitProxy]]:
    """A client whose service reaches the database through the proxy, one without, the proxy."""
    proxy = CommitProxy(url, seed)
    try:
        with (
            applications.serving(proxy.url) as cut,
            applications.serving(url) as direct,
        ):
            yield cut, direct, proxy
    finally:
        proxy.close()


class Writer:
    """One client that makes every kind of write, and compares each answer with the tables."""

    def __init__(self, client: Client, direct: Client, name: str) -> None:
        self._client = client
        self._direct = direct
        self._name = name
        self._numbers = itertools.count()
        #: How often each status was answered, and what was false.
        self.answers: collections.Counter[int] = collections.Counter()
        self.false: list[str] = []

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            number = next(self._numbers)
            self._names(f'{self._name}_{number}'.upper())
            host, other = (str(uuid.uuid4()) for _ in range(2))
            if self._providers(host, other, f'{self._name} {number}'):
                self._allocations(host, other)
                self._tear_down(host, other)

    # What is written

    def _names(self, name: str) -> None:
        for path in (f'/traits/CUSTOM_{name}', f'/resource_classes/CUSTOM_{name}'):
            self._write('PUT', path, None, 201, self._exists, path)
            self._write('PUT', path, None, 204, self._exists, path)
            self._write('DELETE', path, None, 204, self._is_gone, path)
        body = {'name': f'CUSTOM_{name}_POSTED'}
        path = f'/resource_classes/{body["name"]}'
        self._write('POST', '/resource_classes', body, 201, self._exists, path)

    def _providers(self, host: str, other: str, name: str) -> bool:
        for number, provider in enumerate((host, other)):
            path = f'/resource_providers/{provider}'
            body: dict[str, Any] = {'name': f'{name} {number}', 'uuid': provider}
            self._write('POST', '/resource_providers', body, 200, self._exists, path)
            inventories = {'VCPU': {'total': 100}, 'MEMORY_MB': {'total': 100}}
            body = {'inventories': inventories, **self._generation(path)}
            self._write('PUT', f'{path}/inventories', body, 200, self._has_inventories, path, 2)
        path = f'/resource_providers/{host}'
        new_name = f'{name} renamed'
        self._write('PUT', path, {'name': new_name}, 200, self._is_named, path, new_name)
        body = {'traits': ['HW_CPU_X86_AVX'], **self._generation(path)}
        self._write('PUT', f'{path}/traits', body, 200, self._has_traits, path, 1)
        wanted = [str(uuid.uuid4())]
        body = {'aggregates': wanted, **self._generation(path)}
        self._write('PUT', f'{path}/aggregates', body, 200, self._has_aggregates, path, wanted)
        self._write('DELETE', f'{path}/traits', None, 204, self._has_traits, path, 0)
        body = {'resource_class': 'DISK_GB', 'total': 9, **self._generation(path)}
        self._write('POST', f'{path}/inventories', body, 201, self._has_inventories, path, 3)
        return self._exists(path) and self._exists(f'/resource_providers/{other}')

    def _allocations(self, host: str, other: str) -> None:
        first, *rest = (str(uuid.uuid4()) for _ in range(4))
        for generation, provider in ((None, host), (1, other)):
            body = self._claim([provider], generation)
            self._write('PUT', f'/allocations/{first}', body, 204, self._has, [first], provider)
        bodies = {one: self._claim([host, other], None) for one in rest}
        self._write('POST', '/allocations', bodies, 204, self._has, rest, host, other)
        moved, emptied, _kept = rest
        smaller = {'VCPU': {'total': 50}, 'MEMORY_MB': {'total': 50}}
        inventories = {
            one: {'inventories': smaller, **self._generation(f'/resource_providers/{one}')}
            for one in (host, other)
        }
        claims = {moved: self._claim([other], self._consumer(moved))}
        body = {'inventories': inventories, 'allocations': claims}
        self._write('POST', '/reshaper', body, 204, self._has, [moved], other)
        body = self._claim([], self._consumer(emptied))
        self._write('PUT', f'/allocations/{emptied}', body, 204, self._has, [emptied])
        for one in (first, *rest):
            if self._get(f'/allocations/{one}')['allocations']:
                self._write('DELETE', f'/allocations/{one}', None, 204, self._has, [one])

    def _tear_down(self, host: str, other: str) -> None:
        for provider in (host, other):
            path = f'/resource_providers/{provider}'
            self._write('DELETE', path, None, 204, self._is_gone, path)

    # How it is compared

    def _write(
        self,
        method: str,
        path: str,
        body: Any,
        expected: int,
        is_done: Callable[..., bool],
        *arguments: Any,
    ) -> None:
        """Send a write, and compare its answer with what `is_done` says of the arguments."""
        answer = self._client.send(method, path, body, version=NEWEST)
        self.answers[answer.status] += 1
        if answer.status == 503:
            if 'The change may have been made' not in answer.text and is_done(*arguments):
                self.false.append(f'{method} {path}: done, and answered {answer.text}')
            # It is for the client to read and repeat.
            if not is_done(*arguments):
                self._direct.send(method, path, body, version=NEWEST)
            return
        if answer.status != expected:
            self.false.append(f'{method} {path}: {answer.status} {answer.text}')
        elif not is_done(*arguments):
            self.false.append(f'{method} {path}: {answer.status}, and not done')
        elif not self._is_complete(path, answer):
            self.false.append(f'{method} {path}: {dict(answer.headers)} {answer.text}')

    def _is_complete(self, path: str, answer: Answer) -> bool:
        """Whether what was answered besides the status is as it is stored."""
        if answer.status == 200 and 'resource_provider_generation' in answer.text:
            provider = '/'.join(path.split('/')[:3])
            return bool(
                answer.json['resource_provider_generation']
                == self._generation(provider)['resource_provider_generation']
            )
        return answer.status != 201 or 'location' in answer.headers

    def _get(self, path: str) -> Any:
        return self._direct.send('GET', path, version=NEWEST).json

    def _exists(self, path: str) -> bool:
        return self._direct.send('GET', path, version=NEWEST).status in (200, 204)

    def _is_gone(self, path: str) -> bool:
        return not self._exists(path)

    def _has_inventories(self, path: str, count: int) -> bool:
        return len(self._get(f'{path}/inventories')['inventories']) == count

    def _has_traits(self, path: str, count: int) -> bool:
        return len(self._get(f'{path}/traits')['traits']) == count

    def _is_named(self, path: str, name: str) -> bool:
        return bool(self._get(path)['name'] == name)

    def _has_aggregates(self, path: str, aggregates: list[str]) -> bool:
        return bool(self._get(f'{path}/aggregates')['aggregates'] == aggregates)

    def _has(self, consumers: list[str], *providers: str) -> bool:
        held = [self._get(f'/allocations/{one}')['allocations'] for one in consumers]
        return all(set(one) == set(providers) for one in held)

    def _generation(self, path: str) -> dict[str, int]:
        return {'resource_provider_generation': self._get(path)['generation']}

    def _consumer(self, consumer: str) -> int | None:
        generation: int | None = self._get(f'/allocations/{consumer}').get('consumer_generation')
        return generation

    def _claim(self, providers: list[str], generation: int | None) -> dict[str, Any]:
        return clouds.claim(
            {one: {'VCPU': 1} for one in providers}, generation, project_id=self._name
        )


@pytest.mark.parametrize('seed', [1, 2])
def test_no_answer_is_false_when_commits_and_replies_are_lost(
    stored: databases.Database, seed: int
) -> None:
    with behind_proxy(stored.url, seed) as (client, direct, proxy):
        writers = [Writer(client, direct, f'client{number}') for number in range(CLIENTS)]
        writers[0].run(1)
        proxy.share = SHARE
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            for future in [pool.submit(writer.run, ROUNDS) for writer in writers]:
                future.result()
        proxy.share = 0.0
    answers = sum((writer.answers for writer in writers), collections.Counter())
    print(
        f'seed {seed}: {sum(answers.values())} writes, {dict(answers)}, '
        f'{proxy.commits} commits, cut { ({cut.name: n for cut, n in proxy.cuts.items()}) }'
    )

    assert [line for writer in writers for line in writer.false] == []
    assert set(proxy.cuts) == set(Cut)
    assert answers[503] <= sum(answers.values()) / 100


def test_the_proxy_notices_writes_whose_statements_are_prepared(
    stored: databases.Database,
) -> None:
    with behind_proxy(stored.url, 5) as (client, _direct, proxy):
        # psycopg prepares what it has executed five times.
        for number in range(20):
            body = {'name': f'host{number}'}
            created = client.send('POST', '/resource_providers', body, version=NEWEST)
            assert created.status == 200

    assert proxy.commits >= 20


def test_changes_of_identity_are_done_once_when_commits_and_replies_are_lost(
    stored: databases.Database,
) -> None:
    unknown, ways = 0, tuple(Cut)
    with contextlib.ExitStack() as stack:
        _, direct, proxy = stack.enter_context(behind_proxy(stored.url, 4))
        options = {('history', 'enabled'): True}
        configuration = applications.configured(proxy.url, options)
        context = stack.enter_context(deploy.context_of_command(configuration, ACTION))
        for number in range(IDENTITIES):
            old, new = (str(uuid.uuid4()) for _ in range(2))
            body = {'name': f'host{number}', 'uuid': old}
            assert direct.send('POST', '/resource_providers', body, version=NEWEST).status == 200
            proxy.share, proxy.ways = 0.5, (ways[number % len(ways)],)
            try:
                provider_identity.set_uuid(context, old, new)
            except errors.OutcomeUnknown:
                unknown += 1
                continue
            finally:
                proxy.share = 0.0
            found = direct.send('GET', f'/resource_providers/{new}', version=NEWEST)
            assert (found.status, found.json['name']) == (200, f'host{number}')
            assert found.json['generation'] == 1
            former = direct.send('GET', f'/resource_providers/{old}', version=NEWEST)
            assert former.status == 404

    assert set(proxy.cuts) == set(Cut)
    assert unknown <= IDENTITIES / 10


def test_a_write_whose_outcome_the_database_does_not_tell_is_answered_with_503(
    stored: databases.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_outcome, 'MAX_SECONDS', 0.2)
    with behind_proxy(stored.url, 3) as (client, direct, proxy):
        writer = Writer(client, direct, 'client')
        writer.run(1)
        proxy.share, proxy.ways = 1.0, (Cut.REPLY,)
        body = {'name': 'host', 'uuid': str(uuid.uuid4())}
        # Every COMMIT is lost, also those of the transactions that ask for the outcome; so nothing
        # can be said of a transaction that has not committed.
        proxy.ways = (Cut.BEFORE,)
        answer = client.send('POST', '/resource_providers', body, version=NEWEST)

    assert answer.status == 503
    error = answer.json['errors'][0]
    assert error['code'] == 'placement.undefined_code'
    assert 'The change may have been made' in error['detail']


def test_a_transaction_that_is_still_running_is_waited_for(database: Database) -> None:
    """The server may be busy with the COMMIT of a session that its client has lost."""
    mark = commit_outcome.Mark()
    with database.engine.connect() as connection, commit_outcome.marked(connection, mark):
        commit_outcome.insert_entries(connection, [7], allocations_only=False)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            outcome = pool.submit(commit_outcome.has_committed, database.engine, mark)
            with pytest.raises(concurrent.futures.TimeoutError):
                outcome.result(timeout=0.5)
            connection.commit()
            assert outcome.result(timeout=10) is True


def test_a_transaction_that_was_rolled_back_can_never_commit(database: Database) -> None:
    mark = commit_outcome.Mark()
    with database.engine.connect() as connection, commit_outcome.marked(connection, mark):
        commit_outcome.insert_entries(connection, [7], allocations_only=False)
        connection.rollback()
    assert commit_outcome.has_committed(database.engine, mark) is False
    # The id is taken, so whoever asks again is told the same.
    assert commit_outcome.has_committed(database.engine, mark) is False


def test_every_transaction_that_writes_leaves_a_mark(database: Database) -> None:
    with database.writer() as connection:
        connection.execute(sa.text('SELECT 1'))
        mark = connection.info['placement_commit_mark']
    assert mark.entry_id is None

    from placement.db.statements.name_table import TRAITS

    with database.writer() as connection:
        TRAITS.insert(connection, f'CUSTOM_{uuid.uuid4().hex}'.upper())
        mark = connection.info['placement_commit_mark']
    assert commit_outcome.has_committed(database.engine, mark) is True
