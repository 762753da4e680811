# SPDX-License-Identifier: Apache-2.0
"""Claims and releases that MariaDB executes as one statement do what the other ones do."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.engine import commit_outcome, compound
from placement.db.engine.commit_outcome import Mark
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.schema import own_tables, tables
from placement.objects.claim import transaction
from placement.objects.claim.claim import Claim
from placement.objects.resource_class import ResourceClass
from placement.schemas.not_sent import NOT_SENT
from placement.tests.unit.objects.cloud import Cloud, uuid_of

from .fixtures import databases

pytestmark = pytest.mark.skipif(databases.backend() != 'mysql', reason='of MariaDB only')

NEW: dict[str, Any] = {'generation': None}

# What the two ways have in common: all but ids that may have gaps, times and tokens.
STATE = (
    sa.select(
        tables.allocations.c.consumer_id,
        tables.resource_providers.c.uuid,
        tables.allocations.c.resource_class_id,
        tables.allocations.c.used,
        tables.allocations.c.created_at.is_not(None),
    )
    .join(
        tables.resource_providers,
        tables.resource_providers.c.id == tables.allocations.c.resource_provider_id,
    )
    .order_by(tables.allocations.c.id),
    sa.select(
        tables.consumers.c.uuid,
        tables.consumers.c.generation,
        tables.projects.c.external_id,
        tables.users.c.external_id,
        tables.consumer_types.c.name,
        tables.consumers.c.created_at.is_not(None),
    )
    .join(tables.projects, tables.projects.c.id == tables.consumers.c.project_id)
    .join(tables.users, tables.users.c.id == tables.consumers.c.user_id)
    .outerjoin(
        tables.consumer_types, tables.consumer_types.c.id == tables.consumers.c.consumer_type_id
    )
    .order_by(tables.consumers.c.uuid),
    sa.select(tables.resource_providers.c.uuid, tables.resource_providers.c.generation).order_by(
        tables.resource_providers.c.uuid
    ),
    sa.select(
        tables.resource_providers.c.uuid,
        own_tables.change_feed.c.allocations_only,
        own_tables.change_feed.c.deleted_uuid,
    )
    .join(
        tables.resource_providers,
        tables.resource_providers.c.id == own_tables.change_feed.c.provider_id,
    )
    .order_by(own_tables.change_feed.c.id),
)


@pytest.fixture
def cloud(database: Database) -> Cloud:
    """A host with eight VCPU and a disk, and another one with two VCPU."""
    return filled(Cloud(database))


def filled(cloud: Cloud) -> Cloud:
    cloud.add('host', VCPU=8, DISK_GB=100)
    cloud.add('other', VCPU=2)
    # So the project and the user exist, and the ids of both are remembered.
    cloud.take('first', {'host': {'VCPU': 1}})
    cloud.take('second', {'other': {'VCPU': 1}})
    return cloud


@contextlib.contextmanager
def one_by_one() -> Iterator[None]:
    """Let statements be sent one by one, as to other servers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compound, 'is_supported', lambda _dialect: False)
        yield


def state(cloud: Cloud) -> list[list[tuple[Any, ...]]]:
    """All that both ways leave alike."""
    with cloud.database.reader() as connection:
        return [[tuple(row) for row in connection.execute(one)] for one in STATE]


def are_at_once(statements: list[str]) -> bool:
    """Whether the statements are one compound statement."""
    return len(statements) == 1 and statements[0].startswith(compound.BEGIN)


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> list[Mark]:
    """The marks of the transactions that are about to commit, once the test asks for them."""
    seen: list[Mark] = []
    leave = commit_outcome.leave

    def note(connection: sa.Connection, mark: Mark) -> None:
        leave(connection, mark)
        seen.append(mark)

    monkeypatch.setattr(commit_outcome, 'leave', note)
    return seen


def has_entry(cloud: Cloud, mark: Mark) -> bool:
    """Whether the feed has the entry that a mark names, with its token."""
    feed = own_tables.change_feed.c
    return cloud.rows(feed.token, feed.id == mark.entry_id) == [(mark.token,)]


# Claims


@pytest.mark.parametrize('more', [{}, {'consumer_type': 'INSTANCE'}], ids=['untyped', 'typed'])
def test_claim_is_one_statement(cloud: Cloud, marks: list[Mark], more: dict[str, Any]) -> None:
    cloud.take('third', {'host': {'VCPU': 1}}, **NEW, **more)
    with cloud.statements(by_a_new_process=False) as statements:
        cloud.take('new', {'host': {'VCPU': 2, 'DISK_GB': 5}}, **NEW, **more)

    assert are_at_once(statements)
    assert cloud.has('new') == {uuid_of('host'): {'VCPU': 2, 'DISK_GB': 5}}
    assert cloud.consumer_generation('new') == 1
    assert has_entry(cloud, marks[-1])


