# SPDX-License-Identifier: Apache-2.0
"""Changes of the cloud since a time (specification: insight, "GET /insight/changes")."""

import datetime
import math

import pytest
import sqlalchemy as sa

from placement.db.schema.own_tables import change_feed, removed_changes
from placement.db.schema.tables import resource_providers, utcnow
from placement.feed.keeper import SnapshotKeeper
from placement.tests.unit.objects.cloud import Cloud
from placement_insight.bulk import pages
from placement_insight.bulk.pages import Changes, CloudProvider

HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def cloud(cloud: Cloud) -> Cloud:
    """A host that was made two hours ago in a cloud of three hours, and one of this moment."""
    cloud.add('old', VCPU=8)
    execute(cloud, sa.update(resource_providers).values(created_at=utcnow() - 2 * HOUR))
    execute(cloud, sa.update(change_feed).values(at=utcnow() - 2 * HOUR))
    first = sa.select(sa.func.min(change_feed.c.id)).scalar_subquery()
    begin = sa.update(change_feed).where(change_feed.c.id == first)
    execute(cloud, begin.values(at=utcnow() - 3 * HOUR))
    cloud.add('new', VCPU=8)
    return cloud


def execute(cloud: Cloud, statement: sa.Executable) -> None:
    with cloud.database.engine.begin() as connection:
        connection.execute(statement)


def since(cloud: Cloud, age: datetime.timedelta, limit: int = 10) -> Changes[CloudProvider]:
    snapshots = SnapshotKeeper(cloud.database, audit_interval=math.inf)
    return pages.list_changes(cloud.context, snapshots, utcnow() - age, limit, pages.described)


def names(changes: Changes[CloudProvider]) -> list[str]:
    assert changes.token is not None
    return [provider.row.name for provider in changes.items]


@pytest.mark.parametrize(
    ('age', 'changed'),
    # A change is dated a moment before its commit.
    [(HOUR, ['new']), (2 * HOUR, ['new', 'old']), (0 * HOUR, ['new'])],
)
def test_what_changed_since_a_time_is_listed(
    cloud: Cloud, age: datetime.timedelta, changed: list[str]
) -> None:
    assert sorted(names(since(cloud, age))) == changed


OLDER = sa.update(resource_providers).values(created_at=utcnow() - 10 * HOUR)
REMOVED = sa.insert(removed_changes).values({'end_id': 1, 'start_id': 0, 'entries': 1})


@pytest.mark.parametrize('statement', [OLDER, REMOVED], ids=['older cloud', 'removed entries'])
def test_a_time_before_the_feed_is_lost(cloud: Cloud, statement: sa.Executable) -> None:
    execute(cloud, statement)

    assert since(cloud, 4 * HOUR).token is None
    assert names(since(cloud, HOUR)) == ['new']
