# SPDX-License-Identifier: Apache-2.0
"""Requests to the service as `GET /metrics` counts them (specification: metrics)."""

import pathlib
import threading
from collections.abc import Mapping

import pytest
from oslo_db import exception as db_errors
from prometheus_client.parser import text_string_to_metric_families

from placement import errors
from placement.db.engine import transactions
from placement.db.engine.causes import RETRIED, Cause
from placement.db.engine.database import Database
from placement.feed import keeper
from placement.feed.keeper import SnapshotKeeper
from placement.feed.position import Reload
from placement.metrics import catalog
from placement.microversions import NEWEST
from placement_insight import gauges
from placement_insight.gauges import FailureDomains
from placement_insight.history import statements as change_history
from placement_insight.search.condition import Verdict

from .fixtures import applications, clouds
from .fixtures.client import Client

CLOUD: clouds.Cloud = (
    clouds.Provider('host1', {'VCPU': 8}),
    clouds.Provider('host2', {'VCPU': {'total': 4, 'reserved': 2}}),
)
SEARCH = '/allocation_candidates?resources=VCPU:'
NOBODY = {'x-auth-token': None}
TRAITS = '/resource_providers/{}/traits'


class Metrics:
    """The metrics of a service by name and values of labels, and how they change."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._before = self.read()

    def read(self) -> Mapping[str, float]:
        """The metrics of the service, read without a token."""
        answer = self._client.send('GET', '/metrics', headers=NOBODY)
        assert answer.status == 200
        return {
            f'{sample.name}{{{",".join(sample.labels.values())}}}': sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }

    def change(self, name: str) -> float:
        """The increase of a counter."""
        return self.read().get(name, 0.0) - self._before.get(name, 0.0)


@pytest.fixture
def options(tmp_path: pathlib.Path) -> applications.Options:
    return {('metrics', 'enabled'): True, ('metrics', 'directory'): str(tmp_path / 'metrics')}


@pytest.fixture
def service(service: applications.Service) -> applications.Service:
    """The same with a small cloud."""
    clouds.build(CLOUD, Client(service.application))
    return service


@pytest.fixture
def metrics(client: Client) -> Metrics:
    return Metrics(client)


def test_requests_are_counted_by_route(client: Client, metrics: Metrics) -> None:
    client.send('GET', f'/resource_providers/{clouds.uuid_of("host1")}')
    client.send('GET', f'/resource_providers/{clouds.uuid_of("host2")}')
    client.send('GET', f'/resource_providers/{clouds.uuid_of("host3")}')
    client.send('GET', '/nowhere')
    client.send('GET', '/traits', headers=NOBODY)

    requests = 'placement_http_requests_total'
    assert metrics.change(f'{requests}{{resource_providers.show,GET,200}}') == 2
    assert metrics.change(f'{requests}{{resource_providers.show,GET,404}}') == 1
    assert metrics.change(f'{requests}{{none,GET,404}}') == 1
    assert metrics.change(f'{requests}{{none,GET,401}}') == 1
    durations = 'placement_http_request_duration_seconds_count'
    assert metrics.change(f'{durations}{{resource_providers.show,GET}}') == 3


def test_conflict_is_counted_by_its_code(client: Client, metrics: Metrics) -> None:
    path = TRAITS.format(clouds.uuid_of('host1'))
    body = {'traits': [], 'resource_provider_generation': 77}
    assert client.send('PUT', path, body, NEWEST).status == 409
    # An old version does not show the code.
    assert client.send('PUT', path, body, '1.6').status == 409

    assert metrics.change('placement_conflicts_total{placement.concurrent_update}') == 2


def test_searches_are_counted_by_verdict(client: Client, metrics: Metrics) -> None:
    client.send('GET', f'{SEARCH}1', version=NEWEST)
    client.send('GET', f'{SEARCH}1&limit=1', version=NEWEST)
    client.send('GET', f'{SEARCH}9', version=NEWEST)

    assert metrics.change('placement_searches_total{fits}') == 2
    assert metrics.change('placement_searches_total{infeasible}') == 1
    assert metrics.change('placement_search_duration_seconds_count{fits}') == 2
    assert metrics.change('placement_searches_cut_total{limit}') == 1
    assert metrics.change('placement_search_work_places_count{}') == 3
    assert metrics.change('placement_search_work_places_sum{}') > 0


def test_statements_and_connections_are_counted(client: Client, metrics: Metrics) -> None:
    statements = 'placement_db_statements_total{primary}'
    # The statements of a scrape are counted for the next one to tell.
    first, second = metrics.change(statements), metrics.change(statements)
    client.send('GET', f'/resource_providers/{clouds.uuid_of("host1")}')

    assert metrics.change(statements) - second > second - first
    assert metrics.change('placement_db_statement_duration_seconds_total{primary}') > 0
    assert metrics.read()['placement_db_pool_connections_in_use{primary}'] == 0


def test_reading_the_whole_cloud_is_counted_once(client: Client, metrics: Metrics) -> None:
    assert metrics.read()['placement_snapshot_full_loads_total{first}'] == 1
    assert metrics.read()['placement_snapshot_full_load_duration_seconds_total{}'] > 0
    client.send('GET', f'{SEARCH}1', version=NEWEST)

    assert metrics.read()['placement_snapshot_full_loads_total{first}'] == 1
    assert metrics.change('placement_snapshot_updated_timestamp_seconds{}') > 0
    assert metrics.change('placement_snapshot_update_duration_seconds_count{}') > 0


def test_the_cloud_is_told_as_it_is_now(client: Client, metrics: Metrics) -> None:
    found = metrics.read()
    assert found['placement_cloud_readable{}'] == 1
    assert found['placement_resource_providers{}'] == 2
    assert found['placement_resource_capacity{VCPU}'] == 10
    assert found['placement_resource_reserved{VCPU}'] == 2
    assert found['placement_change_feed_entries{}'] > 0

    clouds.build((clouds.Provider('host3', {'VCPU': 16}),), client)
    assert metrics.change('placement_resource_capacity{VCPU}') == 16
    assert metrics.change('placement_provider_trees{}') == 1


def test_repeated_and_failed_transactions_are_counted_by_cause(
    service: applications.Service, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = service._connections
    failures: list[Exception] = [db_errors.DBDeadlock(), db_errors.DBDeadlock()]

    def fail() -> None:
        if failures:
            raise failures.pop()

    monkeypatch.setattr(transactions.backoff, 'sleep', lambda attempt: None)
    transactions.retry(fail, 'fail', 3, database.recorder)
    failures += [db_errors.DBDeadlock(), db_errors.DBDeadlock()]
    with pytest.raises(errors.TooManyConflicts):
        transactions.retry(fail, 'fail', 2, database.recorder)

    Client(service.application).send('GET', '/')
    assert metrics.change('placement_db_transaction_repeats_total{conflict}') == 3
    assert metrics.change('placement_db_transaction_failures_total{conflict}') == 1


def test_change_without_history_is_counted(
    url: str, options: applications.Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError('no')

    with applications.serving(url, {**options, ('history', 'enabled'): True}) as client:
        metrics = Metrics(client)
        assert client.send('PUT', '/traits/CUSTOM_RECORDED', version=NEWEST).status == 201
        monkeypatch.setattr(change_history, 'insert', fail)
        assert client.send('PUT', '/traits/CUSTOM_UNRECORDED', version=NEWEST).status == 201

        assert metrics.change('placement_unrecorded_changes_total{}') == 1
        assert metrics.change('placement_insight_failures_total{}') == 1


def test_metrics_are_not_there_unless_they_are_on(url: str, tmp_path: pathlib.Path) -> None:
    off = {('metrics', 'directory'): str(tmp_path / 'metrics')}
    hidden = {**off, ('metrics', 'enabled'): True, ('metrics', 'under_api'): False}
    for options, is_counting in ((off, False), (hidden, True)):
        with applications.serving(url, options) as client:
            assert client.send('GET', '/metrics', headers=NOBODY).status == 401
            assert client.send('GET', '/metrics').status == 404
        assert (tmp_path / 'metrics').exists() == is_counting


def test_what_operators_name_is_shown(
    url: str,
    options: applications.Options,
    tmp_path: pathlib.Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    requests, aggregates = tmp_path / 'requests.yaml', tmp_path / 'aggregates.yaml'
    requests.write_text(
        'two: resources=VCPU:2\nnone: resources=VCPU:9\nodd: resources=CUSTOM_UNKNOWN:1\n'
    )
    aggregates.write_text(f'{clouds.uuid_of("zone")}: zone1\n')
    files = {
        ('metrics', 'requests_file'): str(requests),
        ('metrics', 'aggregate_names_file'): str(aggregates),
        ('metrics', 'per_provider'): True,
    }
    cloud = (*CLOUD, clouds.Provider('host3', {'VCPU': 5}, aggregates=('zone',)))
    with applications.serving(url, {**options, **files}) as client:
        clouds.build(cloud, client)
        found = Metrics(client).read()

    assert found['placement_request_capacity{two}'] == 4 + 1 + 2
    assert found['placement_request_capacity_if_empty{two}'] == 7
    assert found['placement_request_capacity_exact{two}'] == 1
    assert found['placement_request_capacity{none}'] == 0
    assert found['placement_request_capacity_refused{two}'] == 0
    # Each server that asks for it fails: 0, and the reason.
    assert found['placement_request_capacity{odd}'] == 0
    assert found['placement_request_capacity_if_empty{odd}'] == 0
    assert found['placement_request_capacity_refused{odd}'] == 1
    assert 'Searches for the request odd are refused' in caplog.text
    assert found['placement_aggregate_capacity{zone1,VCPU}'] == 5
    assert found['openstack_placement_resource_total{host2,VCPU}'] == 4
    assert found['openstack_placement_resource_reserved{host2,VCPU}'] == 2


def test_request_is_refused_as_soon_as_its_trait_is_deleted(
    url: str, options: applications.Options, tmp_path: pathlib.Path
) -> None:
    """Delete a trait without providers, which does not change the snapshot."""
    requests = tmp_path / 'requests.yaml'
    requests.write_text('one: resources=VCPU:1&required=!CUSTOM_GONE\n')
    named = {('metrics', 'requests_file'): str(requests)}
    refused = []
    with applications.serving(url, {**options, **named}) as client:
        clouds.build(CLOUD, client)
        metrics = Metrics(client)
        for method in ('PUT', 'DELETE', 'PUT'):
            client.send(method, '/traits/CUSTOM_GONE', version=NEWEST)
            found = metrics.read()
            fits = found['placement_request_capacity{one}'] > 0
            refused.append((found['placement_request_capacity_refused{one}'], fits))
    assert refused == [(0, True), (1, False), (0, True)]


def test_file_that_cannot_be_used_costs_no_other_metric(
    url: str, options: applications.Options, caplog: pytest.LogCaptureFixture
) -> None:
    missing = {('metrics', 'requests_file'): '/nowhere/missing.yaml'}
    with applications.serving(url, {**options, **missing}) as client:
        found = Metrics(client).read()

    assert found['placement_cloud_readable{}'] == 1
    assert 'The metrics do not show what a file asks for' in caplog.text


class Once(threading.Event):
    """Set by the first to wait for it; it knows how long they would have waited."""

    seconds: float | None = None

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds = timeout
        self.set()
        return True


def failing(
    database: Database, monkeypatch: pytest.MonkeyPatch, *, page: int = 1_000
) -> tuple[dict[str, float], float | None]:
    """The hosts by what their failure comes to, and how long is waited before the next answer."""
    monkeypatch.setattr(gauges, 'PAGE', page)
    domains, once = FailureDomains(SnapshotKeeper(database)), Once()
    domains.ask_every(3600, once)
    samples = [sample for metric in domains.read() for sample in metric.samples]
    assert {sample.name for sample in samples} <= {'placement_failure_domains'}
    return {sample.labels['state']: sample.value for sample in samples}, once.seconds


def test_hosts_are_counted_by_what_their_failure_comes_to(
    database: Database, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud = (
        clouds.Provider('free', {'VCPU': 8}),
        clouds.Provider('plain', {'VCPU': 4}),
        clouds.Provider('special', {'VCPU': 8}, ('HW_CPU_X86_AVX',)),
        clouds.Provider('large', {'VCPU': 16}),
    )
    with applications.serving(url) as client:
        clouds.build(cloud, client)
        for host, amount in (('plain', 2), ('special', 4), ('large', 16)):
            body = clouds.claim({clouds.uuid_of(host): {'VCPU': amount}})
            path = f'/allocations/{clouds.uuid_of(f"server on {host}")}'
            assert client.send('PUT', path, body, NEWEST).status == 204

    expected = {'survives': 1, 'alike_fails': 1, 'fails': 1, 'unknown': 0}
    assert failing(database, monkeypatch) == (expected, 3600)
    assert failing(database, monkeypatch, page=1) == (expected, 3600)
    monkeypatch.setattr(gauges, 'SURVIVAL_BUDGET', 0)
    assert failing(database, monkeypatch)[0]['unknown'] == 3


def test_no_host_is_counted_while_the_database_does_not_answer(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: object) -> None:
        raise errors.DatabaseUnavailable('the database does not answer')

    monkeypatch.setattr(SnapshotKeeper, 'read_at_one_moment', fail)
    assert failing(database, monkeypatch) == ({}, gauges.MIN_INTERVAL)
    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ('WARNING', None)


def test_the_catalog_has_every_value_of_a_label() -> None:
    assert list(catalog.CAUSES) == [*(cause.name.lower() for cause in Cause), 'defect']
    assert set(catalog.CAUSES[:3]) == {cause.name.lower() for cause in RETRIED}
    assert list(catalog.VERDICTS) == [verdict.value for verdict in Verdict]
    feed = [f'feed_{reason.name.lower()}' for reason in Reload]
    assert list(catalog.LOADS) == [keeper.FIRST, keeper.MANY_CHANGES, *feed, keeper.BYPASSED]
    codes = {
        value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)
    }
    # The others are those of answers with other statuses.
    assert set(catalog.CODES) == codes - {
        errors.PROVIDER_NOT_FOUND,
        errors.QUERY_DUPLICATE_KEY,
        errors.QUERY_BAD_VALUE,
        errors.QUERY_MISSING_VALUE,
    }
