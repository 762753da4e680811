# SPDX-License-Identifier: Apache-2.0
"""Promises of room, while claims take it, in every worker, and in the metrics and the history."""

import json
import pathlib
import random
from unittest import mock

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

from placement.db.schema import own_tables
from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications, clouds, databases
from placement.tests.functional.fixtures.client import Answer, Client
from placement.tests.functional.fixtures.clouds import uuid_of
from placement.tests.functional.fixtures.work import statements_of
from placement_insight.promises import keeping, statements
from placement_insight.search.promised_room import GuardedOffer

QUERY = 'resources=VCPU:2&required=!COMPUTE_STATUS_DISABLED'
BIG = 'resources=VCPU:4,MEMORY_MB:40&required=!COMPUTE_STATUS_DISABLED'
HOSTS = tuple(clouds.Provider(f'host{number}', {'VCPU': 8}) for number in range(3))

LARGE = tuple(
    clouds.Provider(f'large{number}', {'VCPU': 8, 'MEMORY_MB': 100}) for number in range(3)
)


@pytest.fixture
def options(tmp_path: pathlib.Path) -> applications.Options:
    return {
        **applications.insight_options('on'),
        ('metrics', 'enabled'): True,
        ('metrics', 'directory'): str(tmp_path),
    }


@pytest.fixture
def cloud(client: Client) -> None:
    """Three hosts with room for twelve."""
    clouds.build(HOSTS, client)


def promise(client: Client, name: str, count: int, query: str = QUERY, **more: bool) -> Answer:
    body = {'request': query, 'count': count, **more}
    return client.send('PUT', f'/insight/promises/{name}', body, version=NEWEST)


def shown(client: Client, name: str) -> tuple[str, int]:
    answer = client.send('GET', f'/insight/promises/{name}', version=NEWEST).json
    assert answer['slack'] == answer['room']['at_least'] - answer['count']
    return answer['state'], answer['slack']


def claim(client: Client, consumer: str, host: str, amount: int) -> int:
    body = clouds.claim({uuid_of(host): {'VCPU': amount}}, None)
    return client.send('PUT', f'/allocations/{uuid_of(consumer)}', body, version=NEWEST).status


def kept(client: Client, count: int, **more: bool) -> Answer:
    return promise(client, 'big', count, BIG, keep=True, **more)


def offered(client: Client, query: str = 'resources=VCPU:2') -> set[str]:
    """The names of the hosts on which a search finds candidates."""
    answer = client.send('GET', f'/allocation_candidates?{query}', version=NEWEST).json
    names = {uuid_of(host.name): host.name for host in LARGE}
    return {names[uuid] for one in answer['allocation_requests'] for uuid in one['allocations']}


@pytest.mark.usefixtures('cloud')
def test_claims_and_disabled_hosts_break_a_promise_in_every_worker(
    service: applications.Service, client: Client, options: applications.Options
) -> None:
    assert promise(client, 'p', 8).status == 201
    with applications.serving(service.database.url, options) as other:
        assert shown(other, 'p') == ('kept', 4)
        assert claim(client, 'c1', 'host0', 8) == 204
        assert shown(other, 'p') == ('tight', 0)
        body = {
            'resource_provider_generation': 1,
            'traits': ['COMPUTE_STATUS_DISABLED'],
        }
        path = f'/resource_providers/{uuid_of("host1")}/traits'
        assert client.send('PUT', path, body, version=NEWEST).status == 200
        assert shown(other, 'p') == ('broken', -4)
        assert client.send('DELETE', f'{path}', version=NEWEST).status == 204
        assert client.send('DELETE', f'/allocations/{uuid_of("c1")}').status == 204
        assert shown(other, 'p') == ('kept', 4)


