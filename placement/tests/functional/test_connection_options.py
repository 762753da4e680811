# SPDX-License-Identifier: Apache-2.0
"""The effect of each option of [placement_database] on the connections of a service.

Observed from outside: settings of sessions, connections in the server, answers to clients, and the
log. On SQLite only the options that apply there are tested.
"""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.engine import transactions
from placement.db.engine.engines import create_engine
from placement.db.engine.failures import DATABASE_ERRORS
from placement.db.engine.timeouts import Timeouts
from placement.db.mode import Mode
from placement.db.schema import migration
from placement.feed.keeper import SnapshotKeeper
from placement.microversions import NEWEST
from placement.tests.opened import database_on
from placement.tests.waiting import wait_until

from .fixtures import applications, clouds, databases
from .fixtures.backends import on_mysql, on_postgresql, on_servers, on_sqlite, without_pooler
from .fixtures.tcp_proxy import TcpProxy

#: Seconds after which what should have happened by now never will.
TIMEOUT = 60


@pytest.fixture
def patience() -> None:
    """Keep the default timeouts, which are tested here."""


def connected(url: str, **options: Any) -> contextlib.AbstractContextManager[applications.Worker]:
    """A service with these options of [placement_database]."""
    wanted = {('placement_database', name): value for name, value in options.items()}
    return applications.serving(url, wanted)


@contextlib.contextmanager
def every_session(url: str, **options: Any) -> Iterator[list[sa.Connection]]:
    """Two connections for writing and two for reading, of a service with a replica."""
    with (
        connected(url, slave_connection=url, **options) as client,
        contextlib.ExitStack() as stack,
    ):
        begin = client.database.begin
        wanted = ((Mode.WRITE, False), (Mode.READ, True), (Mode.READ, False), (Mode.READ, True))
        yield [stack.enter_context(begin(mode, may_lag)) for mode, may_lag in wanted]


class Watch:
    """Lists the connections to a database on the server, except earlier ones."""

    STATEMENTS = {
        'mysql': 'SELECT id FROM information_schema.processlist WHERE db = :name',
        'postgresql': 'SELECT pid FROM pg_stat_activity WHERE datname = :name',
    }

    def __init__(self, url: str) -> None:
        self._name = sa.make_url(url).database
        self._engine = sa.create_engine(os.environ[databases.VARIABLE], poolclass=sa.NullPool)
        self._before: frozenset[int] = frozenset()
        self._before = self.connections()

    def connections(self) -> frozenset[int]:
        """The numbers that the server gave to them."""
        statement = sa.text(self.STATEMENTS[databases.backend()])
        with self._engine.connect() as connection:
            found = connection.scalars(statement, {'name': self._name}).all()
        return frozenset(found) - self._before

    def wait_for(self, is_so: Callable[[frozenset[int]], bool]) -> frozenset[int]:
        """The connections when they are as expected; servers take their time to close some."""
        deadline = time.monotonic() + TIMEOUT
        while not is_so(found := self.connections()):
            assert time.monotonic() < deadline, found
            time.sleep(0.02)
        return found


@on_mysql
@pytest.mark.parametrize('mode', ['TRADITIONAL', 'ANSI_QUOTES,STRICT_ALL_TABLES', ''])
def test_sessions_have_the_configured_sql_mode_or_that_of_the_server(url: str, mode: str) -> None:
    question = sa.text('SELECT @@SESSION.sql_mode, @@GLOBAL.sql_mode')
    with every_session(url, mysql_sql_mode=mode) as sessions:
        for session in sessions:
            own, given = session.execute(question).one()
            assert set(mode.split(',')) <= set(own.split(',')) if mode else own == given != ''
            quoted = session.scalar(sa.text('SELECT MAX("id") FROM traits'))
            assert (quoted != 'id') == ('ANSI_QUOTES' in own)


