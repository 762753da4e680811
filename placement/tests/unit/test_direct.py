# SPDX-License-Identifier: Apache-2.0
"""The service in the process of its client."""

import pathlib

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from placement import deploy, direct
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.microversions import NEWEST
from placement.tests.unit.test_deploy import configured

VERSION = 'openstack-api-version'


@pytest.fixture
def conf(tmp_path: pathlib.Path) -> cfg.ConfigOpts:
    return configured(tmp_path / 'p.sqlite', placement_database__sync_on_startup=True)


def test_requests_are_those_of_an_administrator_at_the_oldest_version(
    conf: cfg.ConfigOpts,
) -> None:
    with direct.PlacementDirect(conf) as client:
        made = client.post('/resource_providers', json={'name': 'host é'})
    # The data outlives the client.
    with direct.PlacementDirect(conf) as client:
        listed = client.get('/resource_providers')

    assert made.status_code == 201
    assert [provider['name'] for provider in listed.json()['resource_providers']] == ['host é']
    assert listed.headers[VERSION] == 'placement 1.0'


def test_the_usual_version_is_the_newest_where_wanted_and_a_request_can_name_another(
    conf: cfg.ConfigOpts,
) -> None:
    with direct.PlacementDirect(conf, latest_microversion=True) as client:
        assert client.get('/traits', microversion='1.6').headers[VERSION] == 'placement 1.6'
        assert client.get('/resource_providers').headers[VERSION] == f'placement {NEWEST}'


def test_paths_and_queries_reach_the_service_and_an_error_is_an_answer(
    conf: cfg.ConfigOpts,
) -> None:
    with direct.PlacementDirect(conf) as client:
        answer = client.get('/resource_providers/caf%C3%A9')
        assert client.get('/resource_providers?name=a&name=b').status_code == 200
        assert client.get('/resource_providers', params={'no': 'such'}).status_code == 400

    assert (answer.status_code, answer.reason) == (404, 'Not Found')
    assert 'café' in answer.json()['errors'][0]['detail']


def test_a_start_that_fails_leaves_no_connection_open(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections: list[sa.Engine] = []

    def fail(database: Database, _conf: cfg.ConfigOpts) -> None:
        with database.begin(Mode.READ):
            connections.append(database.engine)
        raise RuntimeError('no')

    monkeypatch.setattr(deploy, 'application_on', fail)
    with pytest.raises(RuntimeError, match='no'), direct.PlacementDirect(conf):
        pass
    (engine,) = connections
    assert 'Connections in pool: 0' in engine.pool.status()
