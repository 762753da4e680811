# SPDX-License-Identifier: Apache-2.0
"""Insight beside upstream, which serves concurrent writers: nothing is written, nobody waits."""

import collections
import contextlib
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from placement.microversions import NEWEST
from placement.tests.databases.conftest import SERVERS
from placement.tests.databases.test_upgrade import OURS, UPSTREAM, manage
from placement.tests.functional.fixtures import applications, databases, workers, workload
from placement.tests.functional.fixtures.client import Answer
from placement.tests.functional.fixtures.freshness_workload import Workload
from placement.tests.functional.fixtures.insight_questions import differences, list_questions
from placement.tests.waiting import TIMEOUT, wait_until

# How long writers write before they pause, how many of them, and how many times.
SECONDS, WRITERS, ROUNDS = 3, 3, 2
READERS = 2

# Seconds for which a copy of the cloud answers.
MAX_AGE = 1

PASSWORD = 'of-the-account'

#: The page whose instructions create and drop the account.
PAGE = pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'look-at-your-cloud.rst'

# What only reads, or sets something of the session or transaction itself.
HARMLESS = re.compile(
    r'(?i)\s*(SELECT|SET|SHOW|DESCRIBE|BEGIN|COMMIT|ROLLBACK|FETCH|CLOSE'
    r'|DECLARE "\w+" CURSOR FOR SELECT)\b'
)


class Account:
    """An account that may only read one database, and how the server is asked about it.

    `seen` is the number of transactions of it that were looked at, `pause` the seconds between two
    looks. `certain` is a part of a statement that is seen, however short it runs.
    """

    pause = 0.002
    certain = ''

    def __init__(self, name: str, url: str, engine: sa.Engine) -> None:
        self.name = name
        self.url = url
        self.seen = 0
        self._engine = engine

    def _rows(self, statement: str) -> Sequence[Sequence[Any]]:
        with self._engine.connect() as connection:
            return connection.execute(sa.text(statement), {'name': self.name}).all()

    def watch(self) -> list[str]:
        """The forbidden actions of the account's sessions at this moment."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin to note the statements that the server gets from the account."""

    def end(self) -> Sequence[str]:
        """The statements since then."""
        raise NotImplementedError


class MariaDBAccount(Account):
    """An account of MariaDB, whose general log has every statement."""

    #: InnoDB shows the transactions of before to who has looked less than 0.1 s ago.
    pause = 0.11
    certain = 'resource_providers'

    def watch(self) -> list[str]:
        rows = self._rows(
            'SELECT trx_rows_locked, trx_tables_locked, trx_rows_modified, trx_lock_structs'
            ' FROM information_schema.innodb_trx JOIN information_schema.processlist'
            ' ON id = trx_mysql_thread_id WHERE user = :name'
        )
        self.seen += len(rows)
        return [f'locked, tables locked, modified, structs: {row}' for row in rows if any(row)]

    def begin(self) -> None:
        ((self._output,),) = self._rows('SELECT @@GLOBAL.log_output')
        with self._engine.connect() as connection:
            connection.execute(sa.text("SET GLOBAL log_output = 'TABLE'"))
            connection.execute(sa.text('SET GLOBAL general_log = 1'))

    def end(self) -> Sequence[str]:
        with self._engine.connect() as connection:
            connection.execute(sa.text('SET GLOBAL general_log = 0'))
            connection.execute(sa.text(f"SET GLOBAL log_output = '{self._output}'"))
            statements = self._rows(
                "SELECT argument FROM mysql.general_log WHERE command_type IN ('Query', 'Execute')"
                " AND user_host LIKE CONCAT('%', :name, '%')"
            )
            connection.execute(sa.text('TRUNCATE mysql.general_log'))
        return [text.decode() if isinstance(text, bytes) else text for (text,) in statements]


class PostgreSQLAccount(Account):
    """An account of PostgreSQL, whose log may be anywhere: its sessions are looked at instead."""

    def begin(self) -> None:
        self._statements: set[str] = set()

    def watch(self) -> list[str]:
        sessions = self._rows(
            'SELECT query, backend_xid FROM pg_stat_activity'
            " WHERE usename = :name AND state <> 'idle'"
        )
        locks = self._rows(
            'SELECT locktype, mode, granted FROM pg_locks JOIN pg_stat_activity USING (pid)'
            " WHERE usename = :name AND mode <> 'AccessShareLock' AND locktype <> 'virtualxid'"
        )
        waiting = self._rows(
            'SELECT waiting.query FROM pg_stat_activity AS waiting'
            ' JOIN pg_stat_activity AS session'
            ' ON session.pid = ANY (pg_blocking_pids(waiting.pid)) WHERE session.usename = :name'
        )
        self.seen += len(sessions)
        self._statements |= {query for query, _xid in sessions}
        # Only transactions that write have an id.
        writing = [f'{query} has a transaction id' for query, xid in sessions if xid]
        return [*writing, *map(str, locks), *map(str, waiting)]

    def end(self) -> Sequence[str]:
        return [*self._statements]


