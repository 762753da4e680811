# SPDX-License-Identifier: Apache-2.0
"""Metrics of several processes under each web server, as a real Prometheus reads them."""

import json
import math
import os
import pathlib
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import yaml

from placement.tests.databases.acknowledged_claims import HttpSender
from placement.tests.functional.fixtures import clouds
from placement.tests.servers import installation, prometheus, servers
from placement.tests.servers.prometheus import MetricsProcess, Prometheus
from placement.tests.servers.servers import Server
from placement.tests.waiting import TIMEOUT, wait_until

ETC = installation.REPOSITORY / 'etc'
ALERTS = yaml.safe_load(prometheus.ALERTS.read_text())['groups'][0]['rules']
DASHBOARD = json.loads((ETC / 'grafana' / 'placement.json').read_text())

TRAITS = 'placement_http_requests_total{action="traits.list",method="GET",status="200"}'
HOST, AGGREGATE = map(clouds.uuid_of, ('host1', 'zone1'))


def with_metrics(server: Server) -> Server:
    """The server with metrics on, which any user may write."""
    path = server.directory / 'run'
    path.mkdir()
    path.chmod(0o777)
    requests_file, aggregates_file = server.directory / 'requests', server.directory / 'aggregates'
    requests_file.write_text('one: resources=VCPU:1\nmany: resources=VCPU:9\n')
    aggregates_file.write_text(f'{AGGREGATE}: zone1\n')
    server.options = (
        f'[metrics]\nenabled = true\ndirectory = {path}/metrics\nper_provider = true\n'
        f'requests_file = {requests_file}\naggregate_names_file = {aggregates_file}\n'
        'survival_interval = 300\n'
    )
    return server


def value(text: str, series: str) -> float:
    """The value of a series in the text of a scrape; 0 where it is not there."""
    found = re.search(f'^{re.escape(series)} (.*)$', text, re.MULTILINE)
    return 0.0 if found is None else float(found[1])


def send(server: Server, number: int) -> None:
    """Send so many requests."""
    assert servers.statuses_of(server, ['/traits'] * number) == {200}


def slots(server: Server) -> list[pathlib.Path]:
    """The files that processes lock."""
    return list((server.directory / 'run' / 'metrics').glob('*.lock'))


def counting(server: Server) -> set[int]:
    """The living processes that hold a slot."""
    inodes = {str(path.stat().st_ino) for path in slots(server)}
    locks = [line.split() for line in pathlib.Path('/proc/locks').read_text().splitlines()]
    return {
        int(fields[4])
        for fields in locks
        if fields[1] == 'FLOCK' and fields[5].rpartition(':')[2] in inodes
    }


@pytest.mark.parametrize('kind', ['gunicorn', 'uwsgi', 'apache'])
def test_counts_of_all_processes_are_told_after_kills_and_restarts(
    kind: str, directory: pathlib.Path
) -> None:
    server = with_metrics(servers.made(kind, directory))
    process = MetricsProcess(server)
    with server, process:

        def scraped() -> str:
            return requests.get(process.probe, timeout=TIMEOUT).text

        send(server, 200)
        assert value(scraped(), TRAITS) == 200
        # A process has its counters when it has loaded, which may be after the first answer.
        wait_until(lambda: len(counting(server)) == servers.PROCESSES, lambda: counting(server))
        killed = counting(server)

        server.expect_processes(len(killed))
        for number in killed:
            os.kill(number, signal.SIGKILL)
        # The server starts others in their place.
        wait_until(lambda: not killed & counting(server), lambda: counting(server))
        server.wait_until_ready()
        send(server, 100)
        assert value(scraped(), TRAITS) == 300
        # Others continue the counters of the killed ones, in their files.
        assert len(slots(server)) == len(killed)

        server.stop()
        assert value(scraped(), TRAITS) == 300
        server.start()
        send(server, 50)
        assert value(scraped(), TRAITS) == 350
        under_api = requests.get(f'{server.url}/metrics', timeout=TIMEOUT)
        if kind == 'apache':
            # Its sample denies it.
            assert under_api.status_code == 403
        else:
            assert value(under_api.text, TRAITS) == 350


