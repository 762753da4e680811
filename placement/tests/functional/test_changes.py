# SPDX-License-Identifier: Apache-2.0
"""Who follows the changes of the cloud has exactly the cloud whenever nobody writes."""

import concurrent.futures
import multiprocessing

import pytest

from placement import deploy
from placement.feed import follower as follower_module
from placement.feed import follower_position, position

from .fixtures import applications, databases, follower, freshness
from .fixtures.client import Client
from .fixtures.follower import Follower
from .fixtures.freshness_workload import Workload

STEPS = 150
PROCESSES = 3


def client_on(url: str) -> Client:
    """A client of a worker of its own."""
    configuration = applications.configured(url, applications.insight_options('on'))
    return Client(deploy.loadapp(configuration))


@pytest.mark.parametrize(('seed', 'block'), [(1, position.BLOCK), (2, 40)])
def test_a_follower_has_the_cloud_after_each_request_of_any_kind(
    url: str, seed: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness.prune_often(monkeypatch, block)
    if block < follower_position.WINDOW:
        monkeypatch.setattr(follower_position, 'WINDOW', 8)
    client, other = client_on(url), client_on(url)
    workload = Workload(client, seed)
    close, far = Follower(client), Follower(other, client)
    for number in range(5 * STEPS):
        title = workload.step()
        stored = follower.everything(client)
        close.follow()
        assert follower.differences(close.providers, stored) == [], title
        if number % 20 == 0:
            far.follow()
            assert follower.differences(far.providers, stored) == [], title
        if number >= STEPS and not workload.undone():
            break

    assert workload.undone() == []
    assert close.reads == 1
    assert (far.reads == 1) == (block == position.BLOCK)


def test_followers_of_several_workers_have_the_cloud_whenever_nobody_writes(url: str) -> None:
    context = multiprocessing.get_context('spawn')
    with concurrent.futures.ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        futures = [pool.submit(follower.work, url, seed, 60, 40) for seed in range(PROCESSES)]
        lines = [line for future in futures for line in future.result()]

    assert lines == []


def test_a_follower_of_a_restored_database_reads_everything_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Where ids are not given out again, it takes a minute to be noticed.
    monkeypatch.setattr(follower_module, 'MAX_LAG_SECONDS', 0)
    database = databases.create()
    client = client_on(database.url)
    workload = Workload(client, 7)
    for _ in range(50):
        workload.step()
    backup = database.contents()
    early, late = Follower(client), Follower(client)
    for _ in range(20):
        workload.step()
    late.follow()
    database.restore(backup)
    for _ in range(60):
        workload.step()
    early.follow()
    late.follow()
    stored = follower.everything(client)

    assert follower.differences(early.providers, stored) == []
    assert follower.differences(late.providers, stored) == []
    assert (early.reads, late.reads) == (1, 2)
    database.drop()