#: The kind of account on each engine, and the client of its server that the page names.
KINDS: dict[str, tuple[type[Account], str]] = {
    'mysql': (MariaDBAccount, 'mysql'),
    'postgresql': (PostgreSQLAccount, 'psql'),
}


@contextlib.contextmanager
def account(url: str) -> Iterator[Account]:
    """An account that may SELECT from the tables of a database, and nothing else."""
    parsed = sa.make_url(url)
    name = f'look_{uuid.uuid4().hex[:8]}'
    engine = sa.create_engine(url, isolation_level='AUTOCOMMIT')
    own_url = parsed.set(username=name, password=PASSWORD).render_as_string(hide_password=False)
    kind, client = KINDS[parsed.get_backend_name()]
    own = {'look': name, 'SECRET': PASSWORD, 'placement': str(parsed.database)}

    def follow(title: str) -> None:
        with engine.connect() as connection:
            for statement in statements_of_page(title, client):
                written = re.sub(r'\w+', lambda word: own.get(word[0], word[0]), statement)
                connection.execute(sa.text(written))

    follow('An account that only reads')
    try:
        yield kind(name, own_url, engine)
    finally:
        follow('The end')
        engine.dispose()


def statements_of_page(title: str, client: str) -> list[str]:
    """The statements that a section of the page passes to the client of a server."""
    text = PAGE.read_text().split(f'\n{title}\n', 1)[1]
    section = re.split(r'\n-{3,}\n', text, maxsplit=1)[0]
    lines = [shlex.split(line) for line in section.splitlines() if line.startswith('   # ')]
    found = [part for line in lines if client in line for part in line[-1].split('; ')]
    assert found, title
    return found


@contextlib.contextmanager
def noted(watched: Account) -> Iterator[list[str]]:
    """The statements of an account, when the block has ended."""
    statements: list[str] = []
    watched.begin()
    try:
        yield statements
    finally:
        statements += watched.end()


class Look(workload.HttpClient):
    """A client of `placement-insight-serve`; `log` is what that has printed."""

    def __init__(self, port: int, process: 'subprocess.Popen[bytes]', log: int) -> None:
        super().__init__(port)
        self._process = process
        self._log = log
        self.port = port

    def send(self, method: str, path: str, body: Any = None, version: str | None = None) -> Answer:
        """The answer to one request, which is repeated while another question is answered."""
        while True:
            answer = super().send(method, path, body, version)
            if answer.status != 503 or b'Another question' not in answer.body:
                return answer
            time.sleep(0.05)

    def log(self) -> str:
        return os.pread(self._log, os.fstat(self._log).st_size, 0).decode(errors='replace')


