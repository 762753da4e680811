# SPDX-License-Identifier: Apache-2.0
"""Answers to clients are true even if a COMMIT or its reply is lost.

Clients write through a proxy that cuts connections at their COMMIT. Each of them writes its own
rows, so that the correct answers are known.
"""

import collections
import concurrent.futures
import contextlib
import os
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement import deploy, errors
from placement.cmd.provider_identity import ACTION
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.feed import commit_outcome
from placement.feed.entries import NewEntry, insert_entries
from placement.feed.sink import Feed, FeedSink
from placement.microversions import NEWEST
from placement.objects import provider_identity

from .fixtures import applications, databases, follower
from .fixtures.backends import on_servers
from .fixtures.client import Answer, Client
from .fixtures.commit_proxy import CommitProxy, Cut
from .fixtures.freshness_workload import TRAITS, Workload

# How many steps of a workload there are at least, and at most: more, until each has succeeded.
STEPS = 50 * int(os.environ.get('PLACEMENT_TEST_LOST_COMMIT_ROUNDS', '2'))
MOST_STEPS = STEPS + 500

# Number of other clients that write, and seconds between their writes.
CLIENTS, PAUSE = 3, 0.05

SHARE = 0.3

# How many providers are given another uuid.
IDENTITIES = 40

pytestmark = on_servers


@pytest.fixture
def options() -> applications.Options:
    return applications.insight_options('on')


@contextlib.contextmanager
def behind_proxy(url: str, seed: int) -> Iterator[tuple[Client, Client, CommitProxy]]:
    """A client whose service reaches the database through the proxy, one without, the proxy."""
    proxy = CommitProxy(url, seed)
    try:
        with (
            applications.serving(proxy.url) as cut,
            applications.serving(url, applications.insight_options('on')) as direct,
        ):
            yield cut, direct, proxy
    finally:
        proxy.close()


class Twins:
    """Sends each write to two clouds, one of which loses commits, and reads from the other.

    Both have to give the same answers, and to have the same data afterwards. A write that is
    answered with 503 may have been committed; if not, it is repeated, as a client has to.
    """

    def __init__(self, cut: Client, direct: Client, whole: Client) -> None:
        self._cut = cut
        self._direct = direct
        self._whole = whole
        self._contents = contents_of(whole)
        #: Number of answers with each status.
        self.answers: collections.Counter[int] = collections.Counter()

    def send(self, method: str, path: str, body: Any = None, version: str | None = None) -> Answer:
        """The answer to one request.

        :raises AssertionError: the clouds differ
        """
        expected = self._whole.send(method, path, body, version)
        if method == 'GET':
            return expected
        answer = self._cut.send(method, path, body, version)
        self.answers[answer.status] += 1
        if answer.status != 503:
            assert parts_of(answer) == parts_of(expected), f'{method} {path}: {answer.text}'
        elif contents_of(self._direct) == self._contents:
            self._direct.send(method, path, body, version)
        else:
            assert 'The change may have been made' in answer.text, f'{method} {path}'
        self._contents = contents_of(self._whole)
        assert contents_of(self._direct) == self._contents, f'{method} {path}: {answer.status}'
        return expected


def parts_of(answer: Answer) -> tuple[Any, ...]:
    """The parts of an answer that are the same in both clouds."""
    data = answer.json if answer.body and answer.status < 300 else None
    return answer.status, answer.headers.get('location'), data


def contents_of(client: Client) -> list[Any]:
    """All that a workload changes."""
    names = f'/traits?name=in:{",".join(TRAITS)}', '/resource_classes'
    listed = [client.send('GET', path, version=NEWEST).json for path in names]
    return [follower.everything(client), *listed]


def write_traits(client: Client, name: str, is_over: threading.Event) -> list[tuple[int, int]]:
    """Create traits that nobody else writes, and delete them; return the statuses of each."""
    statuses = list[tuple[int, int]]()
    while not is_over.wait(PAUSE):
        path = f'/traits/CUSTOM_{name}_{len(statuses)}'
        created = client.send('PUT', path, version=NEWEST).status
        statuses.append((created, client.send('DELETE', path, version=NEWEST).status))
    return statuses


