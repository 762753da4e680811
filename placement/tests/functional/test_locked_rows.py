# SPDX-License-Identifier: Apache-2.0
"""A row that another program has locked holds up only the writes that need it.

Nothing here measures time: what must not wait is done before the lock is released.
"""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent import futures

import pytest
import sqlalchemy as sa

from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.backends import on_servers
from .fixtures.client import Answer, Client
from .fixtures.clouds import uuid_of

pytestmark = on_servers

HOSTS = tuple(clouds.Provider(name, {'VCPU': 64}) for name in ('held', 'free', 'other'))
THREADS = 4
TIMEOUT = 60

#: The beginning of the statement that looks up ids of providers.
IDS = 'SELECT resource_providers.uuid, resource_providers.id'


@pytest.fixture
def patience() -> None:
    """Keep the default timeouts: another program locks rows here."""


@pytest.fixture
def options() -> applications.Options:
    """Timeouts longer than a test waits for requests that must not wait."""
    names = ('lock_timeout', 'response_timeout')
    return {('placement_database', name): 4 * TIMEOUT for name in names}


@pytest.fixture
def threads() -> Iterator[futures.ThreadPoolExecutor]:
    with futures.ThreadPoolExecutor(max_workers=THREADS) as threads:
        yield threads


@contextlib.contextmanager
def held(service: applications.Service, *names: str) -> Iterator[None]:
    """Lock providers in a transaction of another program."""
    engine = sa.create_engine(service.database.url, poolclass=sa.NullPool)
    uuids = ', '.join(f"'{uuid_of(name)}'" for name in names)
    with engine.connect() as connection:
        connection.exec_driver_sql(
            f'SELECT id FROM resource_providers WHERE uuid IN ({uuids}) FOR UPDATE'
        ).all()
        yield


def put_claim(client: Client, consumer: str, host: str, project: str = 'known') -> Answer:
    body = clouds.claim({uuid_of(host): {'VCPU': 1}}, None) | {'project_id': project}
    return client.send('PUT', f'/allocations/{uuid_of(consumer)}', body, version=NEWEST)


def search(client: Client) -> Answer:
    return client.send('GET', '/allocation_candidates?resources=VCPU:1', version=NEWEST)


@contextlib.contextmanager
def reaching(engine: sa.Engine, statement: str) -> Iterator[threading.Event]:
    """Yield what is set when the service sends a statement that begins like this."""
    reached = threading.Event()

    def look(*arguments: object) -> None:
        if str(arguments[2]).startswith(statement):
            reached.set()

    sa.event.listen(engine, 'before_cursor_execute', look)
    yield reached
    sa.event.remove(engine, 'before_cursor_execute', look)


def answered(requests: list[futures.Future[Answer]], count: int) -> list[futures.Future[Answer]]:
    """The first requests that are answered."""
    return list(itertools.islice(futures.as_completed(requests, TIMEOUT), count))


def test_all_threads_but_one_answer_while_a_provider_is_held(
    service: applications.Service, client: Client, threads: futures.ThreadPoolExecutor
) -> None:
    clouds.build(HOSTS, client)
    assert put_claim(client, 'first', 'free').status == 204
    with held(service, 'held'):
        claims = [threads.submit(put_claim, client, f's{n}', 'held') for n in range(8)]
        after = [threads.submit(search, client), threads.submit(put_claim, client, 's', 'free')]
        assert [answer.result(TIMEOUT).status for answer in after] == [200, 204]
        refused = [claim.result().headers for claim in answered(claims, 7)]
    assert all('retry-after' in headers for headers in refused)
    statuses = sorted(claim.result(TIMEOUT).status for claim in claims)
    assert statuses == [204] + [503] * 7


WRITES: dict[str, Callable[[Client, int], Answer]] = {
    'traits': lambda client, _number: client.send(
        'DELETE', f'/resource_providers/{uuid_of("held")}/traits', version=NEWEST
    ),
    'inventories': lambda client, _number: client.send(
        'DELETE', f'/resource_providers/{uuid_of("held")}/inventories', version=NEWEST
    ),
    'child': lambda client, number: client.send(
        'POST',
        '/resource_providers',
        {'name': f'child {number}', 'parent_provider_uuid': uuid_of('held')},
        version=NEWEST,
    ),
    'release': lambda client, number: client.send(
        'POST', '/allocations', {uuid_of(f's{number}'): clouds.claim({}, 1)}, version=NEWEST
    ),
}


