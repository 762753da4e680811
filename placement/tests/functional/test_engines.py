# SPDX-License-Identifier: Apache-2.0
"""Differences between databases that clients must not see."""

import contextlib
import os
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from placement.db.engine import readiness
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.db.schema import migration, own_tables, revisions, tables
from placement.feed.change_feed import ChangeFeed
from placement.microversions import NEWEST
from placement.tests.opened import database_on, record

from .fixtures import applications, clouds, databases
from .fixtures.backends import on_mysql, on_postgresql, on_servers
from .fixtures.client import Client
from .fixtures.work import statements_of

HOST = clouds.uuid_of('host')
SMILE = '\U0001f600'
QUOTED_SMILE = urllib.parse.quote(SMILE)


@pytest.fixture
def client(client: Client) -> Client:
    """The same, with a host."""
    clouds.build((clouds.Provider('host', {'VCPU': 10}),), client)
    return client


def used(client: Client) -> Any:
    path = f'/resource_providers/{HOST}/usages'
    return client.send('GET', path, version=NEWEST).json['usages']['VCPU']


def test_usages_are_integers(client: Client) -> None:
    for number in range(3):
        assert clouds.put_claim(client, f'server{number}', VCPU=number + 1).status == 204
    assert type(used(client)) is int
    usages = client.send('GET', '/usages?project_id=project', version=NEWEST).json['usages']
    assert usages == {'INSTANCE': {'consumer_count': 3, 'VCPU': 6}}


def test_resource_class_with_id_0_is_stored(service: applications.Service) -> None:
    with service.engine.connect() as connection:
        found = connection.execute(
            sa.text('SELECT id, name FROM resource_classes WHERE id < 2 ORDER BY id')
        )
        assert [tuple(row) for row in found] == [(0, 'VCPU'), (1, 'MEMORY_MB')]


@on_mysql
def test_readiness_asks_a_server_whether_it_only_reads(service: applications.Service) -> None:
    """Use the names of both dialects on MariaDB, which may have a URL with either."""
    names = ('mysql', 'mariadb') if service.engine.dialect.is_mariadb else ('mysql',)
    for name in names:
        parsed = service.engine.url.set(drivername=f'{name}+pymysql')
        url = parsed.render_as_string(hide_password=False)
        with (
            database_on(create_engine(url)) as database,
            statements_of(database.engine) as statements,
        ):
            readiness.check_ready(database)
        assert 'SELECT @@GLOBAL.read_only' in [sent.text for sent in statements]


READ_BY_NAME = (
    f'/resource_providers?name={QUOTED_SMILE}',
    f'/resource_providers/{QUOTED_SMILE}',
    f'/resource_providers?required={QUOTED_SMILE}',
    f'/resource_providers?resources={QUOTED_SMILE}:1',
    f'/resource_providers/{HOST}/inventories/{QUOTED_SMILE}',
    f'/traits/{QUOTED_SMILE}',
    f'/traits?name=startswith:{QUOTED_SMILE}',
    f'/resource_classes/{QUOTED_SMILE}',
    f'/allocations/{QUOTED_SMILE}',
    f'/usages?project_id={QUOTED_SMILE}&user_id={QUOTED_SMILE}',
    f'/allocation_candidates?resources=VCPU:1&required={QUOTED_SMILE}',
)


