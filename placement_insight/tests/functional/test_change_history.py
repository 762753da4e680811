# SPDX-License-Identifier: Apache-2.0
"""The history of changes has every change of the cloud, and nothing that did not happen.

Specification: insight, "GET /insight/history".
"""

import collections
import concurrent.futures
import datetime
import logging
import sqlite3
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine.database import Database
from placement.db.schema import own_tables
from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications, clouds, databases
from placement.tests.functional.fixtures.backends import on_servers
from placement.tests.functional.fixtures.client import Answer, Client
from placement.tests.functional.fixtures.clocks import stop_clocks, turn_clock
from placement.tests.functional.fixtures.commit_proxy import CommitProxy
from placement.tests.functional.fixtures.freshness_workload import CONSUMERS, Workload
from placement.tests.functional.fixtures.history_replay import Replay, rows_of, shown_by
from placement.tests.functional.fixtures.work import statements_of
from placement_insight.failures import Failures
from placement_insight.history import keeper as change_history
from placement_insight.history import statements
from placement_insight.history.keeper import ChangeHistory
from placement_insight.history.sink import HistorySink
from placement_insight.history.statements import ChangeOrigin, ChangeRow
from placement_insight.statements import RowPage

ON = {
    ('history', 'enabled'): True,
    ('insight', 'unmet_demand'): False,
    # Where a disk is busy, a COMMIT keeps its locks for seconds.
    ('placement_database', 'lock_timeout'): 60,
    ('placement_database', 'response_timeout'): 120,
}
HOST = clouds.uuid_of('host')
TABLE = own_tables.change_history


@pytest.fixture
def options() -> applications.Options:
    return ON


def send(client: Client, method: str, path: str, body: Any = None) -> Answer:
    return client.send(method, path, body, version=NEWEST)


def put(client: Client, consumer: str) -> int:
    claim = clouds.claim({HOST: {'VCPU': 1}})
    return send(client, 'PUT', f'/allocations/{consumer}', claim).status


@pytest.fixture
def host(client: Client) -> str:
    """A host with room for many."""
    make_host(client)
    return HOST


def make_host(client: Client) -> None:
    clouds.build((clouds.Provider('host', {'VCPU': 1000}),), client)


# Its rows


def test_states_that_it_tells_make_the_cloud_of_several_writers(
    service: applications.Service,
) -> None:
    """Also of a second worker; they write what the others write."""
    with applications.serving(service.database.url, ON) as other:
        clients = [Client(service.application), other, Client(service.application)]
        workloads = [Workload(one, seed) for seed, one in enumerate(clients)]
        for one in workloads:
            # A name that changes under the hands of others has no place in their order.
            one.actions = {k: v for k, v in one.actions.items() if k != 'rename_class'}

        with concurrent.futures.ThreadPoolExecutor(len(workloads)) as pool:
            list(pool.map(lambda one: one.succeed(40), workloads))
        replay = Replay()
        replay.apply(rows_of(clients[0]))
        assert replay.as_data() == shown_by(clients[0], CONSUMERS)
        shown = [client.send('GET', '/insight').json for client in clients]
        assert [one['unrecorded'] for one in shown] == [0, 0, 0]


def failing(times: int, failure: Exception, after: bool) -> Callable[..., None]:
    """An insert of rows that fails this number of times, before or after its work."""
    write = statements.insert
    left = [times]

    def insert(*arguments: Any) -> None:
        if after:
            write(*arguments)
        if left[0]:
            left[0] -= 1
            raise failure
        if not after:
            write(*arguments)

    return insert


def test_off_there_are_neither_rows_nor_statements(
    service: applications.Service, host: str
) -> None:
    counts = []
    for is_enabled in (False, True):
        options = {**ON, ('history', 'enabled'): is_enabled}
        with applications.serving(service.database.url, options) as worker:
            assert put(worker, CONSUMERS[1 + is_enabled]) == 204
            with statements_of(worker.database.engine) as seen:
                assert put(worker, CONSUMERS[0]) == 204
                assert send(worker, 'DELETE', f'/allocations/{CONSUMERS[0]}').status == 204
        # PostgreSQL takes the bound of a wait for a locked table as a statement of its own.
        sent = [one.text for one in seen if 'lock_timeout' not in one.text]
        counts.append((len(sent), sum(TABLE.name in text for text in sent)))
    (without, none), (with_history, rows) = counts
    # A release reads the uuid of the provider and the names of the owner as well; which owner it
    # is too where DELETE does not tell: MySQL has no DELETE ... RETURNING.
    reads = 2 + (not service.engine.dialect.delete_returning)
    assert (none, rows, with_history - without) == (0, 2, 2 + reads)