@pytest.mark.parametrize('seed', [1, 2])
def test_no_answer_is_false_when_commits_and_replies_are_lost(
    stored: databases.Database, client: Client, seed: int
) -> None:
    is_over = threading.Event()
    with (
        behind_proxy(stored.url, seed) as (cut, direct, proxy),
        concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool,
    ):
        twins = Twins(cut, direct, client)
        workload = Workload(twins, seed)
        workload.step()
        proxy.share = SHARE
        writing = [pool.submit(write_traits, cut, f'W{n}', is_over) for n in range(CLIENTS)]
        try:
            for number in range(MOST_STEPS):
                workload.step()
                if number >= STEPS and not workload.undone():
                    break
        finally:
            is_over.set()
        statuses = [pair for future in writing for pair in future.result()]
        proxy.share = 0.0
    answers = twins.answers
    print(f'seed {seed}: {dict(answers)}, {proxy.commits} commits, cut {dict(proxy.cuts)}')

    assert workload.undone() == []
    # A trait that was not created, or that was, after all, may be answered with 503 first.
    assert {pair for pair in statuses if 503 not in pair} == {(201, 204)}
    assert answers[503] <= answers.total() / 100
    assert set(proxy.cuts) == set(Cut)
    assert proxy.commits >= 2 * len(statuses)


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
    with behind_proxy(stored.url, 3) as (client, _direct, proxy):
        client.send('PUT', '/traits/CUSTOM_FIRST', version=NEWEST)
        proxy.share = 1.0
        # Every COMMIT is lost, even in the transactions that ask for the outcome, so the outcome
        # of a transaction that has not committed stays unknown.
        proxy.ways = (Cut.BEFORE,)
        answer = client.send('PUT', '/traits/CUSTOM_SECOND', version=NEWEST)

    assert answer.status == 503
    error = answer.json['errors'][0]
    assert error['code'] == 'placement.undefined_code'
    assert 'The change may have been made' in error['detail']


def test_a_transaction_that_is_still_running_is_waited_for(database: Database) -> None:
    """Keep the transaction open, as a server does that is still committing for a lost client."""
    mark = commit_outcome.Mark()
    with database.engine.connect() as connection:
        mark.entry_id = insert_entries(connection, mark.token, [NewEntry(7)])
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            outcome = pool.submit(commit_outcome.has_committed, database.engine, mark)
            with pytest.raises(concurrent.futures.TimeoutError):
                outcome.result(timeout=0.5)
            connection.commit()
            assert outcome.result(timeout=60) is True


def test_a_transaction_that_was_rolled_back_can_never_commit(database: Database) -> None:
    mark = commit_outcome.Mark()
    with database.engine.connect() as connection:
        mark.entry_id = insert_entries(connection, mark.token, [NewEntry(7)])
        connection.rollback()
    assert commit_outcome.has_committed(database.engine, mark) is False
    # The id is taken, so whoever asks again is told the same.
    assert commit_outcome.has_committed(database.engine, mark) is False


def test_every_transaction_that_writes_leaves_a_mark(url: str) -> None:
    feed, marks = Feed(), []

    def first_sink() -> FeedSink:
        marks.append(feed())
        return marks[-1]

    database = Database(create_engine(url), first_sink)
    with database.begin(Mode.WRITE) as connection:
        connection.execute(sa.text('SELECT 1'))
    assert not marks[-1].has_committed(database.engine)

    from placement.db.statements.name_table import TRAITS

    with database.begin(Mode.WRITE) as connection:
        TRAITS.insert(connection, f'CUSTOM_{uuid.uuid4().hex}'.upper())
    assert marks[-1].has_committed(database.engine)
    database.dispose()
