# SPDX-License-Identifier: Apache-2.0
"""Searches, followers and the history have the cloud after each request of a random workload."""

import concurrent.futures
import contextlib
import multiprocessing

import pytest

from placement.feed import position
from placement.objects import provider_identity
from placement.tests.thorough import examples
from placement_insight.bulk import follower as feed_follower

from .fixtures import applications, follower, freshness
from .fixtures.follower import Follower, FollowerOfTrees
from .fixtures.freshness_workload import CONSUMERS, Workload
from .fixtures.history_replay import Replay, rows_of, shown_by

# How many requests are sent at least, and at most: more, until each kind has succeeded.
STEPS, MOST_STEPS = examples(300), 1500
PROCESSES = 3
# With fewer steps, a process may do nothing while the others work.
STEPS_OF_PROCESS = max(examples(100), 30)

# That of the service, and one so small that workers and followers fall behind now and then.
BLOCK, SMALL_BLOCK = position.BLOCK, 30

# Where a disk is busy, a COMMIT keeps its locks for seconds.
PATIENT = {
    ('placement_database', 'lock_timeout'): 60,
    ('placement_database', 'response_timeout'): 120,
}


def worker(url: str) -> contextlib.AbstractContextManager[applications.Worker]:
    """A worker that answers all that can be asked."""
    return applications.serving(url, {**applications.insight_options('on'), **PATIENT})


@pytest.mark.parametrize(('seed', 'block'), [(1, BLOCK), (3, 12)])
def test_searches_followers_and_history_have_the_cloud_after_each_request(
    url: str, seed: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness.prune_often(monkeypatch, block)
    if block != BLOCK:
        monkeypatch.setattr(feed_follower, 'WINDOW', 8)
    monkeypatch.setattr(provider_identity, 'CONSUMERS_AT_ONCE', 2)
    with worker(url) as client, worker(url) as other:
        workload = Workload(client, seed, client.configuration)
        # The second of each reads several changes at once.
        watch, seldom = freshness.Watch(client.database), freshness.Watch(client.database)
        close, far = Follower(client), Follower(other, client)
        of_trees = FollowerOfTrees(client)
        replay, replayed = Replay(), 0
        for number in range(MOST_STEPS):
            title = workload.step()
            watch.check(title)
            watch.audit(title)
            stored = follower.everything(client)
            close.follow()
            assert close.providers == stored, title
            of_trees.follow()
            assert of_trees.providers == follower.everything(client, FollowerOfTrees), title
            sums = {root: tree['resources'] for root, tree in of_trees.providers.items()}
            assert sums == follower.sums_by_root(stored), title
            if number % 7 == 0:
                seldom.check(title)
            if number % 20 == 0:
                far.follow()
                assert far.providers == stored, title
            if number % 50 == 0:
                rows = rows_of(client)
                replay.apply(rows[replayed:])
                replayed = len(rows)
                shown = shown_by(client, CONSUMERS)
                assert replay.as_data() == shown, title
                assert follower.as_requested(stored) == shown['providers'], title
            if number >= STEPS and not workload.undone():
                break

    assert watch.stale == []
    assert seldom.stale == []
    assert workload.undone() == []
    assert (far.reads == 1) == (block == BLOCK)
    # A command that changes an identity appends more than a small block has.
    assert close.reads == 1 or block != BLOCK


def test_every_worker_and_follower_has_what_all_workers_have_committed(url: str) -> None:
    context = multiprocessing.get_context('spawn')
    with concurrent.futures.ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        futures = [pool.submit(work, url, seed) for seed in range(PROCESSES)]
        lines = [line for future in futures for line in future.result()]

    assert lines == []


def work(url: str, seed: int) -> list[str]:
    """Run one of several workers, in its own process; return what it or its follower missed.

    Between the comparisons it also searches and follows while others write.
    """
    freshness.prune_often(pytest.MonkeyPatch(), SMALL_BLOCK)
    feed_follower.WINDOW = 8
    lines = []
    with worker(url) as client:
        workload = Workload(client, seed, client.configuration)
        watch, known = freshness.Watch(client.database), Follower(client)
        for _ in range(STEPS_OF_PROCESS):
            title = workload.step()
            watch.keeper.current()
            known.poll()
            with freshness.stillness(client.database):
                watch.check(title)
                known.follow()
                stored = follower.everything(client)
            if known.providers != stored:
                lines.append(f'after {title}: {known.providers} instead of {stored}')
    if known.change_count <= STEPS_OF_PROCESS / 4:
        return ['next to nothing was done']
    return watch.stale + lines
