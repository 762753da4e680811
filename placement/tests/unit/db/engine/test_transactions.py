# SPDX-License-Identifier: Apache-2.0
"""Transactions: how they begin, nest, repeat and give up."""

import concurrent.futures
import multiprocessing
import pathlib
import time
import types
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier

import pymysql
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement import errors
from placement.context import RequestContext
from placement.db.changes import Changes, NameChange, NameKind, Part
from placement.db.engine import transactions
from placement.db.engine.backoff import FIRST_DELAY, MAX_DELAY
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.db.schema import migration, tables
from placement.db.transaction import in_transaction
from placement.feed.sink import open_database
from placement.tests.opened import database_on
from placement.tests.unit.middleware.samples import configuration

CONFLICTS = [
    db_errors.DBDeadlock(),
    db_errors.DBDuplicateEntry(['name']),
    db_errors.DBReferenceError('traits', 'constraint', 'key', 'key_table'),
]


class Writer:
    """An object that is told what to raise at each attempt."""

    def __init__(self, context: RequestContext, *failures: Exception | None) -> None:
        self._context = context
        self._failures = list(failures)
        self.attempts = 0

    @in_transaction(Mode.WRITE)
    def insert(self, name: str) -> int:
        """Insert a trait and fail as told; the last failure stays."""
        self.attempts += 1
        self._context.connection.execute(sa.insert(tables.traits).values(name=name))
        self._context.changes.name(NameChange(NameKind.TRAIT, name))
        failure = self._failures.pop(0) if len(self._failures) > 1 else self._failures[0]
        if failure is not None:
            raise failure
        return self.attempts

    @in_transaction(Mode.READ)
    def read(self) -> list[str]:
        """The names of all traits."""
        self.attempts += 1
        if self._failures and self._failures[0] is not None:
            raise self._failures[0]
        return list(self._context.connection.scalars(sa.select(tables.traits.c.name)))


@pytest.fixture
def context(database: Database) -> RequestContext:
    """A context without an open transaction."""
    return RequestContext(database)


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The delays between the attempts of a writer."""
    found: list[float] = []
    monkeypatch.setattr(time, 'sleep', found.append)
    return found


def let_pass(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    """Let so many seconds pass between two looks at the clock."""
    times = iter(range(0, 1000, seconds))
    clock = types.SimpleNamespace(monotonic=lambda: float(next(times)))
    monkeypatch.setattr(transactions, 'time', clock)


def names(context: RequestContext) -> list[str]:
    """The traits that are stored."""
    return Writer(context).read()


# Repeating


@pytest.mark.parametrize(
    'failure', [*CONFLICTS, db_errors.DBConnectionError()], ids=lambda error: type(error).__name__
)
def test_writer_retries_the_whole_transaction(
    context: RequestContext, failure: Exception, delays: list[float]
) -> None:
    writer = Writer(context, failure, failure, None)

    assert writer.insert('CUSTOM_A') == 3
    assert names(context) == ['CUSTOM_A']
    assert len(delays) == 2


def test_reader_raises_unavailable_after_few_attempts(
    context: RequestContext, delays: list[float]
) -> None:
    reader = Writer(context, db_errors.DBConnectionError())

    with pytest.raises(errors.DatabaseUnavailable):
        reader.read()

    assert reader.attempts == transactions.READ_ATTEMPTS


def of_mysql(number: int) -> Exception:
    """An error of MySQL as oslo.db passes it on."""
    original = pymysql.err.OperationalError(number, 'secret words')
    return db_errors.DBError(sa.exc.OperationalError('SELECT secret', {}, original))


@pytest.mark.parametrize(
    ('number', 'answer', 'attempts'),
    [
        (1213, errors.TooManyConflicts, transactions.WRITE_ATTEMPTS),
        (1467, errors.TooManyConflicts, transactions.WRITE_ATTEMPTS),
        (1927, errors.DatabaseUnavailable, transactions.WRITE_ATTEMPTS),
        (1180, errors.DatabaseUnavailable, transactions.WRITE_ATTEMPTS),
        (1205, errors.DatabaseBusy, 1),
        (1021, errors.DatabaseUnusable, 1),
        (1034, errors.DatabaseUnusable, 1),
        (1045, errors.DatabaseUnusable, 1),
        (1146, errors.DatabaseNotMigrated, 1),
        (1264, errors.BadRequest, 1),
        (1406, errors.BadRequest, 1),
    ],
)
def test_cause_decides_about_attempts_and_answer(
    context: RequestContext,
    delays: list[float],
    caplog: pytest.LogCaptureFixture,
    number: int,
    answer: type[errors.PlacementError],
    attempts: int,
) -> None:
    writer = Writer(context, of_mysql(number))

    with pytest.raises(answer) as raised:
        writer.insert('CUSTOM_A')

    assert writer.attempts == attempts
    assert names(context) == []
    assert 'secret' not in str(raised.value)
    assert all('SELECT' not in record.getMessage() for record in caplog.records)


def duplicate(key: str) -> Exception:
    original = pymysql.err.IntegrityError(1062, f"Duplicate entry '{key}' for key 'name'")
    return db_errors.DBDuplicateEntry(['name'], sa.exc.IntegrityError('', {}, original))


def test_key_that_stays_a_duplicate_is_not_tried_ten_times(context: RequestContext) -> None:
    writer = Writer(context, duplicate('a'))

    with pytest.raises(errors.DuplicateKey):
        writer.insert('CUSTOM_A')

    assert writer.attempts == transactions.SAME_DUPLICATES
    assert names(context) == []


def test_keys_that_others_insert_one_after_the_other_are_tried_on(
    context: RequestContext, delays: list[float]
) -> None:
    writer = Writer(context, *(duplicate(str(number)) for number in range(6)), None)
    assert writer.insert('CUSTOM_A') == 7


def test_unknown_failure_of_the_database_is_a_defect_and_unavailable(
    context: RequestContext, caplog: pytest.LogCaptureFixture
) -> None:
    writer = Writer(context, of_mysql(1568))

    with pytest.raises(errors.DatabaseFailed) as raised:
        writer.insert('CUSTOM_A')

    assert raised.value.retry_after is None
    assert writer.attempts == 1
    (record,) = (one for one in caplog.records if one.levelname == 'ERROR')
    assert record.exc_info
    assert 'secret words' not in str(raised.value)
    assert names(context) == []


def test_error_of_a_statement_stays_as_it_is(context: RequestContext) -> None:
    original = pymysql.err.ProgrammingError(1064, 'syntax')
    with pytest.raises(sa.exc.ProgrammingError):
        Writer(context, sa.exc.ProgrammingError('', {}, original)).insert('CUSTOM_A')


def test_writer_begins_no_attempt_after_its_time_is_up(
    context: RequestContext, delays: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let each attempt take 11 seconds, as the driver does with a silent server."""
    let_pass(monkeypatch, seconds=11)
    writer = Writer(context, db_errors.DBConnectionError())

    with pytest.raises(errors.DatabaseUnavailable):
        writer.insert('CUSTOM_A')

    assert writer.attempts == 2


