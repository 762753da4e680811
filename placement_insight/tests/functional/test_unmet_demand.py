# SPDX-License-Identifier: Apache-2.0
"""Unsuccessful searches in the database, and their fate when it cannot take them.

Specification: insight, "GET /insight/unmet_demand".
"""

import concurrent.futures
import datetime
import itertools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine import begin_statement, sqlite_lock, timeouts
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.db.schema import own_tables
from placement.http.searches import SearchOrigin
from placement.microversions import NEWEST
from placement.middleware.after_answer import AfterAnswer
from placement.search.model.request import CandidateRequest, RequestGroup
from placement.tests.functional.fixtures import applications, clouds, databases
from placement.tests.functional.fixtures.backends import on_servers
from placement.tests.functional.fixtures.client import Answer, Client
from placement.tests.functional.fixtures.clocks import turn_clock
from placement.tests.functional.fixtures.tcp_proxy import TcpProxy
from placement.tests.functional.fixtures.work import statements_of
from placement.tests.opened import database_on
from placement_insight.bulk import pages
from placement_insight.demand import keeper as unmet_demand
from placement_insight.demand import statements
from placement_insight.demand.keeper import UnmetDemand
from placement_insight.failures import Failures
from placement_insight.search.condition import Verdict
from placement_insight.search.empty_search import Explanation

FULL = Explanation(Verdict.FULL, 'VCPU: 5 asked')
EMPTY = '/allocation_candidates?resources=VCPU:1'