@pytest.mark.usefixtures('cloud')
def test_the_state_is_that_of_the_room_after_any_writes(client: Client) -> None:
    """Against a sum over the hosts."""
    draw = random.Random(7)
    free = {provider.name: 8 for provider in HOSTS}
    assert promise(client, 'p', 6).status == 201
    for number in range(24):
        host = draw.choice([*free])
        amount = draw.randint(1, 4)
        status = claim(client, f'c{number}', host, amount)
        assert status == (204 if amount <= free[host] else 409)
        if status == 204:
            free[host] -= amount
        room = sum(left // 2 for left in free.values())
        state = 'broken' if room < 6 else 'tight' if room == 6 else 'kept'
        assert shown(client, 'p') == (state, room - 6)


@pytest.mark.usefixtures('cloud')
def test_a_hundred_promises_are_taken_and_no_more(client: Client) -> None:
    for number in range(100):
        assert promise(client, f'p{number}', 1).status == 201
    assert promise(client, 'one-more', 1).status == 409
    assert promise(client, 'p7', 2).status == 200
    assert client.send('DELETE', '/insight/promises/p8', version=NEWEST).status == 204
    assert promise(client, 'one-more', 1).status == 201


@pytest.mark.usefixtures('cloud')
def test_the_metrics_have_each_promise(client: Client) -> None:
    assert promise(client, 'kept', 8).status == promise(client, 'broken', 13).status == 201
    text = client.send('GET', '/metrics', headers={'x-auth-token': None}).text
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith('placement_promise_')
    }
    wanted: dict[tuple[str, ...], float] = {
        ('placement_promise_consumers', 'kept'): 8,
        ('placement_promise_room', 'kept'): 12,
        ('placement_promise_slack', 'kept'): 4,
        ('placement_promise_consumers', 'broken'): 13,
        ('placement_promise_room', 'broken'): 12,
        ('placement_promise_slack', 'broken'): -1,
        **{
            ('placement_promise_state', name, state): state == name
            for name in ('kept', 'broken')
            for state in ('kept', 'tight', 'broken', 'unknown')
        },
    }
    assert found == wanted


@pytest.mark.usefixtures('cloud')
def test_the_history_has_who_set_and_removed_it(client: Client) -> None:
    assert promise(client, 'p', 8).status == 201
    assert client.send('DELETE', '/insight/promises/p', version=NEWEST).status == 204
    rows = client.send('GET', '/insight/history', version=NEWEST).json['history']
    removed, made = [row for row in rows if row['kind'] == 'promise']
    assert made['state'] == {'name': 'p', 'request': QUERY, 'count': 8, 'keep': False}
    assert removed['state'] == {'name': 'p', 'deleted': True}
    assert made['caller']['user_id'] == removed['caller']['user_id'] == 'admin'


@pytest.fixture
def large(client: Client) -> None:
    """Three hosts with room for six."""
    clouds.build(LARGE, client)


@pytest.mark.usefixtures('large')
def test_every_worker_withholds_kept_room_from_its_next_search(
    service: applications.Service, client: Client, options: applications.Options
) -> None:
    with applications.serving(service.database.url, options) as other:
        assert offered(other) == {'large0', 'large1', 'large2'}
        assert kept(client, 6).status == 201
        assert offered(other) == offered(client) == set()
        # Those to whom it is promised.
        assert offered(other, BIG) == {'large0', 'large1', 'large2'}
        assert kept(client, 5).status == 200
        assert offered(other) == offered(client) == {'large0', 'large1', 'large2'}
        assert claim(client, 'c', 'large0', 2) == 204
        # Two more processors take no further consumer from the first host.
        assert offered(other) == offered(client) == {'large0'}
        assert promise(client, 'big', 5, BIG).status == 200
        assert offered(other) == offered(client) == {'large0', 'large1', 'large2'}
        assert kept(client, 5).status == 200
        assert client.send('DELETE', '/insight/promises/big', version=NEWEST).status == 204
        assert offered(other) == offered(client) == {'large0', 'large1', 'large2'}


@pytest.mark.usefixtures('large')
def test_searches_read_promises_after_changes_of_names_only(
    service: applications.Service, client: Client
) -> None:
    def statements() -> int:
        with statements_of(service.engine) as sent:
            offered(client)
        return len(sent)

    offered(client)
    usual = statements()
    assert kept(client, 5).status == 201
    assert statements() > usual
    assert statements() == usual
    assert claim(client, 'c', 'large0', 1) == 204
    offered(client)
    assert statements() == usual


@pytest.mark.usefixtures('large')
@pytest.mark.parametrize('option', ['promises', 'keep_promises'])
def test_an_option_ends_it(
    service: applications.Service, client: Client, options: applications.Options, option: str
) -> None:
    assert kept(client, 6).status == 201
    assert offered(client) == set()
    with applications.serving(
        service.database.url, {**options, ('insight', option): False}
    ) as other:
        assert offered(other) == {'large0', 'large1', 'large2'}