def test_writer_tries_again_after_a_first_conflict_that_came_late(
    context: RequestContext, delays: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the locks of others, which the first attempt waits for, take 30 seconds."""
    let_pass(monkeypatch, seconds=30)
    writer = Writer(context, db_errors.DBDeadlock(), None)

    assert writer.insert('CUSTOM_A') == 2


def test_backoff_is_short_and_bounded_and_has_jitter(
    context: RequestContext, delays: list[float]
) -> None:
    with pytest.raises(errors.ConcurrentUpdate) as raised:
        Writer(context, db_errors.DBDeadlock()).insert('CUSTOM_A')
    first = delays[0]

    assert (raised.value.status, raised.value.code) == (409, 'placement.concurrent_update')
    assert first <= 2 * FIRST_DELAY
    assert max(delays) <= 2 * MAX_DELAY
    assert sum(delays) < 10
    del delays[:]
    Writer(context, db_errors.DBDeadlock(), None).insert('CUSTOM_A')
    assert delays[0] != first


@pytest.mark.parametrize('failure', [ValueError('no'), errors.Conflict('no')])
def test_writer_does_not_retry_other_errors_and_rolls_back(
    context: RequestContext, failure: Exception
) -> None:
    writer = Writer(context, failure)

    with pytest.raises(type(failure)):
        writer.insert('CUSTOM_A')

    assert writer.attempts == 1
    assert names(context) == []
    with pytest.raises(RuntimeError, match='no transaction is open'):
        _ = context.connection


# Nesting


def test_function_called_in_a_transaction_joins_it(context: RequestContext) -> None:
    seen = []
    begun: list[sa.Connection] = []
    sa.event.listen(context.database.engine, 'begin', begun.append)

    @in_transaction(Mode.READ)
    def inner_reader(context: RequestContext) -> list[str]:
        seen.append(context.connection)
        return list(context.connection.scalars(sa.select(tables.traits.c.name)))

    @in_transaction(Mode.WRITE)
    def inner_writer(context: RequestContext) -> None:
        seen.append(context.connection)
        context.connection.execute(sa.insert(tables.traits).values(name='CUSTOM_A'))
        context.changes.name(NameChange(NameKind.TRAIT, 'CUSTOM_A'))

    @in_transaction(Mode.WRITE)
    def outer(context: RequestContext) -> list[str]:
        seen.append(context.connection)
        inner_writer(context)
        return inner_reader(context)

    assert outer(context) == ['CUSTOM_A']
    assert len(set(map(id, seen))) == 1
    assert len(begun) == 1
    with pytest.raises(RuntimeError, match='no transaction is open'):
        _ = context.connection


def test_error_of_the_outer_function_rolls_back_the_inner_one(context: RequestContext) -> None:
    inner = Writer(context, None)

    @in_transaction(Mode.WRITE)
    def outer(_context: RequestContext) -> None:
        inner.insert('CUSTOM_A')
        raise ValueError('after all')

    with pytest.raises(ValueError, match='after all'):
        outer(context)

    assert names(context) == []


def test_conflict_of_the_inner_function_retries_the_outer_one(
    context: RequestContext, delays: list[float]
) -> None:
    inner = Writer(context, db_errors.DBDeadlock(), None)
    attempts = []

    @in_transaction(Mode.WRITE)
    def outer(_context: RequestContext) -> None:
        attempts.append(inner.attempts)
        inner.insert('CUSTOM_A')

    outer(context)

    assert attempts == [0, 1]
    assert names(context) == ['CUSTOM_A']


# SQLite in a file


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / 'placement.sqlite'


@pytest.fixture
def on_file(path: pathlib.Path) -> Iterator[Database]:
    """A migrated database in a file."""
    engine = create_engine(f'sqlite:///{path}')
    migration.sync(engine)
    database = database_on(engine)
    yield database
    database.dispose()


@pytest.mark.parametrize(('is_synchronous', 'synchronous'), [(True, 2), (False, 0)])
def test_sqlite_file_has_a_write_ahead_log_and_foreign_keys(
    path: pathlib.Path, is_synchronous: bool, synchronous: int
) -> None:
    engine = create_engine(f'sqlite:///{path}', sqlite_synchronous=is_synchronous)
    with engine.begin() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f'PRAGMA {name}').scalar()
            for name in ('journal_mode', 'foreign_keys', 'synchronous')
        }
    engine.dispose()

    # 2 is FULL: what was acknowledged survives a power cut.
    assert pragmas == {'journal_mode': 'wal', 'foreign_keys': 1, 'synchronous': synchronous}


def in_threads(count: int, work: Callable[[int], object]) -> None:
    """Run a function in several threads, and raise the failure of any."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(work, range(count), timeout=60))


@pytest.mark.parametrize('kind', ['on_file', 'database'])
def test_writers_wait_for_each_other_and_lose_no_update(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """Increment a generation in many threads, with a pause between read and write."""
    database = request.getfixturevalue(kind)
    with database.engine.begin() as connection:
        connection.execute(
            sa.insert(tables.resource_providers).values(uuid='u', name='n', generation=0)
        )

    def count_up(_number: int) -> None:
        changes = Changes()
        changes.provider([1], Part.PLACE)
        with database.begin(Mode.WRITE, changes=changes) as connection:
            generation = connection.scalar(sa.select(tables.resource_providers.c.generation))
            time.sleep(0.002)
            connection.execute(
                sa.update(tables.resource_providers).values(generation=generation + 1)
            )

    in_threads(8, count_up)

    with database.begin(Mode.READ) as connection:
        assert connection.scalar(sa.select(tables.resource_providers.c.generation)) == 8


def _open_and_write(url: str, number: int, barrier: Barrier) -> None:
    """Open a file that does not exist yet, migrate it, and write."""
    engine = create_engine(url)
    barrier.wait(60)
    migration.sync(engine)
    Writer(RequestContext(database_on(engine)), None).insert(f'CUSTOM_{number}')
    engine.dispose()


def test_processes_can_create_one_file_concurrently(path: pathlib.Path) -> None:
    # Forked from a process of its own, which has neither threads nor connections to inherit.
    start = multiprocessing.get_context('forkserver')
    start.set_forkserver_preload([__name__])
    barrier = start.Barrier(8)
    url = f'sqlite:///{path}'
    processes = [
        start.Process(target=_open_and_write, args=(url, number, barrier)) for number in range(8)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)

    assert [process.exitcode for process in processes] == [0] * 8
    engine = create_engine(url)
    stored = names(RequestContext(database_on(engine)))
    engine.dispose()
    assert sorted(stored) == [f'CUSTOM_{number}' for number in range(8)]


def test_only_contexts_that_allow_it_read_the_replica(
    tmp_path: pathlib.Path, on_file: Database, path: pathlib.Path
) -> None:
    replica = tmp_path / 'replica.sqlite'
    conf = configuration(
        placement_database__connection=f'sqlite:///{path}',
        placement_database__slave_connection=f'sqlite:///{replica}',
    )
    database = open_database(conf)
    copy = create_engine(f'sqlite:///{replica}')
    migration.sync(copy)
    context = RequestContext()
    context.attach(database, allow_replica_read=True)
    Writer(context, None).insert('CUSTOM_A')

    @in_transaction(Mode.WRITE)
    def read_to_write(context: RequestContext) -> list[str]:
        return names(context)

    assert names(context) == []
    assert names(RequestContext(database)) == ['CUSTOM_A']
    assert read_to_write(context) == ['CUSTOM_A']
    database.dispose()
    copy.dispose()