@pytest.fixture(scope='module')
def watched() -> Iterator[tuple[Server, MetricsProcess, Prometheus]]:
    """A service with a small cloud, and a Prometheus that watches it."""
    installation.install_system_packages(*prometheus.PACKAGES)
    with installation.directory() as directory:
        server = with_metrics(servers.made('gunicorn', directory))
        process = MetricsProcess(server)
        with server, process, Prometheus(directory, process.address) as watcher:

            def wait_for(expression: str) -> None:
                wait_until(lambda: bool(watcher.query(expression)), lambda: watcher.ask('targets'))

            wait_for('up == 1')
            work(server)
            wait_for('rate(placement_conflicts_total[1m]) > 0')
            wait_for('rate(placement_http_requests_total{status="409"}[1m]) > 0')
            yield server, process, watcher


@pytest.fixture
def watcher(watched: tuple[Server, MetricsProcess, Prometheus]) -> Prometheus:
    """The Prometheus that watches it."""
    return watched[2]


def work(server: Server) -> None:
    """Make a cloud with an overcommitted host, and do what every metric counts."""
    sender = HttpSender(server.url)

    def send(method: str, path: str, body: Any = None) -> int:
        return sender.send(method, path, body).status

    clouds.build((clouds.Provider('host1', {'VCPU': 4}, aggregates=('zone1',)),), sender)
    inventories = f'/resource_providers/{HOST}/inventories'
    total = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 4}}}
    assert send('PUT', f'/allocations/{uuid.uuid4()}', clouds.claim({HOST: {'VCPU': 4}})) == 204
    for _ in range(4):
        # Conflicts, and searches that are cut by their limit, find nothing, or never could.
        assert send('PUT', inventories, total) == 409
        send('GET', '/allocation_candidates?resources=VCPU:1')
        send('GET', '/allocation_candidates?resources=VCPU:9')
    smaller = {'resource_provider_generation': 3, 'inventories': {'VCPU': {'total': 2}}}
    assert send('PUT', inventories, smaller) == 200
    clouds.build((clouds.Provider('host2', {'VCPU': 2}),), sender)
    assert send('GET', '/allocation_candidates?resources=VCPU:1&limit=1') == 200
    promise = {'request': 'resources=VCPU:1', 'count': 1}
    assert send('PUT', '/insight/promises/small', promise) == 201
    # What is counted with these comes a scrape later than what was there before.
    for _ in range(24):
        assert send('PUT', inventories, total) == 409
        send('GET', '/allocation_candidates?resources=VCPU:1&limit=1')
        send('GET', '/allocation_candidates?resources=VCPU:9')
        time.sleep(0.5)


# What has no cause while all is well, such as repeated transactions.
QUIET = (
    'placement_db_transaction_repeats_total',
    'placement_db_transaction_failures_total',
    'placement_insight_failures_total',
    'search_budget',
    'reason!="first"',
    # SQLite has no bound on its connections.
    'placement_db_pool_connections_max',
    # Evaluated every ten minutes, and of a week.
    'placement:budget:left_ratio30d',
    'placement:request_capacity:days_left',
)