@on_mysql
@pytest.mark.parametrize('charset', ['utf8', 'utf8mb4'])
def test_utf8mb3_schema_refuses_four_byte_characters(
    charset: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Use the character set of old schemas: these characters are a 400, not a 500."""
    with empty_database({'charset': charset}) as url:
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            connection.execute(sa.text('ALTER DATABASE CHARACTER SET utf8mb3'))
        check_smiles_are_refused(url, caplog)


@on_mysql
def test_a_space_behind_a_name_counts_where_the_collation_does_not_pad(client: Client) -> None:
    """Compare with the collation of the server: all pad except those of MySQL 8.0 and later."""
    engine = sa.create_engine(os.environ[databases.VARIABLE], poolclass=sa.NullPool)
    with engine.connect() as connection:
        name = connection.scalar(sa.text('SELECT @@collation_server'))
        padded = f"CONVERT('a' USING {name.partition('_')[0]}) COLLATE {name}"
        pads = connection.scalar(sa.text(f"SELECT {padded} = 'a '"))
    answer = client.send('POST', '/resource_providers', {'name': 'host '}, version=NEWEST)
    assert answer.status == (409 if pads else 200)
    for wanted in ('host', 'host%20') if answer.status == 200 else ('host',):
        found = client.send('GET', f'/resource_providers?name={wanted}', version=NEWEST).json
        assert len(found['resource_providers']) == 1


#: Parameters of a URL with which the driver has no bytes for most characters.
LATIN = {'mysql': {'charset': 'latin1'}, 'postgresql': {'client_encoding': 'latin1'}}


@on_servers
def test_characters_that_the_driver_cannot_send_are_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with empty_database(LATIN[databases.backend()]) as url:
        check_smiles_are_refused(url, caplog)


@contextlib.contextmanager
def empty_database(parameters: dict[str, str]) -> Iterator[str]:
    """The URL of a database without tables, with these parameters."""
    url = sa.make_url(os.environ[databases.VARIABLE]).update_query_dict(parameters)
    database = databases.create_empty(url.render_as_string(hide_password=False))
    try:
        yield database.url
    finally:
        database.drop()


def check_smiles_are_refused(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Check that writing such a name is a 400, and that reading by it is no server error."""
    databases.migrate(url)
    with applications.serving(url) as client:
        clouds.build((clouds.Provider('host', {'VCPU': 10}),), client)
        for path in READ_BY_NAME:
            answer = client.send('GET', path, version=NEWEST)
            assert answer.status < 500, f'{path}: {answer.text}'
        claim = clouds.claim({HOST: {'VCPU': 1}}, project_id=SMILE)
        for method, path, body in (
            ('POST', '/resource_providers', {'name': SMILE}),
            ('PUT', f'/resource_providers/{HOST}', {'name': SMILE}),
            ('PUT', f'/allocations/{clouds.uuid_of("server")}', claim),
        ):
            answer = client.send(method, path, body, version=NEWEST)
            assert answer.status == 400, f'{method} {path}: {answer.text}'
        assert used(client) == 0
        assert [record for record in caplog.records if record.exc_info] == []


@on_servers
def test_writer_sees_what_was_committed_before_each_statement(database: Database) -> None:
    """Check the isolation level of each connection, the first one of the library included."""
    # MariaDB before 11.1 knows the older name alone, MySQL since 8.0 the newer one.
    question = {
        'mysql': "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation',"
        " 'transaction_isolation')",
        'postgresql': 'SHOW transaction_isolation',
    }[databases.backend()]
    for _ in range(2):
        with database.begin(Mode.WRITE) as connection, database.begin(Mode.WRITE) as another:
            for one in (connection, another):
                levels = {
                    row[-1].upper().replace('-', ' ') for row in one.execute(sa.text(question))
                }
                assert levels == {'READ COMMITTED'}


@pytest.fixture
def empty() -> Iterator[sa.Engine]:
    """The engine of a database without tables."""
    database = databases.create_empty()
    engine = create_engine(database.url)
    yield engine
    engine.dispose()
    database.drop()


def test_own_tables_migrate_down_and_up(empty: sa.Engine) -> None:
    names = own_tables.metadata.tables.keys()
    migration.sync(empty)
    with migration.migrating(empty) as connection:
        command.downgrade(migration.configuration(connection, revisions.OWN), 'base')
    assert not names & set(sa.inspect(empty).get_table_names())
    migration.sync(empty)
    assert names <= set(sa.inspect(empty).get_table_names())
    record(database_on(empty), [8], allocations_only=True)
    with empty.connect() as connection:
        assert ChangeFeed(connection).count() == 2


@on_postgresql
def test_read_only_replica_answers_for_custom_classes(url: str) -> None:
    replica = f'{url}?options=-c%20default_transaction_read_only%3Don'
    options = {('placement_database', 'slave_connection'): replica}
    with applications.serving(url, options) as client:
        client.send('PUT', '/resource_classes/CUSTOM_GOLD', version=NEWEST)
        path = '/resource_providers?resources=CUSTOM_GOLD:1'
        answer = client.send('GET', path, version=NEWEST)
        assert (answer.status, answer.json) == (200, {'resource_providers': []})


@pytest.mark.skipif(databases.backend() == 'mysql', reason='MySQL keeps no such ratio')
def test_absurd_ratio_of_one_host_does_not_affect_others(
    service: applications.Service, client: Client
) -> None:
    clouds.build((clouds.Provider('other', {'VCPU': 10}),), client)
    providers = tables.resource_providers
    of_host = sa.select(providers.c.id).where(providers.c.uuid == HOST).scalar_subquery()
    with service.engine.begin() as connection:
        connection.execute(
            sa.update(tables.inventories)
            .where(tables.inventories.c.resource_provider_id == of_host)
            .values(allocation_ratio=-1e308)
        )

    listed = client.send('GET', '/resource_providers?resources=VCPU:1', version=NEWEST)
    assert [provider['name'] for provider in listed.json['resource_providers']] == ['other']
    answer = clouds.put_claim(client, 'server')
    assert answer.status == 409
    assert 'exceed the capacity' in answer.text
