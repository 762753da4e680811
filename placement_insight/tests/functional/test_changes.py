# SPDX-License-Identifier: Apache-2.0
"""A follower of changes has exactly the cloud whenever there are no writes."""

import urllib.parse

import pytest

from placement.microversions import NEWEST
from placement.tests.functional.fixtures import (
    applications,
    clouds,
    databases,
    follower,
    freshness,
)
from placement.tests.functional.fixtures.client import Client
from placement.tests.functional.fixtures.clouds import uuid_of
from placement.tests.functional.fixtures.follower import Follower
from placement.tests.functional.fixtures.freshness_workload import Workload
from placement.tests.functional.test_restored_database import restore
from placement.tests.unit.objects.cloud import Cloud
from placement_insight.bulk import follower as follower_module


@pytest.fixture
def options() -> applications.Options:
    return applications.insight_options('on')


def test_workers_and_followers_of_a_restored_database_read_everything_again(
    stored: databases.Database,
    options: applications.Options,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Where ids are not given out again, it takes a minute to be noticed.
    monkeypatch.setattr(follower_module, 'MAX_LAG_SECONDS', 0)
    with applications.serving(stored.url, options) as client:
        workload = Workload(client, 7)
        for _ in range(50):
            workload.step()
        backup = stored.contents()
        early, late = Follower(client), Follower(client)
        early_worker, late_worker = (freshness.Watch(client.database) for _ in range(2))
        early_worker.check('the backup')
        for _ in range(20):
            workload.step()
        late.follow()
        late_worker.check('some requests')
        restore(stored, Cloud(client.database), backup)
        for _ in range(60):
            workload.step()
        early.follow()
        late.follow()
        early_worker.check('a restore')
        late_worker.check('a restore')
        expected = follower.everything(client)

    assert early.providers == expected
    assert late.providers == expected
    assert (early.reads, late.reads) == (1, 2)
    assert early_worker.stale + late_worker.stale == []


def test_a_page_keeps_to_its_limit_where_a_new_provider_has_the_id_of_a_deleted_one(
    client: Client,
) -> None:
    clouds.build((clouds.Provider('first'), clouds.Provider('second')), client)
    known = Follower(client, page_limit=1)
    second = f'/resource_providers/{uuid_of("second")}'
    assert client.send('DELETE', second, version=NEWEST).status == 204
    clouds.build((clouds.Provider('third'),), client)
    known.follow()

    assert known.providers.keys() == {uuid_of('first'), uuid_of('third')}
    assert (known.change_count, known.reads) == (2, 1)


def test_a_token_from_after_a_backup_is_refused_by_the_restored_database_while_nobody_writes(
    service: applications.Service, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = service.database
    clouds.build((clouds.Provider('kept'),), client)
    backup = stored.contents()
    clouds.build((clouds.Provider('lost'),), client)
    known = Follower(client)
    query = urllib.parse.urlencode({'since': known.token})
    stored.restore(backup)

    # For a minute the database may be a node of a cluster that has yet to apply the change.
    answer = known.get(f'/insight/changes?{query}')
    assert (answer['complete'], answer['token']) == (True, known.token)
    monkeypatch.setattr(follower_module, 'MAX_LAG_SECONDS', 0)
    answer = known.get(f'/insight/changes?{query}')
    assert (answer['complete'], answer['token']) == (False, None)
    assert client.send('GET', '/insight/providers', version=NEWEST).json['token'] != known.token