def test_claim_by_a_new_process_looks_the_provider_up_before(cloud: Cloud) -> None:
    with cloud.statements() as statements:
        cloud.take('new', {'host': {'VCPU': 2}}, **NEW)

    assert len(statements) == 2
    assert are_at_once(statements[1:])


@pytest.mark.parametrize(
    ('wanted', 'more'),
    [
        pytest.param({'host': {'VCPU': 1}}, {}, id='maybe-not-new'),
        pytest.param({'host': {'VCPU': 1}, 'other': {'VCPU': 1}}, NEW, id='two-providers'),
        pytest.param({'host': {'CUSTOM_GOLD': 1}}, NEW, id='custom-class'),
    ],
)
def test_other_claims_take_several_statements(
    cloud: Cloud, wanted: dict[str, dict[str, int]], more: dict[str, Any]
) -> None:
    ResourceClass.create(cloud.context, 'CUSTOM_GOLD')
    cloud.give('host', VCPU=8, CUSTOM_GOLD=3)
    with cloud.statements() as statements:
        cloud.take('new', wanted, **more)

    assert not any(one.startswith(compound.BEGIN) for one in statements)
    assert cloud.has('new') == {uuid_of(name): amounts for name, amounts in wanted.items()}


def test_what_the_owner_names_is_made(cloud: Cloud) -> None:
    with cloud.statements(by_a_new_process=False) as statements:
        cloud.take('new', {'host': {'VCPU': 1}}, project='another', consumer_type='NEW', **NEW)

    # The id of the provider is still remembered.
    assert not any('SELECT resource_providers.uuid' in one for one in statements)
    consumers = state(cloud)[1]
    assert (uuid_of('new'), 1, 'another', 'user', 'NEW', True) in consumers


def refused(cloud: Cloud, claim: Claim) -> errors.PlacementError:
    """The error for a claim, which is the same and leaves as little behind as one by one."""
    before = cloud.everything()
    with pytest.raises(errors.PlacementError) as raised:
        cloud.write(claim)
    assert cloud.everything() == before
    with one_by_one(), pytest.raises(type(raised.value)) as other:
        cloud.write(claim)
    assert str(other.value) == str(raised.value)
    return raised.value


@pytest.mark.parametrize(
    ('wanted', 'error'),
    [
        pytest.param({'host': {'VCPU': 8}}, errors.CapacityExceeded, id='too-much'),
        pytest.param(
            {'host': {'DISK_GB': 1, 'VCPU': 8}}, errors.CapacityExceeded, id='part-too-much'
        ),
        pytest.param({'host': {'PCPU': 1}}, errors.InventoryMissing, id='no-inventory'),
        pytest.param({'host': {'NO_CLASS': 1}}, errors.ResourceClassNotFound, id='no-class'),
        pytest.param({'nowhere': {'VCPU': 1}}, errors.UnknownAllocationProvider, id='no-provider'),
    ],
)
def test_refused_claim_leaves_nothing(
    cloud: Cloud, wanted: dict[str, dict[str, int]], error: type[errors.PlacementError]
) -> None:
    assert isinstance(refused(cloud, cloud.claim('new', wanted, **NEW)), error)


def test_consumer_that_exists_is_a_conflict(cloud: Cloud) -> None:
    claim = cloud.claim('first', {'host': {'VCPU': 1}}, **NEW)

    assert isinstance(refused(cloud, claim), errors.ConsumerGenerationConflict)


def test_claim_within_the_safety_margin_is_written(cloud: Cloud) -> None:
    cloud.give('other', VCPU=2, MEMORY_MB={'total': 1000, 'allocation_ratio': 1.5})
    with cloud.statements(by_a_new_process=False) as statements:
        cloud.take('new', {'other': {'VCPU': 1, 'MEMORY_MB': 1000}}, **NEW)
        cloud.take('newer', {'other': {'MEMORY_MB': 500}}, **NEW)

    assert [one.startswith(compound.BEGIN) for one in statements[:3]] == [True, True, False]
    assert cloud.has('newer') == {uuid_of('other'): {'MEMORY_MB': 500}}
    assert state(cloud)[3][-1] == (uuid_of('other'), True, None)