@contextlib.contextmanager
def looking(url: str, max_age: int) -> Iterator[Look]:
    """Insight in a process of its own, on a database that it may only read."""
    log = os.memfd_create('log of insight')
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith('OS_')},
        'OS_PLACEMENT_DATABASE__CONNECTION': url,
        'OS_INSIGHT__SNAPSHOT_MAX_AGE': str(max_age),
        'OS_OSLO_POLICY__ENFORCE_NEW_DEFAULTS': 'false',
    }
    command = [sys.executable, '-m', 'placement_insight.serve', '--port', '0']
    with subprocess.Popen(command, env=environ, stdout=log, stderr=log) as process:
        try:
            look = Look(0, process, log)
            deadline = time.monotonic() + TIMEOUT
            while not (found := re.search(r'serving on http://127.0.0.1:(\d+)', look.log())):
                assert process.poll() is None, look.log()
                assert time.monotonic() < deadline, look.log()
                time.sleep(0.1)
            yield Look(int(found[1]), process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(TIMEOUT)
            os.close(log)


class Gate:
    """Lets writers through, or has all of them wait."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._is_open = True
        self._inside = 0
        self.is_over = False

    @contextlib.contextmanager
    def passed(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: self._is_open or self.is_over)
            self._inside += 1
        try:
            yield
        finally:
            with self._condition:
                self._inside -= 1
                self._condition.notify_all()

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        with self._condition:
            self._is_open = False
            self._condition.wait_for(lambda: not self._inside)
        yield
        self.open()

    def open(self) -> None:
        with self._condition:
            self._is_open = True
            self._condition.notify_all()

    def end(self) -> None:
        self.is_over = True
        self.open()


class Results:
    """The numbers of actions of threads, and their errors."""

    def __init__(self) -> None:
        self.written = 0
        self.refused_by_upstream: collections.Counter[str] = collections.Counter()
        self.asked: collections.Counter[int] = collections.Counter()
        self.looks = 0
        # Readings of several pages that were compared with each other.
        self.compared = 0
        self.faults: list[str] = []

    def are_enough(self) -> bool:
        """True if there was as much to compare as a test needs, or a fault."""
        enough = self.written > 50 and self.compared > 5 and self.asked[200] > 100
        return enough or bool(self.faults)


def _write(gate: Gate, results: Results, port: int, seed: int) -> None:
    client = workload.HttpClient(port)
    writer = Workload(client, seed)
    while not gate.is_over:
        with gate.passed():
            try:
                writer.step()
                results.written += 1
            except AssertionError as error:
                # Upstream gives up some of the writes that conflict.
                results.refused_by_upstream[str(error)[:60]] += 1
    client.close()


def _ask(gate: Gate, results: Results, look: Look, seed: int) -> None:
    client, chance = Look(look.port, look._process, look._log), random.Random(seed)
    while not gate.is_over:
        for question in list_questions(chance):
            answer = question.asked(client, NEWEST)
            results.asked[answer.status] += 1
            if answer.status not in (200, 400):
                results.faults.append(f'{question}: {answer.status} {answer.text}')
        results.faults += _torn(client, results)
    client.close()


def _torn(client: Look, results: Results) -> Iterator[str]:
    """The contradictions between pages of a copy that was made during concurrent writes."""
    held: dict[str, dict[str, Any]] = {}
    path = '/insight/providers?include=usages,allocations&page_limit=2'
    moment = ''
    while path:
        answer = client.send('GET', path, version=NEWEST)
        if answer.status == 410:
            return
        for provider in answer.json['providers']:
            sums: collections.Counter[str] = collections.Counter()
            for consumer, allocation in provider['allocations'].items():
                sums.update(allocation['resources'])
                held.setdefault(consumer, {})[provider['uuid']] = allocation['resources']
            if any(sums[name] != amount for name, amount in provider['usages'].items()):
                yield f'{provider}: {sums}'
        path = next((link['href'] for link in answer.json['links']), '')
        moment = path.partition('moment=')[2].partition('&')[0] or moment
    path = f'/insight/consumers?page_limit=1000&moment={moment}'
    answer = client.send('GET', path, version=NEWEST)
    if answer.status == 410 or not moment:
        return
    results.compared += 1
    shown = {
        one['uuid']: {uuid: each['resources'] for uuid, each in one['allocations'].items()}
        for one in answer.json['consumers']
        if one['allocations']
    }
    if shown != held:
        yield f'{shown} instead of {held}'


def _watch(gate: Gate, results: Results, watched: Account) -> None:
    while not gate.is_over:
        results.faults += watched.watch()
        results.looks += 1
        time.sleep(watched.pause)


@contextlib.contextmanager
def threads(gate: Gate, *works: Callable[[], None]) -> Iterator[None]:
    """Threads that end with the block, and whose exceptions fail the test."""
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    started = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in started:
        thread.start()
    try:
        yield
    finally:
        gate.end()
        for thread in started:
            thread.join(60)
    assert not failures, failures


def _tables(url: str) -> list[str]:
    engine = sa.create_engine(url)
    try:
        return sorted(sa.inspect(engine).get_table_names())
    finally:
        engine.dispose()


def _contents(database: Any) -> Any:
    # The tables may have been looked at before there were any.
    database._tables = []
    return database.contents()


@pytest.mark.parametrize('database', ['mariadb', 'postgresql'], indirect=True)
def test_insight_beside_upstream_writes_nothing_and_is_right(
    database: databases.Database, request: pytest.FixtureRequest
) -> None:
    server = SERVERS[request.node.callspec.params['database']]
    assert manage(UPSTREAM, database.url, 'db', 'sync') == 0
    tables = _tables(database.url)
    gate, results, questions = Gate(), Results(), random.Random(1)
    driver_url = database.url.replace('+psycopg:', '+psycopg2:')
    with (
        account(database.url) as watched,
        workers.running(driver_url, 2, UPSTREAM) as upstream,
        noted(watched) as statements,
        looking(watched.url, MAX_AGE) as look,
        threads(
            gate,
            lambda: _watch(gate, results, watched),
            *(
                lambda seed=seed: _write(gate, results, upstream.port, seed)
                for seed in range(WRITERS)
            ),
            *(lambda seed=seed: _ask(gate, results, look, seed) for seed in range(READERS)),
        ),
        contextlib.closing(look),
    ):
        copy = databases.create_empty(server)
        try:
            assert manage(OURS, copy.url, 'db', 'sync') == 0
            for _ in range(ROUNDS):
                time.sleep(SECONDS)
                wait_until(results.are_enough, lambda: vars(results), 300)
                # A copy takes but a moment.
                wait_until(lambda: watched.seen, seconds=300)
                with gate.closed():
                    # No copy is from before the pause then.
                    time.sleep(MAX_AGE)
                    contents = _contents(database)
                    copy.restore({**_contents(copy), **contents})
                    with applications.serving(
                        copy.url, applications.insight_options('on')
                    ) as service:
                        asked = list_questions(questions)
                        assert [*differences(asked, look, service, NEWEST)] == []
                    assert _contents(database) == contents
        finally:
            copy.drop()
        log = look.log()
    print({**vars(results), 'seen': watched.seen, 'statements': len(statements)})
    assert results.faults == []
    assert _tables(database.url) == tables
    assert [text for text in statements if not HARMLESS.match(text)] == []
    assert any(watched.certain in text for text in statements)
    assert not re.search('ERROR|WARNING.*may write', log), log
    engine = sa.create_engine(database.url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'b5c396305c25'"))
    engine.dispose()
    with pytest.raises(AssertionError, match='b5c396305c25; those of the releases 6'):
        looking(database.url, MAX_AGE).__enter__()
