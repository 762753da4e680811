# SPDX-License-Identifier: Apache-2.0
"""One odd row fails no read: others are answered as before, and nothing is a 500.

Such rows come from repairs by hand, and from releases of upstream that are very old.
"""

import itertools
import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa

from placement import routes
from placement.db.mode import Mode
from placement.doctor.check import Code, Deployment, find_account
from placement.doctor.rows import check_rows
from placement.feed.audit import checksums_in, checksums_of
from placement.feed.loader import load_providers
from placement.microversions import NEWEST
from placement.routes import installed_surface
from placement.search.model.snapshot import Snapshot

from .fixtures import applications, clouds, databases, valid_requests
from .fixtures.client import Answer, Client
from .fixtures.valid_requests import CONSUMERS, HOST, PROVIDERS
from .fixtures.valid_requests import NEWEST as NEWEST_MINOR

ODD = PROVIDERS[1]
MISSING = 999_999

#: The statement that makes each odd row, of the provider `ODD` or its consumer.
PROVIDER = f"WHERE uuid = '{ODD}'"
CONSUMER = f"WHERE uuid = '{CONSUMERS[1]}'"
ID = f'(SELECT id FROM (SELECT id FROM resource_providers {PROVIDER}) AS odd)'
HOST_ID = f"(SELECT id FROM (SELECT id FROM resource_providers WHERE uuid = '{HOST}') AS host)"
ROWS: Mapping[str, str] = {
    'missing parent': f'UPDATE resource_providers SET parent_provider_id = {MISSING} {PROVIDER}',
    'missing root': f'UPDATE resource_providers SET root_provider_id = {MISSING} {PROVIDER}',
    'missing parent and root': 'UPDATE resource_providers SET '
    f'parent_provider_id = {MISSING}, root_provider_id = {MISSING} {PROVIDER}',
    'root without a number': f'UPDATE resource_providers SET root_provider_id = NULL {PROVIDER}',
    'parent in another tree': 'UPDATE resource_providers SET '
    f'parent_provider_id = {HOST_ID} {PROVIDER}',
    'parent of itself': f'UPDATE resource_providers SET parent_provider_id = id {PROVIDER}',
    'provider without a generation': f'UPDATE resource_providers SET generation = NULL {PROVIDER}',
    'provider without a name': f'UPDATE resource_providers SET name = NULL {PROVIDER}',
    'provider without times': 'UPDATE resource_providers SET created_at = NULL, '
    f'updated_at = NULL {PROVIDER}',
    'provider in capitals': f'UPDATE resource_providers SET uuid = upper(uuid) {PROVIDER}',
    'consumer in capitals': f'UPDATE consumers SET uuid = upper(uuid) {CONSUMER}',
    'missing provider': f'DELETE FROM resource_providers {PROVIDER}',
    'missing class': 'UPDATE inventories SET resource_class_id = '
    f'{MISSING} WHERE resource_provider_id = {ID} AND resource_class_id = 0',
    'missing class of an allocation': f'UPDATE allocations SET resource_class_id = {MISSING} '
    f"WHERE consumer_id = '{CONSUMERS[1]}'",
    'missing trait': 'INSERT INTO resource_provider_traits (trait_id, resource_provider_id) '
    f'SELECT {MISSING}, id FROM resource_providers {PROVIDER}',
    'missing aggregate': 'INSERT INTO resource_provider_aggregates '
    f'(aggregate_id, resource_provider_id) SELECT {MISSING}, id '
    f'FROM resource_providers {PROVIDER}',
    'aggregate without a uuid': 'UPDATE placement_aggregates SET uuid = NULL',
    'missing consumer': f'DELETE FROM consumers {CONSUMER}',
    'missing project': f'UPDATE consumers SET project_id = {MISSING} {CONSUMER}',
    'missing user': f'UPDATE consumers SET user_id = {MISSING} {CONSUMER}',
    'missing consumer type': f'UPDATE consumers SET consumer_type_id = {MISSING} {CONSUMER}',
    'consumer without allocations': 'DELETE FROM allocations '
    f"WHERE consumer_id = '{CONSUMERS[1]}'",
    'negative total': f'UPDATE inventories SET total = -5 WHERE resource_provider_id = {ID}',
    'negative reserved': f'UPDATE inventories SET reserved = -5 WHERE resource_provider_id = {ID}',
    'negative units': 'UPDATE inventories SET min_unit = -1, max_unit = -1, step_size = -1 '
    f'WHERE resource_provider_id = {ID}',
    'units of zero': 'UPDATE inventories SET min_unit = 0, max_unit = 0, step_size = 0 '
    f'WHERE resource_provider_id = {ID}',
    'negative ratio': 'UPDATE inventories SET allocation_ratio = -2.0 '
    f'WHERE resource_provider_id = {ID}',
    'negative allocation': 'UPDATE allocations SET used = -3 '
    f"WHERE consumer_id = '{CONSUMERS[1]}'",
    'negative generation': f'UPDATE resource_providers SET generation = -7 {PROVIDER}',
    'negative generation of a consumer': f'UPDATE consumers SET generation = -7 {CONSUMER}',
    'allocation without inventory': f'DELETE FROM inventories WHERE resource_provider_id = {ID}',
    'names without times': 'UPDATE traits SET created_at = NULL, updated_at = NULL',
    'classes without times': 'UPDATE resource_classes SET created_at = NULL, updated_at = NULL',
    'allocations without times': 'UPDATE allocations SET created_at = NULL, updated_at = NULL',
    'consumers without times': 'UPDATE consumers SET created_at = NULL, updated_at = NULL',
}

