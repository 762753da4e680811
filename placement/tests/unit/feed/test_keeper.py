# SPDX-License-Identifier: Apache-2.0
"""A keeper's snapshot is what is committed, whatever happened since it was last asked."""

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement import errors
from placement.db.mode import Mode
from placement.db.schema import own_tables, tables
from placement.feed import change_feed, position
from placement.feed import keeper as keeper_module
from placement.feed.change_feed import ChangeFeed
from placement.feed.keeper import SnapshotKeeper, load_providers
from placement.objects.allocation import AllocationList
from placement.search.model.snapshot import Snapshot
from placement.tests.opened import database_on, record
from placement.tests.unit.feed.conftest import prune
from placement.tests.unit.objects.cloud import Cloud, create_database, uuid_of
from placement.tests.unit.search.cloud import contents, rows_in

BYPASSED = 'a writer bypassed the change feed'


@dataclasses.dataclass
class Clock:
    """A time that passes when it is told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """A tree of three providers and another provider, partly in use."""
    database = create_database()
    cloud = Cloud(database)
    cloud.add('root', VCPU=8)
    cloud.add('child', parent='root', VCPU=8)
    cloud.add('leaf', parent='child', VCPU=8)
    cloud.add('other', VCPU=8, DISK_GB=10)
    cloud.take('server', {'root': {'VCPU': 1}, 'other': {'VCPU': 1}})
    yield cloud
    database.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keeper(cloud: Cloud, clock: Clock) -> SnapshotKeeper:
    """A keeper that has loaded everything once."""
    keeper = SnapshotKeeper(cloud.database, clock=clock)
    keeper.current()
    return keeper


def fresh(cloud: Cloud) -> tuple[object, ...]:
    """The contents of a new snapshot of the committed data."""
    with cloud.database.begin(Mode.READ) as connection:
        return contents(Snapshot.of(load_providers(connection)))


def execute(cloud: Cloud, statement: str) -> None:
    """Write without an entry in the change feed."""
    with cloud.database.engine.begin() as connection:
        connection.execute(sa.text(statement))


def feed(cloud: Cloud, *entries: tuple[int, str], **more: bool) -> None:
    """Insert entries with these ids, as if committed by other engines."""
    common = {'at': tables.utcnow(), 'allocations_only': False, 'token': 5, **more}
    rows = [{'id': i, 'provider_id': cloud.provider(name).id, **common} for i, name in entries]
    with cloud.database.engine.begin() as connection:
        connection.execute(sa.insert(own_tables.change_feed), rows)


def newest(cloud: Cloud) -> int:
    """The id of the newest entry."""
    ((entry_id,),) = cloud.rows(sa.func.max(own_tables.change_feed.c.id))
    assert isinstance(entry_id, int)
    return entry_id


def set_total(cloud: Cloud, name: str, total: int) -> None:
    """Change an inventory without an entry in the feed yet."""
    provider_id = cloud.provider(name).id
    execute(
        cloud, f'UPDATE inventories SET total = {total} WHERE resource_provider_id = {provider_id}'
    )


def vcpu(known: Snapshot, name: str) -> tuple[int, int]:
    """The VCPU of a provider: total and usage."""
    provider = known.find_by_uuid(uuid_of(name))
    assert provider is not None
    found = {name: (capacity.total, used) for name, capacity, used in provider.inventories}
    return found['VCPU']


def total(known: Snapshot, name: str) -> int:
    return vcpu(known, name)[0]


def set_used(cloud: Cloud, name: str, used: int) -> None:
    """Change all allocations of a provider without an entry in the feed yet."""
    provider_id = cloud.provider(name).id
    execute(
        cloud, f'UPDATE allocations SET used = {used} WHERE resource_provider_id = {provider_id}'
    )


def used(known: Snapshot, name: str) -> int:
    return vcpu(known, name)[1]


def release(cloud: Cloud, consumer: str) -> None:
    AllocationList.release(cloud.context, uuid_of(consumer))


def add_foreign_provider(cloud: Cloud, name: str) -> None:
    """Add a provider without an entry in the feed."""
    execute(
        cloud,
        'INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id)'
        f" VALUES (50, '{uuid_of(name)}', '{name}', 0, 50)",
    )


def selects(cloud: Cloud, keeper: SnapshotKeeper) -> int:
    """The number of statements of one search."""
    with cloud.statements() as seen:
        keeper.current()
    return len(seen)


# Claims


# Claims cost this many statements, and anything else more.
CLAIMS = 1 + 1

# How many statements read all providers, and some.
READ_ALL, READ_SOME = 6, 4


def claim_for_two(cloud: Cloud) -> None:
    cloud.write(
        cloud.claim('server', {'child': {'VCPU': 3}, 'leaf': {'VCPU': 1}}),
        cloud.claim('another', {'leaf': {'VCPU': 2}, 'other': {'VCPU': 1, 'DISK_GB': 2}}),
    )


def claim_and_release(cloud: Cloud) -> None:
    cloud.take('another', {'leaf': {'VCPU': 1}})
    release(cloud, 'another')


@pytest.mark.parametrize(
    ('claim', 'changed'),
    [
        (lambda cloud: cloud.take('another', {'other': {'DISK_GB': 4}}), {'other'}),
        (lambda cloud: cloud.take('server', {'leaf': {'VCPU': 1}}), {'root', 'leaf', 'other'}),
        (lambda cloud: release(cloud, 'server'), {'root', 'other'}),
        (claim_for_two, {'root', 'child', 'leaf', 'other'}),
        (claim_and_release, set()),
    ],
)
def test_claims_change_what_is_used_and_nothing_else(
    cloud: Cloud, keeper: SnapshotKeeper, claim: Callable[[Cloud], object], changed: set[str]
) -> None:
    before = keeper.current()
    claim(cloud)

    assert selects(cloud, keeper) == CLAIMS
    after = keeper.current()
    assert contents(after) == fresh(cloud)
    names = ('root', 'child', 'leaf', 'other')
    ids = {name: cloud.provider(name).id for name in names}
    replaced = {n for n in names if after.provider(ids[n]) is not before.provider(ids[n])}
    assert replaced == changed


def test_everything_that_changed_is_read_where_somebody_writes_while_claims_are_read(
    cloud: Cloud, keeper: SnapshotKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate the write, impossible on SQLite; functional/test_freshness.py uses servers."""
    read = ChangeFeed.used

    def read_while_others_write(*arguments: Any) -> None:
        assert read(*arguments) is not None

    monkeypatch.setattr(ChangeFeed, 'used', read_while_others_write)
    cloud.take('another', {'leaf': {'VCPU': 1}})

    assert selects(cloud, keeper) == CLAIMS + 1 + READ_SOME
    assert contents(keeper.current()) == fresh(cloud)


