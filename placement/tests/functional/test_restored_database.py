# SPDX-License-Identifier: Apache-2.0
"""Workers that go on while their database goes back to what it was before.

So it is after a restore of a dump, after a crash that lost the last commits, and where a replica
that lagged behind becomes the primary. Other workers then give ids away that a worker has seen
before, with other meanings.
"""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import tables
from placement.db.schema.own_tables import change_feed
from placement.feed.loader import load_providers
from placement.objects.allocation import AllocationList
from placement.objects.inventory import InventoryList
from placement.objects.usage import UsageList
from placement.tests.unit.objects.cloud import Cloud, uuid_of

from .fixtures import databases
from .fixtures.backends import on_mysql
from .fixtures.work import statements_of

#: A claim of the least that the host can give.
HOST = {'host': {'VCPU': 1}}


@pytest.fixture
def cloud(database: Database) -> Cloud:
    """What the worker sees that goes on; it has a host."""
    cloud = Cloud(database)
    cloud.add('host', VCPU=64)
    return cloud


@pytest.fixture
def other(url: str) -> Iterator[Cloud]:
    """The same cloud, as a worker sees it that remembers nothing."""
    database = Database(create_engine(url))
    yield Cloud(database)
    database.dispose()


def restore(stored: databases.Database, cloud: Cloud, contents: databases.Contents) -> None:
    """Let the database be what it was, and go on counting ids from there."""
    stored.restore(contents)
    for table in (*tables.metadata.sorted_tables, change_feed):
        count_from_the_highest(cloud.database, table)


def count_from_the_highest(database: Database, table: sa.Table) -> None:
    """Let the next id of a table be the one above the highest."""
    statement = {
        'sqlite': 'SELECT 1',
        'mysql': f'ALTER TABLE {table.name} AUTO_INCREMENT = 1',
        'postgresql': f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
        f'COALESCE(MAX(id), 0) + 1, false) FROM {table.name}',
    }[databases.backend()]
    if 'id' in table.c:
        with database.writer() as connection:
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
    """A dump of a release before the class was standardised, restored under running workers."""
    with cloud.database.writer() as connection:
        named = tables.resource_classes.c.name == 'PCPU'
        connection.execute(sa.delete(tables.resource_classes).where(named))

    cloud.give('host', VCPU=8, PCPU=4)
    cloud.take('server', {'host': {'PCPU': 2}}, generation=None)

    rows = InventoryList.list_by_provider(cloud.context, cloud.provider('host'))
    assert {row.resource_class: row.total for row in rows} == {'VCPU': 8, 'PCPU': 4}
    assert cloud.has('server') == {uuid_of('host'): {'PCPU': 2}}


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
    """A plan with a table of all sums, which MariaDB may make anew for each inventory, took more
    than 30 s for 1,000 hosts whose rows had just been written."""
    with database.reader() as connection, statements_of(database.engine) as sent:
        list(load_providers(connection))
    with database.reader() as connection:
        plans = [connection.execute(sa.text(f'EXPLAIN {one.text}')).all() for one in sent]
    assert len(plans) == 6
    assert not [step for plan in plans for step in plan if 'DERIVED' in step.select_type]