def test_provider_that_was_made_again_is_looked_up(cloud: Cloud) -> None:
    transaction.release(cloud.context, uuid_of('second'))
    remembered = cloud.database.id_cache.find([uuid_of('other')])
    cloud.give('other')
    cloud.provider('other').destroy()
    cloud.add('other', VCPU=2)
    cloud.database.id_cache.remember(remembered)

    cloud.take('new', {'other': {'VCPU': 2}}, **NEW)

    assert cloud.has('new') == {uuid_of('other'): {'VCPU': 2}}
    assert cloud.database.id_cache.find([uuid_of('other')]) != remembered


# Releases


def test_release_is_one_statement(cloud: Cloud, marks: list[Mark]) -> None:
    cloud.take('new', {'host': {'VCPU': 2, 'DISK_GB': 5}})
    with cloud.statements() as statements:
        transaction.release(cloud.context, uuid_of('new'))

    assert are_at_once(statements)
    assert cloud.has('new') == {}
    assert cloud.consumer_generation('new') is None
    assert has_entry(cloud, marks[-1])


def test_release_of_several_providers_is_complete(cloud: Cloud) -> None:
    cloud.take('new', {'host': {'VCPU': 2}, 'other': {'VCPU': 1}})
    transaction.release(cloud.context, uuid_of('new'))

    assert cloud.has('new') == {}
    assert cloud.consumer_generation('new') is None
    assert state(cloud)[3][-2:] == [(uuid_of(one), True, None) for one in ('host', 'other')]


def test_release_of_nothing_changes_nothing(cloud: Cloud) -> None:
    before = cloud.everything()
    with pytest.raises(errors.AllocationsNotFound):
        transaction.release(cloud.context, uuid_of('nobody'))

    assert cloud.everything() == before


@pytest.mark.parametrize('there', ['consumer', 'allocations'])
def test_release_of_old_data_is_as_one_by_one(cloud: Cloud, there: str) -> None:
    table, column = tables.consumers, tables.consumers.c.uuid
    if there == 'consumer':
        table, column = tables.allocations, tables.allocations.c.consumer_id
    with cloud.database.writer() as connection:
        connection.execute(sa.delete(table).where(column == uuid_of('first')))

    before = cloud.everything()
    if there == 'consumer':
        with pytest.raises(errors.AllocationsNotFound):
            transaction.release(cloud.context, uuid_of('first'))
        assert cloud.everything() == before
    else:
        transaction.release(cloud.context, uuid_of('first'))
        assert uuid_of('first') not in {row[0] for row in state(cloud)[0]}


# Both


@pytest.fixture
def clouds(database: Database) -> Iterator[tuple[Cloud, Cloud]]:
    """Two clouds that are alike, each with a database of its own."""
    second = databases.create()
    other = Database(create_engine(second.url))
    yield filled(Cloud(database)), filled(Cloud(other))
    other.dispose()
    second.drop()


def act(cloud: Cloud, chance: random.Random) -> str:
    """Claim or release something by chance; returns what the client would be told."""
    consumer = f'server {chance.randrange(6)}'
    amounts = {'VCPU': chance.randint(1, 3)}
    if chance.random() < 0.5:
        amounts['DISK_GB'] = chance.randint(20, 60)
    hosts = ['host', 'host', 'other', 'nowhere']
    names = chance.sample(hosts, 2) if chance.random() < 0.2 else [chance.choice(hosts)]
    more: dict[str, Any] = {
        'generation': chance.choice([None, None, 1, NOT_SENT]),
        'project': f'project {chance.randrange(3)}',
        'consumer_type': chance.choice(['INSTANCE', 'MIGRATION']),
    }
    is_claim = chance.random() < 0.6
    try:
        if is_claim:
            cloud.take(consumer, dict.fromkeys(names, amounts), **more)
        else:
            transaction.release(cloud.context, uuid_of(consumer))
    except errors.PlacementError as error:
        return f'{type(error).__name__}: {error}'
    return 'done'


@pytest.mark.parametrize('seed', range(6))
def test_random_histories_end_alike(clouds: tuple[Cloud, Cloud], seed: int) -> None:
    first, second = clouds
    told, told_one_by_one = [], []
    chance = random.Random(seed)
    with first.statements(by_a_new_process=False) as statements:
        told = [act(first, chance) for _ in range(80)]
    chance = random.Random(seed)
    with one_by_one():
        told_one_by_one = [act(second, chance) for _ in range(80)]

    assert told == told_one_by_one
    assert state(first) == state(second)
    assert told.count('done') > 10
    assert sum(one.startswith(compound.BEGIN) for one in statements) > 10