#: Options by engine, a question about a session, and the answer.
SESSIONS: dict[str, list[tuple[dict[str, Any], str, Any]]] = {
    'sqlite': [
        ({'sqlite_synchronous': True}, 'PRAGMA synchronous', 2),
        ({'sqlite_synchronous': False}, 'PRAGMA synchronous', 0),
    ],
    'mysql': [
        ({}, 'SELECT @@innodb_lock_wait_timeout', 5),
        ({'lock_timeout': 7}, 'SELECT @@innodb_lock_wait_timeout', 7),
        ({'lock_timeout': 7}, 'SELECT @@lock_wait_timeout', 7),
        ({}, 'SELECT @@group_concat_max_len', 2**24),
        (
            {'connection_parameters': 'init_command=SET SESSION wait_timeout=77'},
            'SELECT @@wait_timeout',
            77,
        ),
    ],
    'postgresql': [
        ({}, 'SHOW lock_timeout', '5s'),
        ({'lock_timeout': 7}, 'SHOW lock_timeout', '7s'),
        (
            {'connection_parameters': 'application_name=options'},
            'SHOW application_name',
            'options',
        ),
    ],
}


@pytest.mark.parametrize(('options', 'question', 'expected'), SESSIONS[databases.backend()])
def test_every_session_has_what_the_options_say(
    url: str, options: dict[str, Any], question: str, expected: Any
) -> None:
    # With and without other parameters of the driver.
    for address in {url, url.partition('?')[0]}:
        with every_session(address, **options) as sessions:
            answers = [session.scalar(sa.text(question)) for session in sessions]
            assert answers == [expected] * 4


@on_servers
@without_pooler
@pytest.mark.parametrize(('seconds', 'is_replaced'), [(1, True), (3600, False)])
def test_pool_replaces_an_old_connection(url: str, seconds: int, is_replaced: bool) -> None:
    watch = Watch(url)
    with connected(url, connection_recycle_time=seconds) as client:
        assert client.send('GET', '/traits', version=NEWEST).status == 200
        before = watch.wait_for(lambda found: len(found) == 1)
        time.sleep(1.1)
        assert client.send('GET', '/traits', version=NEWEST).status == 200
        after = watch.wait_for(lambda found: len(found) == 1)
    assert (before != after) == is_replaced


REQUESTS = (
    ('GET', '/traits', None),
    ('GET', '/allocation_candidates?resources=VCPU:1', None),
    ('PUT', '/traits/CUSTOM_OPTION', None),
    ('POST', '/resource_providers', {'name': 'host'}),
)


@on_servers
def test_exhausted_pool_answers_503(url: str) -> None:
    options = {'max_pool_size': 1, 'max_overflow': 0, 'pool_timeout': 1}
    with connected(url, **options) as client:
        with client.database.begin(Mode.WRITE):
            for method, path, body in REQUESTS:
                answer = client.send(method, path, body, version=NEWEST)
                assert answer.status == 503, answer.text
                assert 'please try again' in answer.json['errors'][0]['detail']
            assert client.send('GET', '/healthcheck').status == 503
        for method, path, body in REQUESTS:
            assert client.send(method, path, body, version=NEWEST).status < 300
        assert client.send('GET', '/healthcheck').status == 200


@on_sqlite
def test_sqlite_pool_is_unlimited(url: str) -> None:
    with (
        connected(url, max_pool_size=1, max_overflow=0, pool_timeout=1) as client,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(20):
            stack.enter_context(client.database.begin(Mode.READ))
        for method, path, body in REQUESTS:
            assert client.send(method, path, body, version=NEWEST).status < 300


@on_servers
@without_pooler
@pytest.mark.parametrize(('size', 'overflow'), [(1, 1), (2, 0), (1, 2)])
def test_pool_overflows_and_shrinks_to_its_size(url: str, size: int, overflow: int) -> None:
    watch = Watch(url)
    options = {'max_pool_size': size, 'max_overflow': overflow, 'pool_timeout': 1}
    with connected(url, **options) as client:
        with contextlib.ExitStack() as stack:
            for _ in range(size + overflow - 1):
                stack.enter_context(client.database.begin(Mode.READ))
            assert client.send('GET', '/traits', version=NEWEST).status == 200
            stack.enter_context(client.database.begin(Mode.READ))
            assert len(watch.connections()) == size + overflow
            assert client.send('GET', '/traits', version=NEWEST).status == 503
        watch.wait_for(lambda found: len(found) == size)
        assert client.send('GET', '/traits', version=NEWEST).status == 200
        assert len(watch.connections()) == size


@pytest.fixture
def statements(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[int], list[str]]]:
    """The messages of SQLAlchemy in the log at a level."""
    logger = logging.getLogger('sqlalchemy.engine')
    before = logger.level

    def logged(level: int) -> list[str]:
        return [
            record.getMessage()
            for record in caplog.records
            if record.levelno == level and record.name.startswith(logger.name)
        ]

    yield logged
    logger.setLevel(before)


