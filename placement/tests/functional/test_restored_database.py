# SPDX-License-Identifier: Apache-2.0
"""Workers that continue while their database returns to an earlier state.

This happens after a restore of a dump, after a crash that lost the last commits, and when a
replica that lagged behind becomes the primary. Then ids that a worker has seen before are assigned
again, with other meanings.
"""

from collections.abc import Iterator

import os_resource_classes
import os_traits
import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.db.schema import tables
from placement.db.schema.own_tables import change_feed
from placement.db.statements import names
from placement.feed.loader import load_providers
from placement.microversions import NEWEST
from placement.objects.allocation import AllocationList
from placement.objects.inventory import InventoryList
from placement.objects.usage import UsageList
from placement.tests.opened import database_on
from placement.tests.unit.objects.cloud import Cloud, uuid_of

from .fixtures import applications, clouds, databases
from .fixtures.backends import on_mysql
from .fixtures.client import Client
from .fixtures.work import statements_of

#: A claim of the least that the host can give.
HOST = {'host': {'VCPU': 1}}


@pytest.fixture
def cloud(database: Database) -> Cloud:
    """The cloud as the running worker sees it, with a host."""
    cloud = Cloud(database)
    cloud.add('host', VCPU=64)
    return cloud


@pytest.fixture
def other(url: str) -> Iterator[Cloud]:
    """The same cloud as a worker without a snapshot sees it."""
    database = database_on(create_engine(url))
    yield Cloud(database)
    database.dispose()


def restore(stored: databases.Database, cloud: Cloud, contents: databases.Contents) -> None:
    """Restore the former contents of the database, and its counters of ids."""
    stored.restore(contents)
    for table in (*tables.metadata.sorted_tables, change_feed):
        count_from_the_highest(cloud.database, table)


def count_from_the_highest(database: Database, table: sa.Table) -> None:
    """Set the next id of a table to the one above the highest."""
    statement = {
        'sqlite': 'SELECT 1',
        'mysql': f'ALTER TABLE {table.name} AUTO_INCREMENT = 1',
        'postgresql': f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
        f'COALESCE(MAX(id), 0) + 1, false) FROM {table.name}',
    }[databases.backend()]
    if 'id' in table.c:
        with database.engine.begin() as connection:
            connection.execute(sa.text(statement))


def owner_of(cloud: Cloud, consumer: str) -> tuple[str, str, str | None] | None:
    """The project, user and type of a consumer, as the API shows them."""
    found = AllocationList.list_by_consumer(cloud.context, uuid_of(consumer)).consumer
    return None if found is None else (found.project_id, found.user_id, found.consumer_type)


def owner(name: str) -> tuple[str, str, str]:
    return f'{name}-project', f'{name}-user', name.upper()


def owned_by(name: str) -> dict[str, str]:
    """An owner of whom everything has this name."""
    return dict(zip(('project', 'user', 'consumer_type'), owner(name), strict=True))


def test_consumers_of_several_owners_keep_them_in_a_restored_database(
    stored: databases.Database, cloud: Cloud, other: Cloud
) -> None:
    for number in range(4):
        cloud.take(f'old {number}', HOST, generation=None, **owned_by('first'))
    before = stored.contents()
    for number in range(4):
        cloud.take(f'lost {number}', HOST, generation=None, **owned_by(f'mine-{number}'))
    restore(stored, cloud, before)
    for number in reversed(range(4)):
        other.take(f'other {number}', HOST, generation=None, **owned_by(f'other-{number}'))

    cloud.write(
        *(
            cloud.claim(f'{age} {number}', HOST, generation, **owned)
            for age, generation in (('new', None), ('old', 1))
            for number in range(4)
            for owned in [owned_by(f'mine-{number}')]
        )
    )

    for number in range(4):
        for age in ('new', 'old'):
            assert owner_of(cloud, f'{age} {number}') == owner(f'mine-{number}')
        usages = UsageList.get_by_project(cloud.context, f'mine-{number}-project', None)
        assert [usage.used for usage in usages.objects] == [2]
        assert owner_of(cloud, f'other {number}') == owner(f'other-{number}')


def test_inventory_of_a_class_that_a_restored_database_lacks_is_shown(cloud: Cloud) -> None:
    """Delete the class, as a restored dump of a release before its standardisation would."""
    with cloud.database.engine.begin() as connection:
        named = tables.resource_classes.c.name == 'PCPU'
        connection.execute(sa.delete(tables.resource_classes).where(named))

    cloud.give('host', VCPU=8, PCPU=4)
    cloud.take('server', {'host': {'PCPU': 2}}, generation=None)

    rows = InventoryList.list_by_provider(cloud.context, cloud.provider('host'))
    assert {row.resource_class: row.total for row in rows} == {'VCPU': 8, 'PCPU': 4}
    assert cloud.has('server') == {uuid_of('host'): {'PCPU': 2}}


