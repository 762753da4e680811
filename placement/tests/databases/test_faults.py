# SPDX-License-Identifier: Apache-2.0
"""Fault injection under load: acknowledged claims survive, and no write is done in part.

Workers are killed, database servers stopped and crashed, connections cut while 32 clients claim.
The service recovers by itself: requests that are repeated succeed.
"""

import time
from collections.abc import Callable

import pytest

from placement.tests.databases import servers
from placement.tests.functional import consistency_check
from placement.tests.functional.fixtures import databases, workers, workload
from placement.tests.waiting import TIMEOUT

SERVERS = [servers.Mariadb, servers.Postgresql]

InjectFaults = Callable[[workers.Workers, workload.Account], None]


def check_under_faults(url: str, inject: InjectFaults) -> None:
    """Run claims of clients while faults are injected, then check database and service."""
    databases.migrate(url)
    with workers.running(url) as cluster:
        consistency_check.build(cluster)
        run = consistency_check.ConsistencyCheck(url, cluster.port, faults=True)
        run.run(meanwhile=lambda: inject(cluster, run.account))
        cluster.wait()
        run.check()
        print(f'{url}: {dict(run.account.answers)}, {run.samples} samples')
        assert run.account.answers['done'] > consistency_check.REQUESTS / 4
        assert 'unexpected error' not in cluster.log()


def kill_workers(cluster: workers.Workers, account: workload.Account) -> None:
    """Kill one worker after the other until more than ten requests were interrupted."""
    killed: list[float] = []

    def interrupted() -> int:
        return sum(
            any(sent < moment < lost for moment in killed) for sent, lost in account.unanswered
        )

    deadline = time.monotonic() + workload.TIMEOUT
    while len(killed) < 4 or (interrupted() <= 10 and time.monotonic() < deadline):
        time.sleep(2)
        killed.append(time.monotonic())
        cluster.replace_one(len(killed) % 4)
        # The clients have to notice.
        time.sleep(0.5)
    assert interrupted() > 10, 'no request was interrupted'


def test_claims_survive_killed_workers_on_sqlite() -> None:
    database = databases.create_empty('')
    try:
        check_under_faults(database.url, kill_workers)
    finally:
        database.drop()


@pytest.mark.parametrize('kind', SERVERS)
def test_claims_survive_killed_workers(kind: type[servers.PrivateServer]) -> None:
    with servers.started(kind) as server:
        check_under_faults(server.service_url(), kill_workers)


@pytest.mark.parametrize('kind', SERVERS)
def test_claims_survive_stopped_and_crashed_servers(kind: type[servers.PrivateServer]) -> None:
    def inject(_cluster: workers.Workers, _account: workload.Account) -> None:
        for end in (server.stop, server.crash, server.crash):
            time.sleep(2)
            end()
            time.sleep(1)
            server.start()

    with servers.started(kind) as server:
        check_under_faults(server.service_url(), inject)


@pytest.mark.parametrize('kind', SERVERS)
def test_claims_survive_cut_connections(kind: type[servers.PrivateServer]) -> None:
    cut: list[int] = []

    def inject(_cluster: workers.Workers, _account: workload.Account) -> None:
        deadline = time.monotonic() + TIMEOUT
        while (len(cut) < 40 or sum(cut) <= 10) and time.monotonic() < deadline:
            time.sleep(0.1)
            cut.append(server.cut_transactions())

    with servers.started(kind) as server:
        check_under_faults(server.service_url(), inject)
    assert sum(cut) > 10, 'nothing was cut'