@pytest.mark.parametrize(
    ('amount', 'has_statements', 'has_rows'),
    [(0, False, False), (50, True, False), (100, True, True)],
)
def test_option_makes_sqlalchemy_log_statements(
    url: str,
    statements: Callable[[int], list[str]],
    amount: int,
    has_statements: bool,
    has_rows: bool,
) -> None:
    with connected(url, connection_debug=amount) as client:
        assert client.send('GET', '/traits', version=NEWEST).status == 200
    assert any('FROM traits' in line for line in statements(logging.INFO)) == has_statements
    assert any('HW_CPU_X86_AVX' in line for line in statements(logging.DEBUG)) == has_rows


@pytest.mark.parametrize('is_traced', [True, False])
def test_option_adds_the_origin_to_logged_statements(
    url: str, statements: Callable[[int], list[str]], is_traced: bool
) -> None:
    with connected(url, connection_debug=50, connection_trace=is_traced) as client:
        clouds.build((clouds.Provider('host', {'VCPU': 1}),), client)
        assert client.send('GET', '/traits', version=NEWEST).status == 200
    logged = [line for line in statements(logging.INFO) if 'FROM traits' in line]
    assert logged
    for line in logged:
        _statement, _, origin = line.partition('  -- File: ')
        assert (f'{os.sep}placement{os.sep}db{os.sep}' in origin) == is_traced, line


@on_sqlite
def test_connection_parameters_reach_sqlite(url: str) -> None:
    missing = f'{sa.make_url(url).database}.missing'
    options = {'connection_parameters': 'mode=rw&uri=true'}
    with (
        pytest.raises(Exception, match='unable to open database file'),
        connected(f'sqlite:///file:{missing}', **options),
    ):
        pytest.fail('a file was made that was only to be read and written')  # pragma: no cover
    assert not os.path.exists(missing)


INTERVAL = 7


@pytest.fixture
def proxy(url: str) -> Iterator[TcpProxy]:
    proxy = TcpProxy(url)
    yield proxy
    proxy.close()


