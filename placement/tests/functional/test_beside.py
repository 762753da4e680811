# SPDX-License-Identifier: Apache-2.0
"""Insight on a database that another service writes, of which it reads copies."""

import random
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.schema import own_tables
from placement.db.statements import names
from placement.microversions import NEWEST
from placement.tests.thorough import examples
from placement_insight.beside import application
from placement_insight.beside.application import AGE_HEADER
from placement_insight.beside.copies import Copies, WrittenTo, refuse_writes
from placement_insight.errors import MomentGone

from .fixtures import applications, clouds
from .fixtures.client import Client
from .fixtures.freshness_workload import Workload
from .fixtures.insight_questions import differences, list_questions

STEPS = examples(600)
#: Seconds.
MAX_AGE = 1_000

HOSTS = tuple(clouds.Provider(f'host{number}', {'VCPU': 8}) for number in range(3))

OFF = {
    'unmet_demand': 'another service answers the searches, and keeps none that found nothing',
    'promises': 'they are kept in a table, and nothing is written here',
    'changes': 'the service that writes the database keeps no feed of changes',
    'history': 'the service that writes the database keeps no history',
}


class Beside(Client):
    """A client of insight beside a service; `statements` are those that it was sent."""

    def __init__(self, service: applications.Service, max_age: int) -> None:
        # The engine of the other service would be forbidden to write.
        options = {
            **applications.insight_options('on'),
            ('insight', 'snapshot_max_age'): max_age,
        }
        configuration = applications.configured(service.database.url, options)
        self.database = Database.from_conf(configuration, refuse_writes)
        self.statements: list[str] = []
        sa.event.listen(self.database.engine, 'before_cursor_execute', self._note)
        beside = application.application_on(self.database, configuration)
        super().__init__(applications.strictly_typed(beside))

    def _note(
        self, _connection: sa.Connection, _cursor: object, text: str, *_more: object
    ) -> None:
        self.statements.append(text)


@pytest.fixture
def options() -> applications.Options:
    return applications.insight_options('on')


@pytest.fixture
def beside(service: applications.Service) -> Iterator[Beside]:
    """Insight that reads the cloud for each question."""
    asked = Beside(service, max_age=0)
    yield asked
    asked.database.dispose()


@pytest.fixture
def cached(service: applications.Service) -> Iterator[Beside]:
    """Insight that reads the cloud once."""
    asked = Beside(service, MAX_AGE)
    yield asked
    asked.database.dispose()


def test_answers_are_those_of_the_service(client: Client, beside: Beside) -> None:
    workload, chance = Workload(client, 1), random.Random(1)
    for number in range(STEPS):
        workload.step()
        if number % 20 == 19:
            assert [*differences(list_questions(chance), beside, client, NEWEST)] == []


def test_nothing_is_written_and_no_table_of_this_service_is_read(
    client: Client, beside: Beside
) -> None:
    clouds.build(HOSTS, client)
    for question in list_questions(random.Random(1)):
        question.asked(beside, NEWEST)
    kinds = {statement.split()[0] for statement in beside.statements}
    assert kinds <= {'SELECT', 'SET'}
    own = own_tables.metadata.tables.keys()
    assert not [text for text in beside.statements for name in own if name in text]
    with pytest.raises(WrittenTo):
        refuse_writes()


@pytest.mark.parametrize('name', OFF)
def test_what_is_off_says_why(beside: Beside, name: str) -> None:
    shown = {one['name']: one for one in beside.send('GET', '/insight').json['questions']}
    assert (shown[name]['enabled'], shown[name]['note']) == (False, OFF[name])
    query = {'changes': '?since=2026-01-01T00:00:00Z'}.get(name, '')
    answer = beside.send('GET', f'/insight/{name}{query}', version=NEWEST)
    assert answer.status == 404
    assert f'This is switched off: {OFF[name]}.' in answer.text
    assert beside.statements == []


def test_generations_are_old(beside: Beside) -> None:
    shown = beside.send('GET', '/insight').json
    assert shown['max_age'] == 0
    (note,) = {one['note'] for one in shown['questions'] if one['enabled'] and one['note']}
    assert 'generations are as old as the answer' in note


@pytest.mark.parametrize(
    ('method', 'path'),
    [
        ('GET', '/resource_providers'),
        ('GET', '/allocation_candidates?resources=VCPU:1'),
        ('GET', '/insights'),
        ('POST', '/resource_providers'),
        ('PUT', '/allocations/6d1f2c0e-58a4-4c0b-9d3e-0b6f3a7c1101'),
        ('DELETE', '/traits/CUSTOM_FAST'),
    ],
)
def test_the_api_is_not_served(beside: Beside, method: str, path: str) -> None:
    body = {'name': 'host'} if method in ('POST', 'PUT') else None
    answer = beside.send(method, path, body, version=NEWEST)
    assert answer.status == 404
    assert 'Only questions below /insight are answered here.' in answer.text
    assert beside.statements == []


@pytest.mark.parametrize(
    ('method', 'body'), [('PUT', {'request': 'resources=VCPU:1', 'count': 1}), ('DELETE', None)]
)
def test_no_promise_is_written(beside: Beside, method: str, body: object) -> None:
    assert beside.send(method, '/insight/promises/p', body, version=NEWEST).status == 404
    assert beside.statements == []


def test_versions_are_shown_without_the_database(beside: Beside) -> None:
    assert beside.send('GET', '/').json['versions'][0]['max_version'] == NEWEST
    assert beside.statements == []