class Clock:
    """A clock that stands still until it is set."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Worker:
    """What one worker keeps, with a clock of its own."""

    def __init__(self, database: Database) -> None:
        self.failures, self.clock = Failures(), Clock()
        self.unmet = UnmetDemand(database, self.failures, self.clock)
        self._searches = 0

    def search(self, amount: int, times: int = 1) -> None:
        """Search for an amount that no provider has."""
        wanted = CandidateRequest((RequestGroup(resources={'VCPU': amount}),))
        for _ in range(times):
            self._searches += 1
            origin = SearchOrigin('', NEWEST, f'req-{amount}-{self._searches}', None)
            self.unmet.add(wanted, FULL, origin)


@pytest.fixture
def worker(database: Database) -> Worker:
    return Worker(database)


def rows(database: Database, *columns: Any) -> list[tuple[Any, ...]]:
    with database.begin(Mode.READ) as connection:
        statement = sa.select(*columns).order_by(columns[0].table.c.id)
        return [tuple(row) for row in connection.execute(statement)]


def demands(database: Database) -> dict[str, int]:
    columns = own_tables.unmet_demand.c
    return dict(rows(database, columns.query, columns.times))


def test_what_several_workers_write_adds_up(database: Database) -> None:
    first, second = Worker(database), Worker(database)
    first.search(1, times=2)
    second.search(1)
    second.search(2)
    for one in (first, second, first):
        one.unmet.flush()
    first.search(1, times=20)
    first.unmet.flush()

    assert demands(database) == {'resources=VCPU:1': 23, 'resources=VCPU:2': 1}
    ((request_ids,), _) = rows(database, own_tables.unmet_demand.c.request_ids)
    assert request_ids.split() == [f'req-1-{number}' for number in range(3, 23)]
    assert len(rows(database, own_tables.unmet_searches.c.id)) == 24


def test_a_worker_that_writes_late_makes_nothing_look_older(
    worker: Worker, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Worker(database)
    for one in (late, worker):
        one.search(1)
    for one, seconds in ((worker, 2), (late, 3)):
        one.clock.now += seconds
        now = datetime.datetime(2026, 1, 1, second=4)
        monkeypatch.setattr(statements.clock, 'read', lambda _connection, now=now: now)
        one.unmet.flush()

    assert rows(database, own_tables.unmet_demand.c.last_at) == [
        (datetime.datetime(2026, 1, 1, second=2),)
    ]


def test_a_worker_with_a_wrong_clock_dates_searches_right(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = Worker(database), Worker(database)
    right.search(1)
    right.unmet.flush()
    turn_clock(monkeypatch, days=40)
    wrong.search(2)
    wrong.unmet.flush()

    (first, *_), (second, last) = rows(
        database, own_tables.unmet_demand.c.first_at, own_tables.unmet_demand.c.last_at
    )
    assert first <= second == last < first + datetime.timedelta(days=1)


def test_a_worker_that_was_slower_writes_again(
    worker: Worker, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, calls = statements.add, list[int]()

    def add_again(connection: sa.Connection, demands: Any, misses: Any, at: float) -> None:
        calls.append(len(demands))
        add(connection, demands, misses, at)
        if len(calls) == 1:
            # As if another worker had written the same after this one had looked for it.
            dates = statements.Dates(datetime.datetime(2026, 1, 1), at)
            rows = [statements._values(one, dates) for one in demands.values()]
            connection.execute(sa.insert(own_tables.unmet_demand), rows)

    monkeypatch.setattr(statements, 'add', add_again)
    worker.search(1)
    worker.unmet.flush()

    assert calls == [1, 1]
    assert worker.failures.count == 0
    assert demands(database) == {'resources=VCPU:1': 1}


def test_it_is_written_every_ten_seconds_at_most(worker: Worker, database: Database) -> None:
    assert not worker.unmet.is_due
    worker.search(1)
    assert not worker.unmet.is_due
    worker.clock.now += unmet_demand.FLUSH_SECONDS
    assert worker.unmet.is_due
    worker.unmet.flush()
    worker.search(1)
    assert not worker.unmet.is_due
    worker.clock.now += unmet_demand.FLUSH_SECONDS
    assert worker.unmet.is_due
    assert demands(database) == {'resources=VCPU:1': 1}


def test_a_flush_takes_five_statements(worker: Worker, database: Database) -> None:
    for amount in range(1, 20):
        worker.search(amount)
    worker.unmet.flush()
    for amount in range(10, 30):
        worker.search(amount)
    with statements_of(database.engine) as sent:
        worker.unmet.flush()

    verbs = [one.text.split()[0] for one in sent]
    written = [verb for verb in verbs if verb not in ('SET', 'BEGIN')]
    # The first reads the clock, and the last two look whether something has to be removed.
    assert written == ['SELECT', 'SELECT', 'UPDATE', 'INSERT', 'INSERT', 'SELECT', 'SELECT']


def test_a_worker_keeps_a_bounded_number(
    worker: Worker, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unmet_demand, 'MAX_DEMANDS', 3)
    for amount in (1, 2, 3, 4, 5, 1):
        worker.search(amount)
    assert worker.unmet.dropped == 2
    worker.unmet.flush()

    assert demands(database) == {
        'resources=VCPU:1': 2, 'resources=VCPU:2': 1, 'resources=VCPU:3': 1,
    }  # fmt: skip


def test_a_very_long_query_is_not_kept(worker: Worker, database: Database) -> None:
    required = tuple(frozenset([f'CUSTOM_{number:0200}']) for number in range(100))
    wanted = CandidateRequest((RequestGroup(resources={'VCPU': 1}, required=required),))
    worker.unmet.add(wanted, FULL, SearchOrigin('', NEWEST, 'req-1', None))
    worker.unmet.flush()

    assert worker.unmet.dropped == 1
    assert demands(database) == {}


def test_tables_are_bounded(
    worker: Worker, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, 'MAX_DEMANDS', 20)
    monkeypatch.setattr(statements, 'MAX_SEARCHES', 20)
    monkeypatch.setattr(statements, 'PRUNED_AT_ONCE', 5)
    began = datetime.datetime(2026, 1, 1)
    for amount in range(1, 101):
        now = began + datetime.timedelta(seconds=amount)
        monkeypatch.setattr(statements.clock, 'read', lambda _connection, now=now: now)
        worker.clock.now += 1
        worker.search(amount)
        if amount % 10 == 0:
            # One that goes on being asked for stays, however old its row is.
            worker.search(1)
            worker.unmet.flush()

    kept = demands(database)
    assert len(kept) == 20
    assert kept['resources=VCPU:1'] == 11
    assert kept['resources=VCPU:100'] == 1
    ids = [row[0] for row in rows(database, own_tables.unmet_searches.c.request_id)]
    assert 20 <= len(ids) <= 25
    assert ids[-2:] == ['req-100-109', 'req-1-110']


@pytest.fixture
def options() -> applications.Options:
    return applications.insight_options('on')


@pytest.mark.usefixtures('brief_patience')
def test_claims_go_on_while_several_workers_prune(
    service: applications.Service, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every claim succeeds, and no concurrent search is lost or counted twice."""
    monkeypatch.setattr(statements, 'MAX_DEMANDS', 40)
    monkeypatch.setattr(statements, 'MAX_SEARCHES', 40)
    monkeypatch.setattr(statements, 'PRUNED_AT_ONCE', 5)
    began, seconds = datetime.datetime(2026, 1, 1), itertools.count()
    monkeypatch.setattr(
        statements.clock,
        'read',
        lambda _connection: began + datetime.timedelta(seconds=next(seconds)),
    )
    clouds.build((clouds.Provider('host', {'VCPU': 100_000}),), client)
    flushes, claimers = 40, 3

    def keep(number: int) -> None:
        stored = database_on(create_engine(service.database.url))
        worker = Worker(stored)
        for flush in range(1, flushes + 1):
            for other in range(10):
                worker.search(1_000 * (flush + flushes * number) + other)
            worker.search(1)
            worker.unmet.flush()
        for _ in range(10):
            worker.unmet.flush()
        stored.dispose()

    def claim(number: int) -> set[int]:
        statuses = list[int]()
        while not all(future.done() for future in keeping):
            statuses.append(clouds.put_claim(client, f'{number}-{len(statuses)}').status)
        return set(statuses)

    with concurrent.futures.ThreadPoolExecutor(2 + claimers) as pool:
        keeping = [pool.submit(keep, number) for number in range(2)]
        claiming = [pool.submit(claim, number) for number in range(claimers)]
    for future in keeping:
        future.result()

    assert [future.result() for future in claiming] == [{204}] * claimers
    stored = database_on(service.engine)
    kept = demands(stored)
    assert kept['resources=VCPU:1'] == 2 * flushes
    assert len(kept) == 40
    assert 40 <= len(rows(stored, own_tables.unmet_searches.c.request_id)) <= 45