@on_servers
@pytest.mark.parametrize('option', ['connection', 'slave_connection'])
def test_service_waits_at_start_for_its_database(
    url: str, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    waited = []

    def sleep(seconds: float) -> None:
        # Others than who waits for a database wait for less.
        if seconds == INTERVAL:
            waited.append(seconds)
            if len(waited) == 2:
                proxy.forward_to(url)

    monkeypatch.setattr(time, 'sleep', sleep)
    options = {option: proxy.url, 'max_retries': 3, 'retry_interval': INTERVAL}
    with connected(url, **options) as client:
        assert client.send('GET', '/traits', version=NEWEST).status == 200
    assert len(waited) == 2


#: The time of a request that ends at a timeout of a second, however busy the machine is.
BOUND = 15


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Check that the block takes no longer."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


@on_servers
def test_silent_server_is_answered_503_within_the_timeouts(
    url: str, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Freeze a proxy that keeps its connections open, so that TCP detects no failure."""
    monkeypatch.setattr(transactions, 'MAX_RETRY_SECONDS', 1)
    proxy.forward_to(url)
    with connected(proxy.url, connect_timeout=2, response_timeout=1) as client:
        for method, path, body in (*REQUESTS, ('GET', '/healthcheck', None)):
            assert client.send('GET', '/traits', version=NEWEST).status == 200
            proxy.freeze()
            with within(BOUND):
                assert client.send(method, path, body, version=NEWEST).status == 503
            assert client.send('GET', '/', version=NEWEST).status == 200
            proxy.thaw()
    assert [record for record in caplog.records if record.exc_info] == []


@on_servers
def test_start_tries_a_silent_server_again(
    url: str, proxy: TcpProxy, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.forward_to(url)
    proxy.freeze()
    bounds = Timeouts(connect=2, response=1)
    with pytest.raises(DATABASE_ERRORS):
        create_engine(proxy.url, max_retries=2, retry_interval=0, bounds=bounds)
    proxy.thaw()
    attempts = [text for text in caplog.messages if text.startswith('Attempt ')]
    assert [text.split()[1] for text in attempts] == ['1']


@on_servers
def test_searches_that_wait_for_a_silent_server_fail_with_the_first(
    url: str, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, 'MAX_RETRY_SECONDS', -1)
    proxy.forward_to(url)
    database = database_on(create_engine(proxy.url))
    keeper, attempts = SnapshotKeeper(database), list[object]()
    keeper.current()
    for event in ('checkout', 'do_connect'):
        sa.event.listen(database.engine, event, lambda *arguments: attempts.append(arguments))
    proxy.freeze()
    with futures.ThreadPoolExecutor(max_workers=6) as pool:
        searches = [pool.submit(keeper.current) for _ in range(6)]
        wait_until(lambda: keeper.turn.waiting == 5)
        proxy.cut()
        failures = [search.exception(TIMEOUT) for search in searches]
    assert [type(failure) for failure in failures] == [errors.DatabaseUnavailable] * 6
    assert len(attempts) == 1
    proxy.thaw()
    keeper.current()
    database.dispose()


@on_servers
def test_locked_row_is_answered_503_within_the_lock_timeout(url: str) -> None:
    """Hold a row lock, as a frozen worker would; requests that do not need the row do not wait."""
    with connected(url, lock_timeout=1) as client:
        clouds.build((clouds.Provider('host', {'VCPU': 10}),), client)
        with client.database.begin(Mode.WRITE) as connection:
            connection.execute(sa.text('SELECT id FROM resource_providers FOR UPDATE')).all()
            with within(BOUND):
                answer = clouds.put_claim(client, 'server')
            assert answer.status == 503
            assert answer.json['errors'][0]['detail'].strip().endswith('try again.')
            for reading in ('/allocation_candidates?resources=VCPU:1', '/traits', '/healthcheck'):
                assert client.send('GET', reading, version=NEWEST).status == 200
        assert clouds.put_claim(client, 'server').status == 204


@on_servers
def test_parameters_of_the_url_win_over_the_timeouts(url: str) -> None:
    name = {'mysql': 'read_timeout', 'postgresql': 'tcp_user_timeout'}[databases.backend()]
    with connected(url, connection_parameters=f'{name}=4321') as client:
        assert client.database.engine.url.query[name] == '4321'


@on_servers
def test_migration_is_not_bounded_by_the_timeouts(url: str) -> None:
    """Run statements longer than the timeouts: a migration may wait for another one."""
    sleep = {'mysql': 'SELECT SLEEP(2)', 'postgresql': 'SELECT pg_sleep(2)'}[databases.backend()]
    with connected(url, lock_timeout=1, response_timeout=1) as client:
        with migration.migrating(client.database.engine) as connection:
            connection.execute(sa.text(sleep))
        with pytest.raises(DATABASE_ERRORS), client.database.begin(Mode.WRITE) as connection:
            connection.execute(sa.text(sleep))


@on_mysql
def test_settings_of_the_server_change_no_answer(url: str) -> None:
    """Change session settings that an operator may have configured for the whole server."""
    names = "SHOW VARIABLES WHERE Variable_name IN ('tx_read_only', 'transaction_read_only')"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        read_only = connection.scalar(sa.text(names))
    settings = f'completion_type=1, {read_only}=1, sql_select_limit=1, sql_safe_updates=1'
    options = {'connection_parameters': f'init_command=SET SESSION {settings}'}
    with connected(url, **options) as client:
        clouds.build((clouds.Provider('one', {'VCPU': 1}), clouds.Provider('two')), client)
        for method, path, body in (*REQUESTS, ('GET', '/healthcheck', None)):
            answer = client.send(method, path, body, version=NEWEST)
            assert answer.status < 300, answer.text
        listed = client.send('GET', '/resource_providers', version=NEWEST)
        assert len(listed.json['resource_providers']) == 3
        assert client.send('DELETE', '/traits/CUSTOM_OPTION', version=NEWEST).status == 204


@on_postgresql
@without_pooler
def test_no_statement_is_prepared(url: str) -> None:
    with connected(url) as client:
        for _ in range(10):
            assert client.send('GET', '/traits', version=NEWEST).status == 200
        with client.database.begin(Mode.READ) as connection:
            prepared = connection.scalar(sa.text('SELECT COUNT(*) FROM pg_prepared_statements'))
    assert prepared == 0


@on_postgresql
def test_start_refuses_to_prepare_statements(url: str) -> None:
    """A pooler may execute what another worker has prepared with the same name."""
    with (
        pytest.raises(sa.exc.ArgumentError, match='Remove prepare_threshold'),
        connected(url, connection_parameters='prepare_threshold=0'),
    ):
        pytest.fail('it started')  # pragma: no cover
