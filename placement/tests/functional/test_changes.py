# SPDX-License-Identifier: Apache-2.0
"""Who follows the changes of the cloud has exactly the cloud whenever nobody writes."""

import urllib.parse

import pytest

from placement.feed import follower as follower_module
from placement.microversions import NEWEST
from placement.tests.unit.objects.cloud import Cloud

from .fixtures import applications, databases, follower, freshness
from .fixtures.client import Client
from .fixtures.follower import Follower
from .fixtures.freshness_workload import Workload
from .test_restored_database import restore


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
    uuids = [create(client, name) for name in ('first', 'second')]
    known = Follower(client, page_limit=1)
    assert client.send('DELETE', f'/resource_providers/{uuids[1]}', version=NEWEST).status == 204
    uuids[1] = create(client, 'third')
    known.follow()

    assert known.providers.keys() == {*uuids}
    assert (known.told, known.reads) == (2, 1)


def test_a_token_from_after_a_backup_is_refused_by_the_restored_database_while_nobody_writes(
    service: applications.Service, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = service.database
    create(client, 'kept')
    backup = stored.contents()
    create(client, 'lost')
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


def create(client: Client, name: str) -> str:
    """Create a provider; returns its uuid."""
    answer = client.send('POST', '/resource_providers', {'name': name}, NEWEST)
    assert answer.status == 200, answer
    created: str = answer.json['uuid']
    return created