#: What the doctor says of each odd row; of others it says nothing.
FINDINGS: Mapping[str, tuple[str, ...]] = {
    'missing parent': ('1 providers whose parent does not exist',),
    'missing root': ('1 providers whose root does not exist',),
    'missing parent and root': (
        '1 providers whose parent does not exist',
        '1 providers whose root does not exist',
    ),
    'root without a number': ('1 providers without a root',),
    'parent in another tree': ('1 providers with another root than their parent',),
    'parent of itself': ('1 providers that are below themselves',),
    'provider without a generation': ('1 providers without a generation',),
    'provider without a name': ('1 providers without a name',),
    'provider in capitals': ('1 providers whose uuid has capital letters',),
    'consumer in capitals': (
        # The collation of MySQL takes both spellings for one.
        *([] if databases.backend() == 'mysql' else ['1 consumers without a record']),
        '1 consumers whose uuid has capital letters',
    ),
    'missing provider': (
        '3 inventories of providers that do not exist',
        '1 allocations of providers that do not exist',
        '1 aggregates of providers that do not exist',
    ),
    'missing class': ('1 inventories of classes that do not exist',),
    'missing class of an allocation': ('1 allocations of classes that do not exist',),
    'missing trait': ('1 associations with traits that do not exist',),
    'missing aggregate': ('1 associations with aggregates that do not exist',),
    'aggregate without a uuid': ('1 aggregates without a uuid',),
    'missing consumer': ('1 consumers without a record',),
    'missing project': ('1 consumers whose project does not exist',),
    'missing user': ('1 consumers whose user does not exist',),
}

#: Reads of what is about another provider, whose answers stay.
OTHERS = (
    f'/resource_providers/{HOST}',
    f'/resource_providers/{HOST}/inventories',
    f'/resource_providers/{HOST}/usages',
    f'/resource_providers/{HOST}/traits',
    f'/resource_providers/{HOST}/allocations',
    f'/resource_providers?uuid={HOST}',
    f'/resource_providers?in_tree={HOST}',
    f'/allocations/{CONSUMERS[0]}',
    f'/allocation_candidates?resources=VCPU:1&in_tree={HOST}',
)


def execute_unchecked(url: str, statement: str) -> None:
    """Run a statement that checks no foreign keys; SQLite checks none unless it is asked to."""
    off = {
        'sqlite': 'SELECT 1',
        'mysql': 'SET FOREIGN_KEY_CHECKS = 0',
        'postgresql': "SET session_replication_role = 'replica'",
    }
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(off[databases.backend()])
        connection.exec_driver_sql(statement)


@pytest.fixture(params=ROWS)
def odd(request: pytest.FixtureRequest) -> Iterator[tuple[Client, Mapping[str, Any]]]:
    """A client of a cloud with one odd row, and the answers about others before."""
    service = applications.Service(applications.insight_options('on'))
    client = Client(service.application, {'x-auth-token': 'admin', 'x-roles': 'admin,service'})
    valid_requests.populate(client)
    before = {path: get(client, path).json for path in OTHERS}
    execute_unchecked(service.database.url, ROWS[request.param])
    with applications.serving(
        service.database.url, applications.insight_options('on'), client.headers
    ) as worker:
        yield worker, before
    service.stop()


def get(client: Client, path: str) -> Answer:
    return client.send('GET', path, version=NEWEST)


def reads() -> Iterator[tuple[routes.Route, str]]:
    """Each read, with each of the names that its path can have."""
    for route in installed_surface().routes:
        if route.method == 'GET' or route.action.startswith('insight.'):
            names = valid_requests.names(route.path)
            query = urlencode(valid_requests.query(route.action, NEWEST_MINOR))
            for values in itertools.product(*names.values()):
                path = route.path.format(**dict(zip(names, values, strict=True)))
                yield route, f'{path}?{query}'


