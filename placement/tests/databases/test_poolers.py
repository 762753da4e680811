# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL behind pgbouncer, which gives each transaction another connection to the server."""

import concurrent.futures
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.mode import Mode
from placement.microversions import NEWEST
from placement.tests.databases import conftest
from placement.tests.databases.poolers import APART, Pgbouncer
from placement.tests.databases.servers import program
from placement.tests.functional.conftest import patience
from placement.tests.functional.fixtures import applications, clouds, databases
from placement.tests.functional.fixtures.client import Client
from placement.tests.servers import installation

__all__ = ['patience']

PREPARED = (0, 200)

THREADS = 8
ROUNDS = 25

#: Gabbi files about claims, searches and what both depend on.
GABBI = 'allocations-post or allocations-moves or candidates-trees or reshaper or inventories'


def version() -> tuple[int, ...]:
    words = subprocess.check_output([program('pgbouncer'), '--version'], text=True).split()
    return tuple(map(int, words[1].split('.')))


@pytest.fixture(scope='module', params=PREPARED)
def pooler(request: pytest.FixtureRequest) -> Iterator[Pgbouncer]:
    installation.install_system_packages('pgbouncer')
    # Before 1.21 there is no such option, and no statement is kept apart, as with 0.
    is_known = version() >= (1, 21)
    if request.param and not is_known:
        pytest.skip(f'pgbouncer has no {APART} before 1.21')
    url = conftest.SERVERS['postgresql']
    assert url is not None, 'no URL of a PostgreSQL server: the Makefile has one'
    with installation.directory() as directory:
        if os.getuid() == 0:
            shutil.chown(directory, 'postgres')
        pgbouncer = Pgbouncer(directory, url, f'{APART} = {request.param}' if is_known else '')
        try:
            pgbouncer.start()
            yield pgbouncer
        finally:
            pgbouncer.stop()


@pytest.fixture
def url(pooler: Pgbouncer) -> Iterator[str]:
    """The URL of a migrated database through the pooler."""
    database = databases.create_empty(conftest.SERVERS['postgresql'])
    address = pooler.url.set(database=sa.make_url(database.url).database)
    text = address.render_as_string(hide_password=False)
    databases.migrate(text)
    yield text
    database.drop()


def work(client: Client, name: str) -> set[int]:
    """Search, claim, read and release, several times; returns the status of each answer."""
    path = f'/allocations/{clouds.uuid_of(name)}'
    search = '/allocation_candidates?resources=VCPU:1'
    statuses = set()
    for _ in range(ROUNDS):
        statuses.add(client.send('GET', search, version=NEWEST).status)
        statuses.add(clouds.put_claim(client, name).status)
        statuses.add(client.send('GET', path, version=NEWEST).status)
        statuses.add(client.send('DELETE', path, version=NEWEST).status)
    return statuses


def test_claims_and_searches_succeed(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with applications.serving(url) as one, applications.serving(url) as two:
        clouds.build((clouds.Provider('host', {'VCPU': 1000}),), one)
        with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
            working = [
                threads.submit(work, (one, two)[number % 2], f'server-{number}')
                for number in range(THREADS)
            ]
            statuses = set().union(*(each.result() for each in working))
    assert statuses == {200, 204}
    assert [record for record in caplog.records if record.exc_info] == []


SETTINGS = sa.text(
    "SELECT current_setting('lock_timeout'), current_setting('transaction_isolation')"
)


def test_each_transaction_has_its_settings_and_leaves_none(url: str) -> None:
    options = {('placement_database', 'lock_timeout'): 7}
    other = sa.create_engine(url, poolclass=sa.NullPool)
    with other.connect() as session:
        before = session.execute(SETTINGS).one()
    with applications.serving(url, options) as client:
        for _ in range(ROUNDS):
            with client.database.begin(Mode.WRITE) as connection:
                assert connection.execute(SETTINGS).one() == ('7s', 'read committed')
            with client.database.begin(Mode.READ_ONE_MOMENT) as connection:
                assert connection.execute(SETTINGS).one() == ('7s', 'repeatable read')
            with client.database.begin(Mode.WRITE_BRIEFLY) as connection:
                assert connection.execute(SETTINGS).one() == ('1s', 'read committed')
            with other.connect() as session:
                assert session.execute(SETTINGS).one() == before


def test_gabbi_files_pass(pooler: Pgbouncer) -> None:
    address = pooler.url.render_as_string(hide_password=False)
    command = [sys.executable, '-m', 'pytest', '-q', '-k', GABBI]
    done = subprocess.run(
        [*command, 'placement/tests/functional/test_gabbi.py'],
        cwd=applications.repository_path('.'),
        env={**os.environ, databases.VARIABLE: address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