def test_what_is_used_of_a_class_that_is_not_offered_is_no_matter(
    cloud: Cloud, keeper: SnapshotKeeper
) -> None:
    execute(
        cloud,
        'DELETE FROM inventories WHERE resource_class_id IN '
        "(SELECT id FROM resource_classes WHERE name = 'VCPU')",
    )
    feed(cloud, (newest(cloud) + 1, 'root'), (newest(cloud) + 2, 'other'))
    keeper.current()
    cloud.take('another', {'other': {'DISK_GB': 1}})

    assert selects(cloud, keeper) == CLAIMS
    assert keeper.current().provider(cloud.provider('other').id).used == (1,)


def test_searches_never_ask_a_replica_that_may_lag_behind(cloud: Cloud) -> None:
    replica = create_database()
    keeper = SnapshotKeeper(database_on(cloud.database.engine, replica.engine))
    keeper.current()
    cloud.add('new', VCPU=1)

    assert contents(keeper.current()) == fresh(cloud)
    with Failing(Cloud(replica), 1) as asked:
        keeper.current()
    assert asked.remaining == 1
    replica.dispose()


def test_a_keeper_that_keeps_nothing_reads_everything_each_time(cloud: Cloud) -> None:
    keeper = SnapshotKeeper(cloud.database, is_cached=False)
    assert contents(keeper.current()) == fresh(cloud)
    set_total(cloud, 'root', 9)

    assert total(keeper.current(), 'root') == 9
    assert keeper.current() is not keeper.current()
    assert selects(cloud, keeper) == READ_ALL
    with Failing(cloud, 3), pytest.raises(errors.DatabaseUnavailable):
        keeper.current()