def test_nothing_that_reads_fails_for_an_odd_row(
    odd: tuple[Client, Mapping[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    client, before = odd
    failed = []
    for route, path in reads():
        body = valid_requests.body(route, NEWEST_MINOR)
        answer = client.send(route.method, path, body, NEWEST)
        if answer.status >= 500:
            failed.append((path, answer.status))
        elif answer.body and 'json' in answer.headers['content-type']:
            json.loads(answer.body)

    assert failed == []
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert {path: get(client, path).json for path in OTHERS} == before


ORPHANS = ('missing parent', 'missing root', 'missing parent and root', 'root without a number')
WRONG_PARENTS = ('parent in another tree', 'parent of itself')


@pytest.mark.parametrize('odd', [*ORPHANS, *WRONG_PARENTS], indirect=True)
def test_a_provider_without_its_tree_is_searched_and_can_be_made_a_root(
    odd: tuple[Client, Mapping[str, Any]],
) -> None:
    client, _before = odd
    search = f'/allocation_candidates?resources=VCPU:1&in_tree={ODD}'
    assert list(get(client, search).json['provider_summaries']) == [ODD]

    path, body = f'/resource_providers/{ODD}', {'name': 'cn2', 'parent_provider_uuid': None}
    answer = client.send('PUT', path, body, NEWEST)

    assert answer.status == 200, answer.text
    assert (answer.json['parent_provider_uuid'], answer.json['root_provider_uuid']) == (None, ODD)
    assert get(client, f'/resource_providers?in_tree={ODD}').json['resource_providers'] == [
        answer.json
    ]
    assert list(get(client, search).json['provider_summaries']) == [ODD]


@pytest.mark.parametrize('odd', ORPHANS[:3], indirect=True)
def test_a_warning_names_a_provider_without_its_tree(
    odd: tuple[Client, Mapping[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    get(odd[0], '/allocation_candidates?resources=VCPU:1')

    (warning,) = [one for one in caplog.messages if 'does not exist' in one]
    assert f'of 1 resource providers does not exist, among them {ODD} (cn2)' in warning


@pytest.mark.parametrize('odd', [*ORPHANS, *WRONG_PARENTS], indirect=True)
def test_a_child_of_a_provider_without_its_tree_lies_below_it(
    odd: tuple[Client, Mapping[str, Any]],
) -> None:
    client, _before = odd
    body = {'name': 'child', 'parent_provider_uuid': ODD}

    answer = client.send('POST', '/resource_providers', body, NEWEST)

    assert answer.status == 200, answer.text
    assert answer.json['parent_provider_uuid'] == ODD
    assert answer.json['root_provider_uuid'] == ODD


@pytest.mark.parametrize('odd', [*ORPHANS, *WRONG_PARENTS], indirect=True)
def test_a_provider_without_its_tree_takes_claims_and_can_be_deleted(
    odd: tuple[Client, Mapping[str, Any]],
) -> None:
    client, _before = odd
    assert client.send('DELETE', f'/allocations/{CONSUMERS[1]}', None, NEWEST).status == 204
    claim = clouds.claim({ODD: {'VCPU': 1}})
    for method, body in (('PUT', claim), ('DELETE', None)):
        path = f'/allocations/{CONSUMERS[1]}'
        assert client.send(method, path, body, NEWEST).status == 204

    assert client.send('DELETE', f'/resource_providers/{ODD}', None, NEWEST).status == 204


@pytest.mark.parametrize('odd', ['provider without a generation'], indirect=True)
def test_a_provider_without_a_generation_can_be_written(
    odd: tuple[Client, Mapping[str, Any]],
) -> None:
    client, _before = odd
    path = f'/resource_providers/{ODD}'
    assert get(client, path).json['generation'] == 0
    body = {'traits': ['HW_CPU_X86_AVX'], 'resource_provider_generation': 0}

    assert client.send('PUT', f'{path}/traits', body, NEWEST).status == 200
    assert get(client, path).json['generation'] == 1


@pytest.mark.parametrize('odd', ['provider without a name'], indirect=True)
def test_a_provider_without_a_name_is_shown_by_its_uuid(
    odd: tuple[Client, Mapping[str, Any]],
) -> None:
    assert get(odd[0], f'/resource_providers/{ODD}').json['name'] == ODD


def test_the_audit_finds_an_odd_row_where_the_snapshot_has_it(
    odd: tuple[applications.Worker, Mapping[str, Any]],
) -> None:
    with odd[0].database.begin(Mode.READ_ONE_MOMENT) as connection:
        snapshot = Snapshot.of(load_providers(connection))

        assert checksums_of(snapshot) == checksums_in(connection)
        ids = [provider.id for provider in snapshot]
        assert checksums_of(Snapshot.of(load_providers(connection, ids))) == checksums_in(
            connection
        )


def test_the_doctor_counts_odd_rows_and_has_a_remedy(
    odd: tuple[applications.Worker, Mapping[str, Any]], request: pytest.FixtureRequest
) -> None:
    account = find_account(None)
    result = check_rows(Deployment(odd[0].configuration, account, {}))
    findings = FINDINGS.get(request.node.callspec.params['odd'], ())

    found = result.finding.removeprefix('Rows that no request has written: ').split('; ')
    assert [one.partition(', such as ')[0] for one in found if findings] == list(findings)
    assert (result.code, bool(result.remedy)) == (
        (Code.WARNING, True) if findings else (Code.SUCCESS, False)
    )