def test_rows_since_a_time_are_found_whatever_the_clocks(database: Database) -> None:
    fill(database, [9, 5, 1, 3, 0, 8, 2])
    since = NOW - datetime.timedelta(days=3)
    with database.engine.begin() as connection:
        rows = statements.list_rows(connection, {}, RowPage(since, None, 10))
        tomorrow = NOW + datetime.timedelta(days=1)
        with statements_of(database.engine) as seen:
            assert statements.list_rows(connection, {}, RowPage(tomorrow, None, 10)) == []
    assert [(NOW - row.at).days for row in rows] == [2, 0, 3, 1]
    # Without any, the table is not read.
    assert len(seen) == 1


# When it cannot be written


def of_sqlite(words: str, code: int) -> Exception:
    """An error of SQLite, as SQLAlchemy wraps it."""
    original = sqlite3.OperationalError(words)
    original.sqlite_errorcode = code
    return sa.exc.OperationalError('INSERT', {}, original)


FULL_DISK = of_sqlite('database or disk is full', sqlite3.SQLITE_FULL)
# For a lock that another program has.
LOCKED_TABLE = of_sqlite('database table is locked', sqlite3.SQLITE_BUSY)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Log lines of own errors, each a warning without a traceback."""
    records = [one for one in caplog.records if one.name == 'placement_insight.failures']
    assert {one.levelno for one in records} <= {logging.WARNING}
    assert all(one.exc_info is None for one in records)
    return [one.getMessage() for one in records]


def test_missing_table_costs_a_warning(
    service: applications.Service,
    client: Client,
    host: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = rows_of(client)
    with databases.renamed(service.engine, TABLE.name):
        for consumer in CONSUMERS[:3]:
            assert put(client, consumer) == 204
            assert send(client, 'GET', f'/allocations/{consumer}').json['allocations']
        assert send(client, 'DELETE', f'/allocations/{CONSUMERS[0]}').status == 204
        shown = client.send('GET', '/insight').json

    (warning,) = warnings(caplog)
    assert warning.startswith('Writing the history of a change failed, which fails no request: ')
    assert shown['unrecorded'] == 4
    assert shown['failures'] == 1
    # It is left alone for a while after that.
    assert put(client, CONSUMERS[3]) == 204
    assert rows_of(client) == before
    monkeypatch.setattr(ChangeHistory, 'is_paused', False)
    assert put(client, CONSUMERS[4]) == 204
    assert [row['uuid'] for row in rows_of(client)[len(before) :]] == [CONSUMERS[4], HOST]


def test_disk_that_is_full_for_the_change_itself_refuses_it(
    client: Client, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any) -> None:
        raise FULL_DISK

    monkeypatch.setattr(HistorySink, 'write', fail)
    assert put(client, CONSUMERS[0]) == 503
    assert send(client, 'GET', f'/allocations/{CONSUMERS[0]}').json['allocations'] == {}


def test_statement_is_given_up_before_the_only_attempt_is(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = {('placement', 'allocation_conflict_retry_count'): 1}
    with applications.serving(url, ON | once) as client:
        make_host(client)
        monkeypatch.setattr(statements, 'insert', failing(1, db_errors.DBDeadlock(), after=False))
        assert put(client, CONSUMERS[0]) == 204


class InsertFailure(NamedTuple):
    """The number of failures of the insert, before or after its work, and the outcome."""

    times: int
    failure: Exception
    is_after: bool = False
    level: int | None = logging.WARNING
    is_recorded: bool = False
    pauses: bool = False


INSERT_FAILURES = {
    # A request that locks many consumers conflicts with their claims repeatedly.
    'deadlocks': InsertFailure(5, db_errors.DBDeadlock(), level=None, is_recorded=True),
    'deadlock afterwards': InsertFailure(2, db_errors.DBDeadlock(), True, None, True),
    'full disk': InsertFailure(1, FULL_DISK, pauses=True),
    # Noticed when the rows were inserted, as at the COMMIT.
    'full disk afterwards': InsertFailure(100, FULL_DISK, True, pauses=True),
    # It fails twice, and is tried once.
    'locked table': InsertFailure(2, LOCKED_TABLE, pauses=True),
    # A statement that always breaks its connection; the next one may be shorter.
    'broken connection': InsertFailure(100, db_errors.DBConnectionError()),
    'defect': InsertFailure(1, RuntimeError('no'), level=logging.ERROR),
}


@pytest.mark.parametrize('case', INSERT_FAILURES.values(), ids=INSERT_FAILURES)
def test_failure_to_insert_loses_the_rows_and_nothing_else(
    client: Client,
    host: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    case: InsertFailure,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(statements, 'insert', failing(case.times, case.failure, case.is_after))
        assert put(client, CONSUMERS[0]) == 204
    assert put(client, CONSUMERS[1]) == 204
    monkeypatch.setattr(ChangeHistory, 'is_paused', False)
    assert put(client, CONSUMERS[2]) == 204
    records = [one for one in caplog.records if one.name == 'placement_insight.failures']
    assert [one.levelno for one in records] == ([] if case.level is None else [case.level])
    rows = [rows_of(client, f'consumer={consumer}') for consumer in CONSUMERS[:3]]
    assert [*map(len, rows)] == [case.is_recorded, not case.pauses, 1]
    unrecorded = client.send('GET', '/insight').json['unrecorded']
    assert unrecorded == (not case.is_recorded) + case.pauses


@pytest.mark.parametrize('failure', [FULL_DISK, RuntimeError('no')], ids=['disk', 'defect'])
def test_release_does_without_what_only_its_history_reads(
    client: Client, host: str, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    assert put(client, CONSUMERS[0]) == 204

    def fail(*_arguments: Any) -> None:
        raise failure

    monkeypatch.setattr(statements, 'names_of_owners', fail)
    path = f'/allocations/{CONSUMERS[0]}'
    assert send(client, 'DELETE', path).status == 204
    assert send(client, 'GET', path).json['allocations'] == {}
    assert client.send('GET', '/insight').json['unrecorded'] == 1


@on_servers
def test_request_whose_commit_got_no_reply_tells_once(
    service: applications.Service, client: Client, host: str
) -> None:
    proxy = CommitProxy(service.database.url, seed=1)
    statuses: collections.Counter[int] = collections.Counter()
    try:
        with applications.serving(proxy.url, ON) as writer:
            writer.send('GET', '/insight')
            proxy.share = 0.5
            consumers = [str(uuid.uuid4()) for _ in range(30)]
            for consumer in consumers:
                statuses[put(writer, consumer)] += 1
            proxy.share = 0.0
    finally:
        proxy.close()
    assert statuses[204] > 10
    assert proxy.cuts.total() > 5
    for consumer in consumers:
        is_there = bool(send(client, 'GET', f'/allocations/{consumer}').json['allocations'])
        assert len(rows_of(client, f'consumer={consumer}')) == is_there


@pytest.mark.parametrize('method', ['PUT', 'DELETE'])
def test_a_release_by_a_consumer_without_a_record_is_told(
    client: Client, host: str, execute: Callable[[str], None], method: str
) -> None:
    assert put(client, CONSUMERS[0]) == 204
    execute('DELETE FROM consumers')
    body = clouds.claim({}) if method == 'PUT' else None
    assert send(client, method, f'/allocations/{CONSUMERS[0]}', body).status == 204

    last = rows_of(client, f'consumer={CONSUMERS[0]}')[-1]
    assert (last['project_id'], last['generation'], last['state']) == (None, None, None)
    assert rows_of(client, f'provider={host}')[-1]['state']['allocations'] == {
        CONSUMERS[0]: {'resources': {}}
    }


# What is removed of it


NOW = datetime.datetime(2026, 6, 1)


def fill(database: Database, days_old: list[int]) -> None:
    """Rows of this number of days ago."""
    with database.engine.begin() as connection:
        for days in days_old:
            origin = ChangeOrigin(f'req-{days}', None, None, None, None, 'allocations.set')
            statements.insert(connection, origin, [ChangeRow('consumer', CONSUMERS[0])])
            # Of several with the same request, those that are here already have this time, too.
            dated = sa.update(TABLE).where(TABLE.c.request_id == origin.request_id)
            connection.execute(dated.values(at=NOW - datetime.timedelta(days=days)))


def days_left(database: Database) -> list[int]:
    with database.engine.begin() as connection:
        rows = connection.execute(sa.select(TABLE.c.at).order_by(TABLE.c.id))
        return [(NOW - at).days for (at,) in rows]


def history(database: Database, days: int = 30, rows: int = 1000) -> ChangeHistory:
    return ChangeHistory(database, Failures(), days, rows)


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if 'database' in request.fixturenames:
        stop_clocks(monkeypatch, NOW)


#: How many days old rows are, how many may be kept, and what is left after each removal, in two
#: transactions of ten rows.
REMOVALS: dict[str, tuple[list[int], int, list[list[int]]]] = {
    'too old': ([*range(60, 0, -1)], 1000, [[*range(40, 0, -1)], *[[*range(30, 0, -1)]] * 2]),
    'too many': ([1] * 55, 20, [[1] * 35, [1] * 20, [1] * 20]),
    'the last row stays': ([99, 98, 97], 1, [[97], [97]]),
    'a fast clock keeps only what is behind it': ([60, 59, -1, 58, 1], 1000, [[-1, 58, 1]]),
    'none': ([], 1000, [[]]),
}


@pytest.mark.parametrize(('days', 'max_rows', 'left'), REMOVALS.values(), ids=REMOVALS)
def test_rows_that_are_too_old_or_too_many_are_removed(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    days: list[int],
    max_rows: int,
    left: list[list[int]],
) -> None:
    monkeypatch.setattr(change_history, 'REMOVED_AT_ONCE', 10)
    fill(database, days)
    kept = history(database, rows=max_rows)
    for expected in left:
        kept.flush()
        assert days_left(database) == expected


@pytest.mark.usefixtures('brief_patience')
def test_workers_that_remove_at_once_remove_no_more_than_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_history, 'REMOVED_AT_ONCE', 10)
    fill(database, [*range(100, 0, -1)])
    failures = Failures()
    workers = [ChangeHistory(database, failures, 30, 1000) for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        for _ in range(5):
            [*pool.map(ChangeHistory.flush, workers)]

    assert days_left(database) == [*range(30, 0, -1)]
    assert failures.count == 0


@pytest.mark.parametrize('days', [40, -40])
def test_a_worker_with_a_wrong_clock_removes_nothing_for_its_age(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    days: int,
) -> None:
    fill(database, [50, 40, 20, 1])
    turn_clock(monkeypatch, days)
    history(database).flush()
    assert days_left(database) == [50, 40, 20, 1]
    (warning,) = warnings(caplog)
    assert 'the clock of this worker is 40 days' in warning

    history(database, rows=2).flush()
    assert days_left(database) == [20, 1]


def test_a_worker_with_a_wrong_clock_dates_rows_right(
    service: applications.Service, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with applications.serving(service.database.url, ON) as other:
        assert put(other, CONSUMERS[0]) == 204
        turn_clock(monkeypatch, days=40)
        assert put(other, CONSUMERS[1]) == 204
    with service.engine.begin() as connection:
        first, *_, last = connection.scalars(sa.select(TABLE.c.at).order_by(TABLE.c.id)).all()
    assert first <= last < first + datetime.timedelta(days=1)


def test_it_looks_every_ten_seconds_or_five_hundred_rows(database: Database) -> None:
    clock = [100.0]
    kept = ChangeHistory(database, Failures(), 30, 1000, clock=lambda: clock[0])
    assert not kept.is_due
    kept.written(change_history.ROWS_BETWEEN - 1)
    assert not kept.is_due
    kept.written(1)
    assert kept.is_due
    kept.flush()
    assert not kept.is_due
    clock[0] += change_history.SECONDS_BETWEEN
    assert kept.is_due


def test_failure_to_remove_is_a_warning(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with databases.renamed(database.engine, TABLE.name):
        history(database).flush()
    (warning,) = warnings(caplog)
    assert warning.startswith('Removing old history failed, which fails no request: ')


@on_servers
def test_claims_do_not_wait_for_what_is_removed(
    service: applications.Service, client: Client, host: str
) -> None:
    for consumer in CONSUMERS:
        assert put(client, consumer) == 204
    with service.engine.begin() as connection:
        bounds = sa.select(sa.func.min(TABLE.c.id), sa.func.max(TABLE.c.id))
        statements.remove(connection, range(*connection.execute(bounds).one()))
        # One that waited would be refused when it has waited for as long as it may.
        assert put(client, HOST) == 204


@pytest.mark.usefixtures('brief_patience')
def test_rows_are_removed_while_others_claim(
    service: applications.Service,
    client: Client,
    host: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(change_history, 'ROWS_BETWEEN', 10)
    # Far more than is written meanwhile, as the 500 rows of the service are.
    monkeypatch.setattr(change_history, 'REMOVED_AT_ONCE', 100)
    options = {**ON, ('history', 'max_rows'): 50}
    with applications.serving(service.database.url, options) as other:

        def work(number: int) -> list[int]:
            statuses = []
            for one in range(30):
                consumer = str(uuid.UUID(int=1000 * number + one + 1))
                statuses.append(put(other, consumer))
                path = f'/allocations/{consumer}'
                statuses.append(send(other, 'DELETE', path).status)
            return statuses

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            statuses = [one for found in pool.map(work, range(4)) for one in found]
        assert collections.Counter(statuses) == {204: 240}
        assert warnings(caplog) == []
        # What the last requests wrote, and each thread between two looks.
        assert 50 <= len(rows_of(client)) <= 50 + 4 * 2 * 10