def flush_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unmet_demand, 'FLUSH_SECONDS', 0.0)
    monkeypatch.setattr(unmet_demand, 'SECONDS_AFTER_FAILURE', 0.0)


def test_any_request_is_an_occasion_to_write(
    client: Client, execute: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    flush_at_once(monkeypatch)
    # The first search waits for the ten seconds that began before the options above.
    assert client.send('GET', EMPTY, version=NEWEST).status == 200
    assert client.send('GET', '/insight/unmet_demand').json['sums']['infeasible'] == 1
    assert client.send('GET', EMPTY, version=NEWEST).status == 200
    assert client.send('GET', '/healthcheck').status == 200
    execute('DELETE FROM placement_unmet_demand')

    assert client.send('GET', '/insight/unmet_demand').json['unmet_demand'] == []


def test_answer_is_complete_before_it_is_written(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    class Body:
        def __iter__(self) -> Iterator[bytes]:
            events.append('sent')
            return iter([b''])

        def close(self) -> None:
            events.append('closed')

    worker = Worker(database)
    worker.search(1)
    monkeypatch.setattr(worker.unmet, 'flush', lambda: events.append('written'))
    application = AfterAnswer(lambda environ, start: Body(), [worker.unmet])
    list(application({}, lambda *_: lambda _: None))
    assert events == ['sent']
    worker.clock.now += unmet_demand.FLUSH_SECONDS
    answer: Any = application({}, lambda *_: lambda _: None)
    list(answer)
    answer.close()
    assert events == ['sent', 'sent', 'closed', 'written']


TABLES = ('placement_unmet_demand', 'placement_unmet_searches')


@pytest.mark.parametrize('table', TABLES)
def test_a_missing_table_fails_no_request(
    table: str,
    service: applications.Service,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    flush_at_once(monkeypatch)
    client.send('GET', '/insight/unmet_demand')
    with databases.renamed(service.engine, table):
        for _ in range(3):
            assert client.send('GET', EMPTY, version=NEWEST).status == 200
            assert client.send('GET', '/traits', version=NEWEST).status == 200
        warnings = [one for one in caplog.records if one.name == 'placement_insight.failures']
        assert {(one.levelno, one.exc_info) for one in warnings} == {(logging.WARNING, None)}
        assert client.send('GET', '/insight').json['failures'] >= len(warnings)
        assert client.send('GET', '/healthcheck').status == 200

    # Nothing was lost meanwhile.
    assert client.send('GET', '/insight/unmet_demand').json['sums']['infeasible'] == 3


def test_after_a_failure_it_is_left_alone_for_a_minute(worker: Worker, database: Database) -> None:
    worker.search(1)
    with databases.renamed(database.engine, TABLES[0]):
        worker.unmet.flush()
    worker.clock.now += unmet_demand.FLUSH_SECONDS
    assert not worker.unmet.is_due
    worker.clock.now += unmet_demand.SECONDS_AFTER_FAILURE
    assert worker.unmet.is_due
    assert worker.failures.count == 1
    worker.unmet.flush()
    assert demands(database) == {'resources=VCPU:1': 1}


def test_a_defect_of_its_own_loses_what_was_kept_and_nothing_else(
    worker: Worker, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        raise RuntimeError('no statement')

    worker.search(1)
    with monkeypatch.context() as patch:
        patch.setattr(statements, 'add', fail)
        worker.unmet.flush()
    assert worker.failures.count == 1
    worker.search(2)
    worker.unmet.flush()

    assert demands(database) == {'resources=VCPU:2': 1}


def bounds_of_locks(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said from now on of how long waits for locks are: statements, on SQLite seconds."""
    said: list[str] = []
    begin = sqlite_lock.WriteLock.begin

    def begin_noted(lock: Any, connection: sa.Connection, timeout: float | None = None) -> None:
        said.append(str(timeout))
        begin(lock, connection, timeout)

    monkeypatch.setattr(sqlite_lock.WriteLock, 'begin', begin_noted)
    execute = begin_statement.execute

    def execute_noted(connection: sa.Connection, text: str, **options: Any) -> None:
        said.append(text)
        execute(connection, text, **options)

    monkeypatch.setattr(begin_statement, 'execute', execute_noted)
    sa.event.listen(
        database.engine, 'before_cursor_execute', lambda *arguments: said.append(arguments[2])
    )
    return said


def test_writing_waits_a_second_for_a_lock(
    worker: Worker, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.search(1)
    worker.unmet.flush()
    # The write lock on SQLite, those of the rows elsewhere.
    with database.begin(Mode.WRITE) as connection:
        connection.execute(sa.select(own_tables.unmet_demand).with_for_update())
        worker.search(1)
        said = bounds_of_locks(database, monkeypatch)
        worker.unmet.flush()
    a_second = {
        'sqlite': '1',
        'mysql': timeouts.lock_timeout_statement(1),
        'postgresql': "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '1s'",
    }
    assert said[0] == a_second[database.engine.dialect.name]
    assert worker.failures.count == 1
    worker.unmet.flush()
    assert demands(database) == {'resources=VCPU:1': 2}


@on_servers
def test_writing_waits_for_no_connection_of_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = database.engine.url
    small = database_on(
        create_engine(str(url.render_as_string(False)), max_pool_size=1, max_overflow=0)
    )
    worker = Worker(small)
    worker.search(1)
    wanted: list[bool] = []
    with small.engine.connect(), monkeypatch.context() as patch:
        patch.setattr(small.engine, 'connect', lambda: wanted.append(True))
        worker.unmet.flush()
    assert wanted == []
    assert worker.failures.count == 1
    worker.unmet.flush()
    assert demands(database) == {'resources=VCPU:1': 1}
    small.dispose()


@on_servers
def test_writing_waits_two_seconds_for_a_silent_server(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = database.engine.url.render_as_string(False)
    proxy = TcpProxy(url)
    proxy.forward_to(url)
    distant = database_on(create_engine(proxy.url))
    worker = Worker(distant)
    worker.search(1)
    worker.unmet.flush()
    # One that is open already, as those of a worker at work.
    with distant.begin(Mode.READ) as connection:
        connection.execute(sa.text('SELECT 1'))
    bound, bounds = timeouts._bound_driver, list[int | None]()

    def bound_noted(connection: sa.Connection, seconds: int | None) -> None:
        bounds.append(seconds)
        bound(connection, seconds)

    monkeypatch.setattr(timeouts, '_bound_driver', bound_noted)
    proxy.freeze()
    worker.search(1)
    worker.unmet.flush()
    assert bounds == [2]
    assert worker.failures.count == 1
    proxy.thaw()
    proxy.close()
    distant.dispose()


def test_one_question_that_computes_is_answered_at_a_time(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_usage_sums, meanwhile = pages.list_usage_sums, list[Answer]()
    usages = '/insight/usages?by=project'

    def ask_meanwhile(*arguments: Any) -> Any:
        # The API answers, and so does what computes nothing.
        for path in (usages, EMPTY, '/insight', '/insight/unmet_demand', '/insight/consumers'):
            meanwhile.append(client.send('GET', path, version=NEWEST))
        return list_usage_sums(*arguments)

    monkeypatch.setattr(pages, 'list_usage_sums', ask_meanwhile)
    assert client.send('GET', usages).status == 200
    assert [answer.status for answer in meanwhile] == [503, 200, 200, 200, 200]
    assert meanwhile[0].headers['retry-after'] == '1'