@pytest.fixture
def worker(stored: databases.Database) -> Iterator[Client]:
    """A worker whose database was made again, beneath it, without any row."""
    with applications.serving(stored.url) as client:
        stored.restore(databases.standard_contents())
        engine = create_engine(stored.url)
        with engine.begin() as connection:
            for table in (tables.traits, tables.resource_classes):
                connection.execute(sa.delete(table))
        engine.dispose()
        yield client


TRAIT = 'HW_CPU_X86_AVX2'


def test_inventory_and_traits_of_a_database_made_again_are_stored(worker: Client) -> None:
    clouds.build((clouds.Provider('host', {'VCPU': 8, 'PCPU': 2}, traits=(TRAIT,)),), worker)

    host = f'/resource_providers/{clouds.uuid_of("host")}'
    found = worker.send('GET', f'{host}/inventories', version=NEWEST).json['inventories']
    assert {name: one['total'] for name, one in found.items()} == {'VCPU': 8, 'PCPU': 2}
    assert worker.send('GET', f'{host}/traits', version=NEWEST).json['traits'] == [TRAIT]
    assert clouds.put_claim(worker, 'server', None, VCPU=1).status == 204
    query = f'/allocation_candidates?resources=VCPU:1,PCPU:1&required={TRAIT}'
    assert len(worker.send('GET', query, version=NEWEST).json['allocation_requests']) == 1


@pytest.mark.parametrize(
    ('path', 'member'),
    [
        ('/healthcheck', None),
        (f'/traits?name=in:{TRAIT}', 'traits'),
        ('/traits?name=startswith:HW_CPU', 'traits'),
        ('/traits', 'traits'),
        (f'/traits/{TRAIT}', None),
        ('/resource_classes', 'resource_classes'),
        ('/resource_classes/VCPU', None),
    ],
)
def test_a_database_made_again_gets_the_standard_names(
    stored: databases.Database, worker: Client, path: str, member: str | None
) -> None:
    answer = worker.send('GET', path, version=NEWEST)

    assert answer.status in (200, 204), answer.text
    assert member is None or answer.json[member]
    engine = create_engine(stored.url)
    with engine.connect() as connection:
        classes = set(connection.scalars(sa.select(tables.resource_classes.c.name)))
        traits = set(connection.scalars(sa.select(tables.traits.c.name)))
    engine.dispose()
    assert classes == set(os_resource_classes.STANDARDS)
    assert traits == set(os_traits.get_traits())


def test_providers_are_listed_by_a_standard_trait_that_the_database_lacks(worker: Client) -> None:
    for required in (TRAIT, f'!{TRAIT}', f'in:{TRAIT},HW_NUMA_ROOT'):
        path = f'/resource_providers?required={required}'
        answer = worker.send('GET', path, version=NEWEST)
        assert (answer.status, answer.json) == (200, {'resource_providers': []})


def test_a_worker_that_cannot_write_standard_names_says_so(
    worker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise db_errors.DBConnectionError(Exception('the server has gone'))

    monkeypatch.setattr(names, 'insert_traits', fail)
    for path in ('/healthcheck', '/traits'):
        assert worker.send('GET', path, version=NEWEST).status == 503


def test_a_provider_that_got_a_remembered_id_is_not_claimed_for_another(
    stored: databases.Database, cloud: Cloud, other: Cloud
) -> None:
    before = stored.contents()
    cloud.add('mine', VCPU=8)
    cloud.take('lost', {'mine': {'VCPU': 1}}, generation=None)
    restore(stored, cloud, before)
    other.add('stranger', VCPU=8)
    other.add('mine', VCPU=8)

    cloud.take('server', {'mine': {'VCPU': 1}}, generation=None)

    assert cloud.has('server') == {uuid_of('mine'): {'VCPU': 1}}


@on_mysql
def test_sums_are_read_by_the_index_whatever_the_statistics_say(database: Database) -> None:
    """Check that no plan has a derived table of all sums.

    MariaDB may build it again for each inventory, which took more than 30 s for 1,000 hosts whose
    rows had just been written.
    """
    with database.begin(Mode.READ) as connection, statements_of(database.engine) as sent:
        list(load_providers(connection))
    # MySQL 9 explains as a tree unless it is told, and MariaDB cannot be told so.
    is_mariadb = getattr(database.engine.dialect, 'is_mariadb', False)
    explain = 'EXPLAIN' if is_mariadb else 'EXPLAIN FORMAT=TRADITIONAL'
    with database.begin(Mode.READ) as connection:
        plans = [connection.execute(sa.text(f'{explain} {one.text}')).all() for one in sent]
    assert len(plans) == 6
    assert not [step for plan in plans for step in plan if 'DERIVED' in step.select_type]