def test_prometheus_finds_the_configuration_the_rules_and_the_metrics_correct(
    watched: tuple[Server, MetricsProcess, Prometheus],
) -> None:
    _server, process, watcher = watched
    text = requests.get(process.probe, timeout=TIMEOUT).text
    for arguments in (
        ['check', 'config', str(watcher.configuration)],
        ['check', 'rules', str(prometheus.ALERTS), str(prometheus.SERVICE_LEVELS)],
        ['test', 'rules', str(prometheus.ALERTS.with_suffix('.test.yml'))],
        ['test', 'rules', str(prometheus.SERVICE_LEVELS.with_suffix('.test.yml'))],
    ):
        checked = subprocess.run(['promtool', *arguments], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    checked = subprocess.run(
        ['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True
    )
    # The one name that is against the conventions is that of openstack-exporter.
    complaints = [line for line in checked.stderr.splitlines() if line]
    assert [line.split()[0] for line in complaints] == ['openstack_placement_resource_total']


def found(watcher: Prometheus, expression: str) -> list[tuple[dict[str, str], float]]:
    """What an expression has; after a scrape that took too long, all series are missing."""
    return wait_until(lambda: watcher.query(expression), lambda: expression)


@pytest.mark.parametrize('path', [prometheus.ALERTS, prometheus.SERVICE_LEVELS])
def test_every_alert_is_tried(path: pathlib.Path) -> None:
    tests = yaml.safe_load(path.with_suffix('.test.yml').read_text())['tests']
    groups = yaml.safe_load(path.read_text())['groups']
    alerts = [rule['alert'] for group in groups for rule in group['rules'] if 'alert' in rule]

    assert tests[0]['name'].startswith('a healthy ')
    assert [one['name'] for one in tests[1:]] == alerts


def test_every_rule_is_evaluated_and_has_data(watcher: Prometheus) -> None:
    rules = [rule for group in watcher.ask('rules')['groups'] for rule in group['rules']]
    # The budgets of 30 days are evaluated later.
    assert 'err' not in {rule['health'] for rule in rules}
    missed = {
        labels['service_level']: number
        for labels, number in found(watcher, 'placement:errors:ratio_rate5m')
    }
    assert missed.keys() == {'claims', 'searches', 'feed'}
    assert (missed['searches'], missed['feed']) == (0, 0)
    for alert in ALERTS:
        # Without the bound that makes an alert of it, and no longer than this test lasts.
        expression = re.sub(r'\s(>|==) [\d.]+\s*$', '', alert['expr'])
        assert expression != alert['expr']
        # The share of what does not happen is not there.
        expression = expression.replace('status=~"5.."', 'status=~".*"')
        if not any(word in expression for word in QUIET):
            assert found(watcher, expression), alert['alert']


def expressions() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD['panels']:
        for target in panel.get('targets', ()):
            yield panel['title'], target['expr']


def test_every_panel_of_the_dashboard_has_data(watcher: Prometheus) -> None:
    groups = watcher.ask('rules')['groups']
    recorded = {rule['name'] for group in groups for rule in group['rules']}
    for title, expression in expressions():
        assert set(re.findall(r'placement:[\w:]+', expression)) <= recorded, title
        # No rate is of a time without requests, however long the tests before this one take.
        asked = expression.replace('$__rate_interval', '1h').replace('$instance', '.*')
        if any(word in asked for word in QUIET):
            watcher.query(asked)
        else:
            # The mean of a route without requests is none.
            numbers = [number for _labels, number in found(watcher, asked)]
            assert any(map(math.isfinite, numbers)), title


def test_names_of_openstack_exporter_can_be_queried(watcher: Prometheus) -> None:
    labels = '{hostname="host1",resourcetype="VCPU"}'
    for name, expected in (('total', 2), ('usage', 4), ('reserved', 0), ('allocation_ratio', 1)):
        ((_labels, number),) = found(watcher, f'openstack_placement_resource_{name}{labels}')
        assert number == expected


def test_faults_make_their_alerts_pending(
    watched: tuple[Server, MetricsProcess, Prometheus],
) -> None:
    server, process, watcher = watched

    def wait_for(*names: str) -> None:
        wait_until(lambda: set(names) <= watcher.alerts().keys(), watcher.alerts)

    # Of the cloud and the requests that `work` made.
    wait_for(
        'PlacementOverCapacity', 'PlacementAlmostFull', 'PlacementRequestDoesNotFit',
        'PlacementManyConflicts', 'PlacementSearchesFindNothing',
    )  # fmt: skip
    down = {'PlacementMetricsDown', 'PlacementDatabaseUnreadable'}
    wait_until(lambda: not down & watcher.alerts().keys(), watcher.alerts)

    server.database.rename(server.database.with_suffix('.away'))
    sender = HttpSender(server.url)
    failures = {
        'PlacementDatabaseUnreadable', 'PlacementServerErrors', 'PlacementTransactionsFail',
    }  # fmt: skip

    def are_noticed() -> bool:
        # A counter has a rate from its second scrape on.
        sender.send('GET', '/resource_providers')
        return failures <= watcher.alerts().keys()

    wait_until(are_noticed, watcher.alerts)

    process.stop()
    wait_for('PlacementMetricsDown')