@pytest.mark.parametrize('write', WRITES.values(), ids=WRITES)
def test_every_write_of_a_provider_leaves_threads_free(
    service: applications.Service,
    client: Client,
    threads: futures.ThreadPoolExecutor,
    write: Callable[[Client, int], Answer],
) -> None:
    clouds.build(HOSTS, client)
    for number in range(8):
        assert put_claim(client, f's{number}', 'held').status == 204
    with held(service, 'held'):
        writes = [threads.submit(write, client, number) for number in range(8)]
        after = threads.submit(search, client)
        assert after.result(TIMEOUT).status == 200
        assert [done.result().status for done in answered(writes, 7)] == [503] * 7


def test_one_thread_answers_while_every_provider_is_held(
    service: applications.Service, client: Client, threads: futures.ThreadPoolExecutor
) -> None:
    clouds.build(HOSTS, client)
    names = [provider.name for provider in HOSTS]
    with held(service, *names):
        claims = [threads.submit(put_claim, client, f's{n}', names[n % 3]) for n in range(12)]
        assert threads.submit(search, client).result(TIMEOUT).status == 200
        assert len(answered(claims, 9)) == 9
    statuses = sorted(claim.result(TIMEOUT).status for claim in claims)
    assert statuses == [204] * 3 + [503] * 9


def test_a_claim_that_waits_keeps_no_other_claim_of_its_new_project(
    service: applications.Service, client: Client, threads: futures.ThreadPoolExecutor
) -> None:
    clouds.build(HOSTS, client)
    with held(service, 'held'), reaching(service.engine, 'UPDATE resource_providers') as reached:
        waiting = threads.submit(put_claim, client, 'first', 'held', 'new')
        assert reached.wait(TIMEOUT)
        other = threads.submit(put_claim, client, 'second', 'free', 'new')
        assert other.result(TIMEOUT).status == 204
    assert waiting.result(TIMEOUT).status == 204


@contextlib.contextmanager
def paused(engine: sa.Engine, statement: str) -> Iterator[threading.Event]:
    """Stop the first thread that has executed such a statement until the end of the block.

    Yields an event that is set then. The hook stays: the thread is still in it.
    """
    reached, ended = threading.Event(), threading.Event()

    def pause(*arguments: object) -> None:
        if str(arguments[2]).startswith(statement) and not reached.is_set():
            reached.set()
            assert ended.wait(TIMEOUT)

    sa.event.listen(engine, 'after_cursor_execute', pause)
    try:
        yield reached
    finally:
        ended.set()


def test_a_move_that_has_locked_its_provider_waits_for_no_claim_that_needs_it(
    service: applications.Service, client: Client
) -> None:
    """One of two threads may wait in the database: the claim, for the row of the other."""
    with applications.serving(service.database.url) as builder:
        # With another service: the thread of the test would count as one that locks rows.
        clouds.build(HOSTS, builder)
    body = {'name': 'free', 'parent_provider_uuid': uuid_of('other')}
    path = f'/resource_providers/{uuid_of("free")}'
    with (
        reaching(service.engine, 'UPDATE resource_providers') as waits,
        futures.ThreadPoolExecutor(max_workers=2) as threads,
    ):
        # The look-up of the parent, after the lock of the provider.
        with paused(service.engine, IDS) as locked:
            move = threads.submit(client.send, 'PUT', path, body, version=NEWEST)
            assert locked.wait(TIMEOUT)
            claim = threads.submit(put_claim, client, 'first', 'free')
            assert waits.wait(TIMEOUT)
        assert move.result(TIMEOUT).status == 200, move.result().text
        assert claim.result(TIMEOUT).status == 204, claim.result().text


def test_a_claim_that_has_locked_its_consumer_waits_for_no_claim_that_needs_it(
    service: applications.Service, client: Client
) -> None:
    """The claims of two processes for one consumer: one with a new project, which locks it last.

    A third one waits in the database for the provider that this one has locked.
    """
    clouds.build(HOSTS, client)
    assert put_claim(client, 'before', 'free').status == 204
    with (
        applications.serving(service.database.url) as other,
        futures.ThreadPoolExecutor(max_workers=3) as threads,
    ):
        with paused(other.database.engine, 'UPDATE resource_providers') as locked:
            new = threads.submit(put_claim, other, 'shared', 'free', 'new')
            assert locked.wait(TIMEOUT)
            with reaching(service.engine, 'UPDATE resource_providers') as waits:
                claim = threads.submit(put_claim, client, 'third', 'free')
                assert waits.wait(TIMEOUT)
            with paused(service.engine, 'INSERT INTO consumers') as inserted:
                known = threads.submit(put_claim, client, 'shared', 'free')
                assert inserted.wait(TIMEOUT)
        statuses = sorted(one.result(TIMEOUT).status for one in (new, known))
    assert claim.result(TIMEOUT).status == 204
    assert statuses == [204, 409]