# What it costs


def claim_often(cloud: Cloud) -> None:
    for number in range(30):
        name = ('root', 'child', 'leaf', 'other')[number % 4]
        cloud.take(f'server{number}', {name: {'VCPU': 1}} if number < 24 else {})


def add_many(cloud: Cloud) -> None:
    for number in range(30):
        cloud.add(f'new{number}', VCPU=1, DISK_GB=1)


@pytest.mark.parametrize(
    ('act', 'seconds', 'limits', 'cost'),
    [
        (lambda _cloud: None, 0, {}, 1),
        (claim_often, 0, {}, CLAIMS),
        (claim_often, 0, {'MAX_USED': 3, 'MAX_RELOADED': 3}, 1 + 1 + 1 + READ_ALL),
        (lambda cloud: cloud.add('new', VCPU=1), 0, {}, 1 + 1 + READ_SOME),
        (add_many, 0, {}, 1 + 1 + READ_SOME),
        (add_many, 0, {'MAX_RELOADED': 29}, 1 + 1 + 1 + READ_ALL),
        (lambda _cloud: None, 300, {}, 1 + 5),
    ],
)
def test_a_search_costs_a_fixed_number_of_statements(
    cloud: Cloud,
    keeper: SnapshotKeeper,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Cloud], object],
    seconds: int,
    limits: dict[str, int],
    cost: int,
) -> None:
    for name, limit in limits.items():
        monkeypatch.setattr(keeper_module, name, limit)
    act(cloud)
    clock.now += seconds

    assert selects(cloud, keeper) == cost
    before = keeper.current()
    assert selects(cloud, keeper) == 1
    assert keeper.current() is before
    assert contents(before) == fresh(cloud)
    assert selects(cloud, SnapshotKeeper(cloud.database)) == 1 + READ_ALL


# Ids that commit out of order


def interleave(cloud: Cloud) -> range:
    """Let entries appear under every third id, more than a window has; these ids.

    As one node of a Galera cluster of three does.
    """
    last = newest(cloud)
    ids = range(last + 1, last + 6 * position.MAX_WINDOW, 3)
    feed(cloud, *[(one, 'root') for one in ids], allocations_only=True)
    return ids


@pytest.mark.parametrize('place', [-2, -7, 2 - position.MAX_WINDOW])
def test_gaps_of_interleaved_ids_cost_no_more_statements(
    cloud: Cloud, keeper: SnapshotKeeper, place: int
) -> None:
    ids = interleave(cloud)
    assert selects(cloud, keeper) == CLAIMS

    assert selects(cloud, keeper) == 1
    set_used(cloud, 'other', 3)
    feed(cloud, (ids[place] + 1, 'other'), allocations_only=True)
    assert selects(cloud, keeper) == CLAIMS + 1
    assert used(keeper.current(), 'other') == 3
    set_total(cloud, 'leaf', 11)
    feed(cloud, (ids[place] + 2, 'leaf'))
    assert total(keeper.current(), 'leaf') == 11
    assert selects(cloud, keeper) == 1
    assert contents(keeper.current()) == fresh(cloud)