def test_answers_are_of_one_reading_until_it_is_too_old(
    client: Client, service: applications.Service, cached: Beside
) -> None:
    assert cached.send('GET', '/insight/providers').json['providers'] == []
    clouds.build(HOSTS, client)
    answer = cached.send('GET', '/insight/providers')
    assert answer.json['providers'] == []
    assert 0 <= int(answer.headers[AGE_HEADER]) < MAX_AGE
    assert answer.json['token'] is None


def test_pages_are_of_one_moment(client: Client, beside: Beside) -> None:
    clouds.build(HOSTS, client)
    path, uuids = '/insight/providers?page_limit=1', []
    while path:
        answer = beside.send('GET', path, version=NEWEST)
        uuids += [one['uuid'] for one in answer.json['providers']]
        path = next((link['href'] for link in answer.json['links']), '')
        if len(uuids) == 1:
            gone = f'/resource_providers/{clouds.uuid_of("host2")}'
            assert client.send('DELETE', gone).status == 204
    assert sorted(uuids) == sorted(clouds.uuid_of(host.name) for host in HOSTS)
    assert len(beside.send('GET', '/insight/providers').json['providers']) == 2


def test_page_of_a_moment_that_is_gone_is_refused(client: Client, beside: Beside) -> None:
    clouds.build(HOSTS, client)
    first = beside.send('GET', '/insight/providers?page_limit=1').json
    (link,) = first['links']
    assert 'moment=' in link['href']
    assert beside.send('GET', link['href']).status == 200
    for _ in range(4):
        beside.send('GET', '/insight/providers')
    answer = beside.send('GET', link['href'])
    assert answer.status == 410
    assert 'begin with the first page again' in answer.text
    assert beside.send('GET', '/insight/consumers?moment=of-another-process').status == 410


def test_only_stored_names_exist(client: Client, beside: Beside) -> None:
    clouds.build(HOSTS, client)
    trait = 'HW_CPU_X86_AVX512VNNI'
    asked = (
        f'/insight/allocation_candidates?resources=VCPU:1&required={trait}',
        '/insight/allocation_candidates?resources=PGPU:1',
        f'/insight/providers?required={trait}',
        '/insight/providers?resources=PGPU:1',
    )
    for path in asked:
        assert beside.send('GET', path, version=NEWEST).status == 200
    scenario = [{'change': {'where': ['host0'], 'traits': {'add': [trait]}}}]
    body = {'query': 'resources=VCPU:1', 'scenario': scenario}
    assert (
        beside.send('POST', '/insight/allocation_candidates', body, version=NEWEST).status == 200
    )
    # As a release of upstream has them that is older than the trait and the class.
    with beside.database.engine.begin() as connection:
        connection.execute(sa.delete(names.TRAIT.table).where(names.TRAIT.in_([trait])))
        connection.execute(
            sa.delete(names.RESOURCE_CLASS.table).where(names.RESOURCE_CLASS.in_(['PGPU']))
        )
    for path in asked:
        answer = beside.send('GET', path, version=NEWEST)
        assert answer.status == 400
        assert 'No such' in answer.text
    assert (
        beside.send('POST', '/insight/allocation_candidates', body, version=NEWEST).status == 400
    )


def test_rows_that_refer_to_none_are_copied(client: Client, beside: Beside) -> None:
    clouds.build(HOSTS, client)
    with beside.database.engine.begin() as connection:
        connection.exec_driver_sql(
            'INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used)'
            " VALUES (1000, 'c2c0e9f8-25a5-4ddb-a42d-a54e5b1e4a1f', 0, 1)"
        )
    assert (
        beside.send('POST', '/insight/survival', {'lose': {'each': 'root'}}, version=NEWEST).status
        == 200
    )


def test_schema_before_types_of_consumers_is_refused(beside: Beside) -> None:
    application.check_schema(beside.database)
    with beside.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'b5c396305c25'")
    with pytest.raises(application.UnusableDatabase, match='b5c396305c25; those of the releases'):
        application.check_schema(beside.database)
    answer = beside.send('GET', '/healthcheck')
    assert answer.status == 503


def test_copies_are_kept_while_they_are_asked_for(beside: Beside) -> None:
    now = 0.0
    copies = Copies(beside.database, 15, lambda: now)
    first = copies.current(True)
    now = 14.0
    assert copies.current(True) is first
    now = 15.0
    second = copies.current(True)
    assert second is not first
    assert copies.named(first.moment, True) is first
    now = 80.0
    third = copies.current(True)
    with pytest.raises(MomentGone):
        copies.named(first.moment, True)
    assert copies.named(third.moment, True) is third


def test_a_copy_that_goes_while_it_is_asked_for_does_not_return(beside: Beside) -> None:
    now, meanwhile = 0.0, list[Callable[[], object]]()

    def clock() -> float:
        if meanwhile:
            meanwhile.pop()()
        return now

    copies = Copies(beside.database, 15, clock)
    first = copies.current(True)
    now = 80.0
    meanwhile.append(lambda: copies.current(True))
    assert copies.named(first.moment, True) is first
    with pytest.raises(MomentGone):
        copies.named(first.moment, True)


def test_consumers_are_read_when_they_are_asked_about(beside: Beside) -> None:
    copies = Copies(beside.database, MAX_AGE)
    sums = copies.current(False)
    assert copies.current(False) is sums
    with pytest.raises(MomentGone):
        copies.named(sums.moment, True)
    whole = copies.current(True)
    assert (sums.has_consumers, whole.has_consumers) == (False, True)
    assert copies.current(False) is whole
    assert copies.named(sums.moment, False) is sums


def test_account_that_may_write_is_warned_of(
    beside: Beside, caplog: pytest.LogCaptureFixture
) -> None:
    application.warn_of_rights(beside.database)
    # SQLite has no accounts.
    expected = 'sqlite' not in beside.database.engine.dialect.name
    assert ('The account of the database may write.' in caplog.text) is expected
