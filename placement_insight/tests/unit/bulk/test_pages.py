# SPDX-License-Identifier: Apache-2.0
"""Pages of the cloud in bulk (specification: insight, "The cloud in bulk")."""

import functools
import math

import pytest
import sqlalchemy as sa

from placement.db.schema import tables
from placement.db.statements.provider_filters import ProviderFilters
from placement.feed.keeper import SnapshotKeeper
from placement.objects import aggregate
from placement.tests.unit.objects.cloud import Cloud, uuid_of
from placement_insight.bulk import pages as bulk
from placement_insight.bulk.statements import SummedBy

HOSTS = sorted(('one', 'two', 'three', 'four'), key=uuid_of)


@pytest.fixture
def cloud(cloud: Cloud) -> Cloud:
    """Four hosts, two of them in an aggregate, and three consumers."""
    for host in HOSTS:
        cloud.add(host, VCPU=100, DISK_GB=1000)
    for host in HOSTS[:2]:
        aggregate.replace(cloud.context, cloud.provider(host), [uuid_of('rack')], None)
    cloud.take('server', {HOSTS[0]: {'VCPU': 2, 'DISK_GB': 5}}, consumer_type='INSTANCE')
    cloud.take('moved', {HOSTS[0]: {'VCPU': 4}, HOSTS[1]: {'VCPU': 4}}, project='other')
    cloud.take('third', {HOSTS[3]: {'VCPU': 8}}, user='somebody', consumer_type='INSTANCE')
    return cloud


@pytest.fixture
def snapshots(cloud: Cloud) -> SnapshotKeeper:
    return SnapshotKeeper(cloud.database, audit_interval=math.inf)


def names(page: bulk.Page[bulk.CloudProvider]) -> list[str]:
    return [provider.row.name for provider in page.items]


def providers(
    snapshots: SnapshotKeeper, after: str | None = None, limit: int = 10, **filters: object
) -> bulk.Page[bulk.CloudProvider]:
    wanted = ProviderFilters(**filters)  # type: ignore[arg-type]
    describe = functools.partial(bulk.described, with_allocations=True)
    return bulk.list_providers(snapshots, wanted, after, limit, describe)


def test_many_filters_page_as_well(snapshots: SnapshotKeeper) -> None:
    # More of them than one statement has conditions for.
    in_rack = [frozenset([uuid_of('rack'), uuid_of(str(number))]) for number in range(9)]
    page = providers(snapshots, limit=1, member_of=in_rack)

    assert (names(page), page.has_more) == (HOSTS[:1], True)


def test_a_page_takes_few_statements_however_long_it_is(
    cloud: Cloud, snapshots: SnapshotKeeper
) -> None:
    providers(snapshots)
    with cloud.statements() as statements:
        page = providers(snapshots, after=uuid_of(HOSTS[0]))
        assert page.token is None
        # The change feed, providers and allocations.
        assert len(statements) == 3
        page = providers(snapshots)
        assert page.token is not None

    # The newest entries of the feed besides, and those that may be missing below them.
    assert len(statements) - 3 <= 3 + 2


@pytest.mark.parametrize('by', SummedBy)
def test_sums_are_paged_and_take_one_statement(cloud: Cloud, by: SummedBy) -> None:
    whole = bulk.list_usage_sums(cloud.context, by, -1, 10)
    paged: list[bulk.UsageSum] = []
    after, has_more = -1, True
    while has_more:
        with cloud.statements() as statements:
            page = bulk.list_usage_sums(cloud.context, by, after, 1)
        assert len(statements) == 1
        paged += page.items
        after, has_more = page.items[-1].id, page.has_more

    assert paged == whole.items


def test_a_provider_that_bypassed_the_feed_is_listed(
    snapshots: SnapshotKeeper, cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(providers(snapshots).items) == 4
    with cloud.database.engine.begin() as connection:
        connection.execute(
            sa.insert(tables.resource_providers).values(
                uuid=uuid_of('bypass'), name='bypass', generation=0, root_provider_id=1
            )
        )
    assert set(names(providers(snapshots))) == {*HOSTS, 'bypass'}
    assert 'bypassed the change feed' in caplog.text


def test_a_root_that_bypassed_the_feed_is_listed(
    snapshots: SnapshotKeeper, cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    child = cloud.add('child', parent=HOSTS[0])
    roots = functools.partial(
        bulk.list_providers, snapshots, ProviderFilters(is_root=True), None, 10, bulk.summed
    )
    assert [tree.row.name for tree in roots().items] == HOSTS
    table = tables.resource_providers
    with cloud.database.engine.begin() as connection:
        connection.execute(
            sa.update(table)
            .where(table.c.id == child.id)
            .values(parent_provider_id=None, root_provider_id=child.id)
        )
    assert {tree.row.name for tree in roots().items} == {*HOSTS, 'child'}
    assert 'bypassed the change feed' in caplog.text
