# SPDX-License-Identifier: Apache-2.0
"""Workers of the release before this one and of this one on one database, at the same time."""

import contextlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from placement.microversions import NEWEST
from placement.tests.databases import previous_release
from placement.tests.functional import consistency_check
from placement.tests.functional.fixtures import databases, follower, workers, workload
from placement.tests.functional.fixtures.freshness_workload import CLASSES, Workload

on_servers = pytest.mark.parametrize('database', ['mariadb', 'postgresql'], indirect=True)

#: How many changes one client makes.
STEPS = 100

#: Prints what operators and their tools name: options, metrics with their labels, and paths.
PRINT_NAMES = """
import json
from placement.conf import opts
from placement.metrics import catalog
try:
    from placement.extension import list_installed
    from placement.routes import installed_surface
except ImportError:
    from placement.routes import ROUTES
    added = []
else:
    ROUTES = installed_surface().routes
    added = [metric for each in list_installed() for metric in each.metrics]
groups = [(getattr(group, 'name', group), options) for group, options in opts.list_opts()]
metrics = [one for one in vars(catalog).values() if isinstance(one, catalog.Metric)] + added
print(json.dumps([
    *(f'[{group}] {option.name}' for group, options in groups for option in options),
    *(f'{metric.name}{{{label}}}' for metric in metrics for label in ('', *metric.labels)),
    *(f'{route.method} {route.path}' for route in ROUTES),
]))
"""


@pytest.fixture(scope='module')
def previous(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of the release before."""
    return previous_release.install(tmp_path_factory.mktemp('previous'))


@contextlib.contextmanager
def serving(
    url: str, previous: str
) -> Iterator[tuple[list[workers.Workers], list[workload.HttpClient]]]:
    """Two workers of each release, the older ones first, which have started first, and clients."""
    options = {
        'OS_HISTORY__ENABLED': 'true',
        # Writes wait for each other as long as a busy machine may need.
        'OS_PLACEMENT_DATABASE__LOCK_TIMEOUT': '50',
        'OS_PLACEMENT_DATABASE__RESPONSE_TIMEOUT': '55',
    }
    databases.migrate(url)
    with contextlib.ExitStack() as stack:
        releases = [
            stack.enter_context(workers.running(url, 2, python, options))
            for python in (previous, sys.executable)
        ]
        clients = [workload.HttpClient(release.port) for release in releases]
        yield releases, [stack.enter_context(contextlib.closing(client)) for client in clients]
        # A load balancer keeps the workers of both.
        assert [client.send('GET', '/healthcheck').status for client in clients] == [200, 200]
        for release in releases:
            assert 'unexpected error' not in release.log()
            # Neither has changed what the other did not learn of.
            assert 'bypassed' not in release.log()


def found(client: workload.HttpClient) -> dict[str, Any]:
    """The candidates that a release finds for each class, with what is used of them."""
    summaries = {}
    for name in CLASSES:
        path = f'/allocation_candidates?resources={name}:1'
        answer = client.send('GET', path, version=NEWEST)
        assert answer.status in (200, 400), answer.text
        summaries[name] = answer.json.get('provider_summaries')
    return summaries


@on_servers
def test_each_release_finds_what_the_other_has_changed(
    database: databases.Database, previous: str
) -> None:
    """A change of any kind is in the next search and in the next changes, whoever is asked."""
    with serving(database.url, previous) as (_releases, clients):
        workloads = [Workload(client, seed) for seed, client in enumerate(clients)]
        chance = random.Random(2)
        followers = [follower.Follower(*clients) for _ in range(3)]
        for _ in range(STEPS):
            done = chance.choice(workloads).step()
            old, new = map(found, clients)
            assert old == new, f'after {done}'
            one = chance.choice(followers)
            one.follow()
            assert one.providers == follower.everything(clients[1]), f'after {done}'
        for one in followers:
            one.follow()
            for asked in clients:
                assert one.providers == follower.everything(asked)
            assert one.reads == 1
        assert all(sum(each.done.values()) > STEPS / 6 for each in workloads)


@on_servers
def test_claims_through_both_releases_never_exceed_capacity(
    database: databases.Database, previous: str
) -> None:
    url = database.url
    with serving(url, previous) as (releases, clients):
        consistency_check.build(releases[1])
        following = follower.Follower(*clients)
        # The release before may answer 503 to a write that waits for others.
        ports = [release.port for release in releases]
        run = consistency_check.ConsistencyCheck(url, *ports, faults=True)
        deadline = time.monotonic() + 1

        def follow() -> None:
            while time.monotonic() < deadline:
                following.follow()
                for client in clients:
                    found(client)

        run.run(meanwhile=follow)
        run.check()
        following.follow()
        for client in clients:
            assert following.providers == follower.everything(client)
        assert following.reads == 1
        assert run.account.answers['done'] > consistency_check.REQUESTS / 4
        assert run.account.answers['503'] < consistency_check.REQUESTS / 20
        assert run.account.unanswered == []


def names_in(python: str) -> set[str]:
    """The options, metrics and paths of a release."""
    # Isolated: the working directory must not lend it the modules of this one.
    command = [python, '-I', '-W', 'ignore', '-c', PRINT_NAMES]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return set(json.loads(printed))


def test_options_metrics_and_paths_of_the_previous_release_are_known(previous: str) -> None:
    before = names_in(previous)

    assert before - names_in(sys.executable) == set()
    # Of each kind there are some to be missed.
    option, label = '[history] enabled', 'placement_http_requests_total{action}'
    assert {option, label, 'GET /insight/changes'} <= before
