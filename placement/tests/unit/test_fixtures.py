# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of other projects, used as nova and osc-placement use them."""

import logging
import pathlib
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import fixtures
import pytest
import requests
from keystoneauth1 import adapter, session
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_log import log
from sqlalchemy import exc

from placement import conf as placement_conf
from placement.tests.fixtures import Database
from placement.tests.functional.fixtures import capture, placement

Use = Callable[[Any], Any]


@pytest.fixture
def use() -> Iterator[Use]:
    """Set up one of the fixtures until the test ends."""
    with fixtures.Fixture() as outer:
        yield outer.useFixture


def client(service: placement.PlacementFixture) -> adapter.Adapter:
    return adapter.Adapter(
        session.Session(),
        endpoint_override=service.endpoint,
        additional_headers={'x-auth-token': service.token},
        raise_exc=False,
    )


def names(service: placement.PlacementFixture) -> list[str]:
    """The providers of a service, by name."""
    listed = client(service).get('/resource_providers').json()
    return [provider['name'] for provider in listed['resource_providers']]


def create(service: placement.PlacementFixture, name: str) -> None:
    answer = client(service).post('/resource_providers', json={'name': name})
    assert answer.status_code == 201


def test_a_service_is_at_its_endpoint_as_long_as_its_fixture() -> None:
    with placement.PlacementFixture() as service:
        create(service, 'host')
        assert names(service) == ['host']
        # The empty path needs a token, as it does from elsewhere.
        assert requests.get(service.endpoint, headers={'x-auth-token': service.token}).ok
        assert 'versions' in requests.get(f'{service.endpoint}/').json()
    with pytest.raises(requests.ConnectionError):
        requests.get(service.endpoint)


def test_services_do_not_see_each_other(use: Use) -> None:
    one, other = use(placement.PlacementFixture()), use(placement.PlacementFixture())
    create(one, 'host')

    assert names(one) == ['host']
    assert names(other) == []


def test_a_database_outlives_the_services_that_use_it(use: Use) -> None:
    conf = use(config_fixture.Config(cfg.ConfigOpts()))
    placement_conf.register_opts(conf.conf)
    use(Database(conf, set_config=True))

    with placement.PlacementFixture(conf_fixture=conf, db=False, register_opts=False) as first:
        create(first, 'host')
    with placement.PlacementFixture(conf_fixture=conf, db=False, register_opts=False) as second:
        assert names(second) == ['host']


class WithOwnDatabase(placement.PlacementFixture):
    """A fixture derived as nova derives its own."""

    def __init__(self, connection: str) -> None:
        super().__init__()
        self.connection = connection

    def _configure_placement(self, conf_fixture: config_fixture.Config) -> None:
        super()._configure_placement(conf_fixture)
        conf_fixture.config(group='placement_database', connection=self.connection)


def test_a_derived_fixture_chooses_the_database(use: Use, tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'empty.sqlite'
    with sqlite3.connect(path) as connection:
        connection.execute('PRAGMA journal_mode=WAL')
    connection.close()
    service = use(WithOwnDatabase(f'sqlite:///{path}'))
    create(service, 'host')

    again = use(WithOwnDatabase(f'sqlite:///{path}'))
    assert names(again) == ['host']
    # One in memory is made by its service.
    assert names(use(WithOwnDatabase('sqlite://'))) == []


def test_the_administrator_of_the_tests_may_do_everything(use: Use) -> None:
    service = use(placement.PlacementFixture())
    version = {'openstack-api-version': 'placement 1.30'}

    assert client(service).post('/reshaper', json={}, headers=version).status_code == 400


def test_options_can_be_set_while_the_service_runs(use: Use) -> None:
    service = use(placement.PlacementFixture())
    service.conf_fixture.config(group='placement', incomplete_consumer_project_id='old')
    create(service, 'host')
    api = client(service)
    (uuid,) = [one['uuid'] for one in api.get('/resource_providers').json()['resource_providers']]
    api.put(
        f'/resource_providers/{uuid}/inventories',
        json={'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 4}}},
    )
    allocation = {'resource_provider': {'uuid': uuid}, 'resources': {'VCPU': 1}}
    assert api.put(f'/allocations/{uuid}', json={'allocations': [allocation]}).ok
    shown = api.get(f'/allocations/{uuid}', headers={'openstack-api-version': 'placement 1.12'})
    assert shown.json()['project_id'] == 'old'


def test_a_log_is_collected_and_stays_so(use: Use) -> None:
    logging_fixture = use(capture.Logging())
    # What is a program in another process would set up logging here.
    log.setup(cfg.ConfigOpts(), 'placement')
    logging.getLogger('placement.sample').info('kept %d', 1)
    logging.getLogger('placement.sample').debug('not %s', 'kept')

    assert 'INFO [placement.sample] kept 1' in logging_fixture.logger.output
    assert 'not kept' not in logging_fixture.logger.output
    # A message that does not fit its values is an error nevertheless.
    with pytest.raises(TypeError, match='not all arguments'):
        logging.getLogger('placement.sample').debug('no place', 1)


def test_what_is_printed_is_collected_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OS_STDOUT_CAPTURE', '1')
    before = sys.stdout, sys.stderr
    with capture.OutputStreamCapture() as streams:
        assert sys.stdout is not before[0]
        assert sys.stderr is before[1]
        print('shown when the test fails')
        (detail,) = streams.getDetails().values()
        assert detail.as_text() == 'shown when the test fails\n'
    assert (sys.stdout, sys.stderr) == before


def test_a_wrong_use_of_sqlalchemy_is_an_error() -> None:
    before = list(warnings.filters)
    with capture.WarningsFixture(), pytest.raises(exc.SAWarning):
        warnings.warn('cartesian product', exc.SAWarning, stacklevel=1)
    assert list(warnings.filters) == before
