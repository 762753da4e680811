# SPDX-License-Identifier: Apache-2.0
"""What differs between databases, and must not be seen by clients."""

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
from placement.db.schema import migration, own_tables, revisions, tables
from placement.feed.change_feed import ChangeFeed
from placement.microversions import NEWEST

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
def test_readiness_asks_a_mariadb_whether_it_only_reads(service: applications.Service) -> None:
    parsed = service.engine.url.set(drivername='mariadb+pymysql')
    url = parsed.render_as_string(hide_password=False)
    with Database(create_engine(url)) as database, statements_of(database.engine) as statements:
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
def test_utf8mb3_schema_refuses_four_byte_characters(charset: str) -> None:
    """So were schemas made before MySQL had more; the service must not fail for it."""
    url = sa.make_url(os.environ[databases.VARIABLE]).update_query_dict({'charset': charset})
    database = databases.create_empty(url.render_as_string(hide_password=False))
    engine = sa.create_engine(database.url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text('ALTER DATABASE CHARACTER SET utf8mb3'))
    databases.migrate(database.url)
    try:
        with applications.serving(database.url) as client:
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
                assert client.send(method, path, body, version=NEWEST).status == 400
            assert used(client) == 0
    finally:
        database.drop()


@on_servers
def test_writer_sees_what_was_committed_before_each_statement(database: Database) -> None:
    """Also the first one, with which the library tries whether there is a database."""
    question = {
        'mysql': 'SELECT @@tx_isolation',
        'postgresql': 'SHOW transaction_isolation',
    }[databases.backend()]
    for _ in range(2):
        with database.writer() as connection, database.writer() as another:
            for one in (connection, another):
                level = one.scalar(sa.text(question))
                assert level.upper().replace('-', ' ') == 'READ COMMITTED'


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
    with empty.begin() as connection:
        ChangeFeed(connection).record([8], allocations_only=True)
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