# A feed that was pruned


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 30 ids; one with two entries or less counts as removed before."""
    monkeypatch.setattr(position, 'BLOCK', 30)
    monkeypatch.setattr(change_feed, 'MAX_LATE', 2)


def fill_block(cloud: Cloud) -> None:
    """Write until the oldest block may be removed."""
    while newest(cloud) < 2 * position.BLOCK:
        cloud.give('leaf', VCPU=11)


@pytest.mark.usefixtures('_small_blocks')
def test_a_worker_that_slept_while_a_block_was_removed_loads_everything(
    cloud: Cloud, keeper: SnapshotKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    fill_block(cloud)
    prune(cloud.database)

    assert contents(keeper.current()) == fresh(cloud)
    assert 'fallen behind' in caplog.text
    assert selects(cloud, keeper) == 1


@pytest.mark.usefixtures('_small_blocks')
def test_a_worker_that_read_a_block_before_it_was_removed_reads_on(
    cloud: Cloud, keeper: SnapshotKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    fill_block(cloud)
    keeper.current()
    caplog.set_level(logging.INFO)
    prune(cloud.database)

    # The lowest id is another one: the window is read, and the number of entries removed.
    assert selects(cloud, keeper) == 3
    assert selects(cloud, keeper) == 1
    assert caplog.text == ''
    assert contents(keeper.current()) == fresh(cloud)


# A writer that bypasses the feed


def test_a_foreign_writer_is_noticed_logged_and_healed(
    cloud: Cloud, keeper: SnapshotKeeper, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    set_total(cloud, 'leaf', 11)
    clock.now += 299
    assert total(keeper.current(), 'leaf') == 8
    assert caplog.text == ''

    clock.now += 1
    assert contents(keeper.current()) == fresh(cloud)
    (record,) = caplog.records
    assert record.levelname == 'WARNING'
    assert BYPASSED in record.getMessage()
    assert selects(cloud, keeper) == 1


def test_an_audit_that_finds_no_difference_says_nothing(
    cloud: Cloud, keeper: SnapshotKeeper, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.give('leaf', VCPU=11)
    clock.now += 300

    assert contents(keeper.current()) == fresh(cloud)
    assert caplog.text == ''


def test_a_claim_on_a_provider_that_nobody_announced_lets_all_of_it_be_read(
    cloud: Cloud, keeper: SnapshotKeeper
) -> None:
    add_foreign_provider(cloud, 'foreign')
    execute(
        cloud,
        'INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, '
        'min_unit, max_unit, step_size, allocation_ratio) '
        "SELECT 50, id, 4, 0, 1, 4, 1, 1.0 FROM resource_classes WHERE name = 'VCPU'",
    )
    cloud.take('another', {'foreign': {'VCPU': 3}})

    assert used(keeper.current(), 'foreign') == 3
    assert contents(keeper.current()) == fresh(cloud)


def test_a_uuid_that_was_given_up_unannounced_can_be_used_again(
    cloud: Cloud, keeper: SnapshotKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    old = cloud.add('new').id
    keeper.current()
    execute(cloud, f'UPDATE resource_providers SET root_provider_id = NULL WHERE id = {old}')
    execute(cloud, f'DELETE FROM resource_providers WHERE id = {old}')
    add_foreign_provider(cloud, 'new')
    cloud.give('new', VCPU=2)

    assert contents(keeper.current()) == fresh(cloud)
    assert BYPASSED in caplog.text


# What fails on the way


class Failing:
    """Makes statements fail, from the nth from now on, or only the nth (`is_cut_once`)."""

    def __init__(self, cloud: Cloud, number: int, is_cut_once: bool = False) -> None:
        self._engine = cloud.database.engine
        self._is_cut_once = is_cut_once
        self.remaining = number

    def __call__(self, *arguments: Any) -> None:
        if self.remaining <= 0 and self._is_cut_once:
            return
        self.remaining -= not arguments[2].startswith('BEGIN')
        if self.remaining <= 0:
            raise db_errors.DBConnectionError(Exception('cut'))

    def __enter__(self) -> 'Failing':
        sa.event.listen(self._engine, 'before_cursor_execute', self)
        return self

    def __exit__(self, *_error: object) -> None:
        sa.event.remove(self._engine, 'before_cursor_execute', self)


def change_much(cloud: Cloud) -> None:
    cloud.give('leaf', VCPU=11)
    cloud.add('new', parent='leaf', VCPU=1)
    cloud.provider('other').update('other', uuid_of('root'), True)


# Acts, the seconds after them, and how many statements read what they changed.
READS = {
    'news': (change_much, 0, 1 + 1 + READ_SOME),
    'claims': (lambda cloud: cloud.take('server', {'leaf': {'VCPU': 1}}), 0, CLAIMS),
    'audit': (lambda cloud: set_total(cloud, 'leaf', 11), 300, 1 + 5 + 1 + READ_ALL),
}


@pytest.mark.parametrize(
    ('act', 'seconds', 'number'),
    [
        pytest.param(act, seconds, number, id=f'{name}-{number}')
        for name, (act, seconds, count) in READS.items()
        for number in range(1, count + 1)
    ],
)
def test_a_failure_of_any_statement_changes_nothing(
    cloud: Cloud,
    keeper: SnapshotKeeper,
    clock: Clock,
    act: Callable[[Cloud], object],
    seconds: int,
    number: int,
) -> None:
    before, old_rows = keeper.current(), rows_in(keeper.current())
    act(cloud)
    clock.now += seconds
    with Failing(cloud, number) as failing, pytest.raises(errors.DatabaseUnavailable):
        keeper.current()
    assert failing.remaining <= 0
    assert rows_in(before) == old_rows
    with Failing(cloud, number, is_cut_once=True):
        known = keeper.current()
    assert contents(known) == fresh(cloud)


@pytest.mark.parametrize('number', range(1, 1 + READ_ALL + 1))
def test_a_failure_of_the_first_load_is_no_load(cloud: Cloud, number: int) -> None:
    keeper = SnapshotKeeper(cloud.database)
    with Failing(cloud, number) as failing, pytest.raises(errors.DatabaseUnavailable):
        keeper.current()

    assert failing.remaining <= 0
    assert contents(keeper.current()) == fresh(cloud)


def test_an_audit_whose_end_fails_is_done_again(
    cloud: Cloud, keeper: SnapshotKeeper, clock: Clock
) -> None:
    set_total(cloud, 'leaf', 11)
    clock.now += 300

    def cut(_connection: sa.Connection) -> None:
        raise db_errors.DBConnectionError(Exception('cut'))

    sa.event.listen(cloud.database.engine, 'commit', cut)
    with pytest.raises(errors.DatabaseUnavailable):
        keeper.current()
    sa.event.remove(cloud.database.engine, 'commit', cut)

    assert contents(keeper.current()) == fresh(cloud)


def test_full_load_logs_the_number_of_providers_and_the_seconds(
    cloud: Cloud, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_slowly(connection: sa.Connection) -> Any:
        clock.now += 0.75
        return load_providers(connection)

    monkeypatch.setattr(keeper_module, 'load_providers', load_slowly)
    caplog.set_level(logging.INFO)
    keeper = SnapshotKeeper(cloud.database, clock=clock)
    keeper.current()
    keeper.current()

    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert lines == [('INFO', 'Snapshot: 4 providers in 0.750 s.')]


def test_epoch_is_another_one_after_changes_of_no_provider_only(
    cloud: Cloud, keeper: SnapshotKeeper
) -> None:
    first = keeper.epoch
    cloud.take('server2', {'root': {'VCPU': 1}})
    cloud.add('more', VCPU=8)
    keeper.current()
    assert keeper.epoch is first
    record(cloud.database, [own_tables.NO_PROVIDER])
    assert keeper.epoch is first
    keeper.current()
    second = keeper.epoch
    assert second is not first
    # Also beside changes of providers, and where one is unknown.
    record(cloud.database, [own_tables.NO_PROVIDER])
    cloud.take('server3', {'root': {'VCPU': 1}})
    keeper.current()
    third = keeper.epoch
    assert third is not second
    record(cloud.database, [own_tables.NO_PROVIDER])
    cloud.add('another', VCPU=8)
    keeper.current()
    assert keeper.epoch is not third


def test_epoch_is_never_the_same_without_a_cached_snapshot(cloud: Cloud) -> None:
    keeper = SnapshotKeeper(cloud.database, is_cached=False)
    keeper.current()
    assert keeper.epoch is not keeper.epoch


def test_epoch_is_another_one_after_an_audit(cloud: Cloud, clock: Clock) -> None:
    keeper = SnapshotKeeper(cloud.database, audit_interval=300, clock=clock)
    keeper.current()
    first = keeper.epoch
    clock.now += 300
    keeper.current()
    second = keeper.epoch
    assert second is not first
    keeper.current()
    assert keeper.epoch is second