@pytest.mark.usefixtures('large')
def test_withheld_hosts_are_named_by_log_explanation_and_unmet_demand(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level('INFO')
    assert kept(client, 6).status == 201
    assert offered(client) == set()
    words = '3 hosts are withheld by promise big'
    assert words in caplog.text
    (unmet,) = client.send('GET', '/insight/unmet_demand', version=NEWEST).json['unmet_demand']
    assert unmet['verdict'] == 'full'
    assert unmet['reason'] == f'{words}; full now but for promised room.'

    def explained(query: str) -> Answer:
        return client.send('GET', f'/insight/allocation_candidates?{query}', version=NEWEST)

    answer = explained('resources=VCPU:2').json
    assert answer['verdict'] == 'fits'
    assert answer['withheld'] == [{'promise': 'big', 'hosts': 3}]
    assert answer['summary'].endswith(' Promise big withholds 3 hosts.')
    assert explained(BIG).json['withheld'] == []

    caplog.clear()
    assert kept(client, 5).status == 200
    assert claim(client, 'c', 'large0', 1) == 204
    assert offered(client, 'resources=VCPU:3') == {'large0'}
    assert '1 candidates on 1 hosts, 2 hosts are withheld by promise big' in caplog.text


@pytest.mark.usefixtures('large')
def test_a_dry_run_shows_what_would_be_held_and_stores_nothing(
    client: Client,
    service: applications.Service,
    options: applications.Options,
    tmp_path: pathlib.Path,
) -> None:
    shown = kept(client, 5, dry_run=True)
    assert shown.status == 200
    assert (shown.json['keep'], shown.json['held_hosts']) == (True, 3)
    assert kept(client, 4, dry_run=True).json['held_hosts'] == 0
    assert (shown.json['set_at'], shown.json['exempt']) == (None, [])
    assert client.send('GET', '/insight/promises', version=NEWEST).json['promises'] == []
    assert offered(client) == {'large0', 'large1', 'large2'}
    requests = tmp_path / 'requests.yaml'
    named = {'big': BIG, 'bigger': BIG.replace('VCPU:4', 'VCPU:6'), 'small': 'resources=VCPU:1'}
    requests.write_text(json.dumps(named))
    with applications.serving(
        service.database.url, {**options, ('metrics', 'requests_file'): str(requests)}
    ) as other:
        assert kept(other, 5, dry_run=True).json['exempt'] == ['big', 'bigger']


@pytest.mark.usefixtures('large')
def test_several_schedulers_break_it_by_no_more_than_what_they_were_offered_at_once(
    client: Client,
) -> None:
    draw = random.Random(3)
    assert kept(client, 4).status == 201
    number = 0
    while hosts := sorted(offered(client)):
        schedulers = draw.randint(1, 8)
        before = shown(client, 'big')[1]
        # All were offered the same candidates before any of them claims.
        chosen = [draw.choice(hosts) for _ in range(schedulers)]
        for host in chosen:
            number += 1
            claim(client, f'c{number}', host, 2)
        slack = shown(client, 'big')[1]
        # Each claim takes room for one at most.
        assert slack >= min(before, 0) - schedulers
        assert number < 100


@pytest.mark.usefixtures('large')
def test_promises_of_before_are_kept_while_they_cannot_be_read(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert kept(client, 6).status == 201
    assert offered(client) == set()
    with monkeypatch.context() as failing:
        failing.setattr(statements, 'list_promises', mock.Mock(side_effect=ZeroDivisionError))
        assert client.send('PUT', '/traits/CUSTOM_ANY', version=NEWEST).status == 201
        assert kept(client, 1).status == 200
        for _ in range(3):
            assert offered(client) == set()
        # No search within the next seconds tries it again.
        assert caplog.text.count('Reading promises failed') == 1
    with monkeypatch.context() as later:
        later.setattr(keeping, 'RETRY_SECONDS', 0)
        assert offered(client) == {'large0', 'large1', 'large2'}


@pytest.mark.usefixtures('large')
def test_promises_are_not_read_from_a_replica(
    service: applications.Service, client: Client, options: applications.Options
) -> None:
    assert kept(client, 6).status == 201
    behind = databases.create()
    try:
        lagging = {**options, ('placement_database', 'slave_connection'): behind.url}
        with applications.serving(service.database.url, lagging) as other:
            assert offered(other) == set()
    finally:
        behind.drop()


@pytest.mark.usefixtures('large')
@pytest.mark.parametrize(
    'query',
    ['resources=VCPU', 'nonsense', 'resources1=VCPU:1&resources2=VCPU:1&group_policy=none'],
)
def test_a_row_of_another_release_harms_no_other_promise(
    service: applications.Service, client: Client, query: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert kept(client, 6).status == promise(client, 'odd', 1, BIG, keep=True).status == 201
    with service.engine.begin() as connection:
        connection.execute(
            sa.update(own_tables.promises)
            .where(own_tables.promises.c.name == 'odd')
            .values(query=query)
        )
    # Workers read promises again.
    assert promise(client, 'other', 1).status == 201
    assert offered(client) == set()
    assert kept(client, 1).status == 200
    assert offered(client) == {'large0', 'large1', 'large2'}
    assert caplog.text.count('Keeping promise odd failed, which fails no request') == 2
    text = client.send('GET', '/metrics', headers={'x-auth-token': None}).text
    assert 'placement_promise_room{promise="big"} 6.0' in text
    listed = client.send('GET', '/insight/promises', version=NEWEST).json['promises']
    assert [one['name'] for one in listed] == ['big', 'odd', 'other']
    assert (listed[1]['held_hosts'], listed[1]['exempt']) == (0, [])
    if not query.startswith('resources1'):
        assert listed[1]['refusal']
        assert (listed[1]['room'], listed[1]['notes']) == ({'at_least': 0, 'at_most': 0}, [])
    assert client.send('DELETE', '/insight/promises/odd', version=NEWEST).status == 204


@pytest.mark.usefixtures('large')
def test_a_promise_of_a_deleted_trait_is_released(client: Client) -> None:
    query = f'{BIG}&required=CUSTOM_HANA'
    trait = '/traits/CUSTOM_HANA'
    assert client.send('PUT', trait, version=NEWEST).status == 201
    assert promise(client, 'hana', 6, query, keep=True).status == 201
    assert client.send('DELETE', trait, version=NEWEST).status == 204
    assert promise(client, 'hana', 6, query, keep=True).status == 400
    released = promise(client, 'hana', 6, query)
    assert (released.status, released.json['keep']) == (200, False)
    assert 'CUSTOM_HANA' in released.json['refusal']
    assert promise(client, 'other', 6, query).status == 400


@pytest.mark.usefixtures('large')
def test_the_explanation_names_each_promise_that_withholds_a_host(client: Client) -> None:
    assert kept(client, 6).status == 201
    assert promise(client, 'whole', 3, 'resources=VCPU:8,MEMORY_MB:1', keep=True).status == 201
    path = '/insight/allocation_candidates?resources=VCPU:1'
    answer = client.send('GET', path, version=NEWEST).json
    assert answer['withheld'] == [
        {'promise': 'big', 'hosts': 3},
        {'promise': 'whole', 'hosts': 3},
    ]


def test_an_older_schema_is_logged_without_a_traceback(
    options: applications.Options, caplog: pytest.LogCaptureFixture
) -> None:
    # Of its own, because other tests reuse the databases of a server.
    database = databases.create_empty()
    try:
        databases.migrate(database.url)
        with applications.serving(database.url, options) as worker:
            clouds.build(LARGE, worker)
            with worker.database.engine.begin() as connection:
                connection.execute(sa.text('ALTER TABLE placement_promises DROP COLUMN keep'))
            assert offered(worker) == {'large0', 'large1', 'large2'}
    finally:
        database.drop()
    (logged,) = [one for one in caplog.records if one.name == 'placement_insight.failures']
    assert logged.getMessage().startswith('Reading promises failed, which fails no request')
    assert logged.exc_info is None


def test_an_explanation_leaves_withheld_hosts_with_many_devices_at_once(client: Client) -> None:
    devices = 12
    clouds.build(
        (
            clouds.Provider('gpus', {'VCPU': 8, 'MEMORY_MB': 100}),
            *[clouds.Provider(f'gpu{n}', {'VGPU': 1}, parent='gpus') for n in range(devices)],
        ),
        client,
    )
    assert kept(client, 2).status == 201
    groups = '&'.join(f'resources{n}=VGPU:1' for n in range(4))
    path = f'/insight/allocation_candidates?resources=VCPU:1&{groups}&group_policy=isolate'
    with mock.patch.object(
        GuardedOffer, 'admits', autospec=True, side_effect=GuardedOffer.admits
    ) as asked:
        answer = client.send('GET', path, version=NEWEST).json
    assert answer['withheld'] == [{'promise': 'big', 'hosts': 1}]
    assert asked.call_count == 1
