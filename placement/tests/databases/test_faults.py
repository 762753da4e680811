# SPDX-License-Identifier: Apache-2.0
"""Machines fail while many clients claim: what was acknowledged is there, and nothing half-done.

The service recovers by itself: whoever asks again gets an answer.
"""

import time
from collections.abc import Callable

import pytest

from placement.tests.databases import servers
from placement.tests.functional import proof
from placement.tests.functional.fixtures import databases, workers, workload

SERVERS = [servers.Mariadb, servers.Postgresql]

Disturb = Callable[[workers.Workers, workload.Account], None]


def prove(url: str, disturb: Disturb) -> None:
    """Let clients claim while the service is disturbed, and check all of it in the end."""
    databases.migrate(url)
    with workers.running(url) as cluster:
        proof.build(cluster)
        run = proof.Proof(url, cluster.port, faults=True)
        run.run(meanwhile=lambda: disturb(cluster, run.account))
        cluster.wait()
        run.check()
        print(f'{url}: {dict(run.account.answers)}, {run.samples} samples')
        assert run.account.answers['done'] > proof.REQUESTS / 4
        assert 'unexpected error' not in cluster.log()


def kill_workers(cluster: workers.Workers, account: workload.Account) -> None:
    """Kill one worker after the other, and go on until that has met requests."""
    killed: list[float] = []

    def met() -> int:
        return sum(
            any(sent < moment < lost for moment in killed) for sent, lost in account.unanswered
        )

    deadline = time.monotonic() + workload.PATIENCE
    while len(killed) < 4 or (met() <= 10 and time.monotonic() < deadline):
        time.sleep(2)
        killed.append(time.monotonic())
        cluster.replace_one(len(killed) % 4)
        # The clients have to notice.
        time.sleep(0.5)
    assert met() > 10, 'nobody was at work'


def test_workers_are_killed_on_sqlite() -> None:
    database = databases.create_empty('')
    try:
        prove(database.url, kill_workers)
    finally:
        database.drop()


@pytest.mark.parametrize('kind', SERVERS)
def test_workers_are_killed(kind: type[servers.PrivateServer]) -> None:
    with servers.started(kind) as server:
        prove(server.url('placement'), kill_workers)


@pytest.mark.parametrize('kind', SERVERS)
def test_the_server_is_stopped_and_crashes(kind: type[servers.PrivateServer]) -> None:
    def disturb(_cluster: workers.Workers, _account: workload.Account) -> None:
        for end in (server.stop, server.crash, server.crash):
            time.sleep(2)
            end()
            time.sleep(1)
            server.start()

    with servers.started(kind) as server:
        prove(server.url('placement'), disturb)


@pytest.mark.parametrize('kind', SERVERS)
def test_connections_are_cut_in_the_middle(kind: type[servers.PrivateServer]) -> None:
    cut = []

    def disturb(_cluster: workers.Workers, _account: workload.Account) -> None:
        for _ in range(40):
            time.sleep(0.1)
            cut.append(server.cut_transactions())

    with servers.started(kind) as server:
        prove(server.url('placement'), disturb)
    assert sum(cut) > 10, 'nothing was cut'
