# SPDX-License-Identifier: Apache-2.0
"""The log of generation conflicts, route by route (specification: configuration, "Logging")."""

import json
import logging
import pathlib
from typing import Any

import pytest
import webob

from placement import deploy
from placement.tests.unit.test_deploy import configured

HOST = '11111111-1111-1111-1111-111111111111'
SERVER = '22222222-2222-2222-2222-222222222222'
INVENTORY = {'total': 8}
CLAIM = {
    'allocations': {HOST: {'resources': {'VCPU': 1}}},
    'project_id': 'p',
    'user_id': 'u',
    'consumer_generation': None,
    'consumer_type': 'INSTANCE',
}


class Service:
    """The whole service, with one host and one server on it."""

    def __init__(self, tmp_path: pathlib.Path) -> None:
        conf = configured(tmp_path / 'placement.sqlite', placement_database__sync_on_startup=True)
        # Only services may reshape by default.
        conf.set_override('policy_file', str(tmp_path / 'policy.yaml'), 'oslo_policy')
        (tmp_path / 'policy.yaml').write_text('placement:reshaper:reshape: "@"')
        self._application = deploy.loadapp(conf)
        self.ask('POST', '/resource_providers', {'name': 'host', 'uuid': HOST}, 200)
        stocked = {'resource_provider_generation': 0, 'inventories': {'VCPU': INVENTORY}}
        self.ask('PUT', f'/resource_providers/{HOST}/inventories', stocked, 200)
        self.ask('PUT', f'/allocations/{SERVER}', CLAIM, 204)

    def ask(self, method: str, path: str, body: dict[str, Any], status: int) -> None:
        request = webob.Request.blank(path, method=method, body=json.dumps(body).encode())
        request.headers['OpenStack-API-Version'] = 'placement 1.38'
        request.headers['X-Auth-Token'] = 'admin'
        request.content_type = 'application/json'
        response = request.get_response(self._application)
        assert response.status_int == status, response.text


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return Service(tmp_path)


def reshape(generation: int, consumer_generation: int) -> dict[str, Any]:
    inventories = {'resource_provider_generation': generation, 'inventories': {'VCPU': INVENTORY}}
    consumer = {**CLAIM, 'consumer_generation': consumer_generation}
    return {'inventories': {HOST: inventories}, 'allocations': {SERVER: consumer}}


PROVIDER = f'resource provider {HOST} has generation 2, the request was for 1'
BELOW = f'/resource_providers/{HOST}'


@pytest.mark.parametrize(
    ('method', 'path', 'body', 'line'),
    [
        ('PUT', f'{BELOW}/inventories', {'inventories': {}}, PROVIDER),
        ('PUT', f'{BELOW}/inventories/VCPU', INVENTORY, PROVIDER),
        ('PUT', f'{BELOW}/aggregates', {'aggregates': []}, PROVIDER),
        ('PUT', f'{BELOW}/traits', {'traits': []}, PROVIDER),
        ('POST', '/reshaper', reshape(1, 1), PROVIDER),
        (
            'POST',
            '/reshaper',
            reshape(2, 7),
            f'consumer {SERVER} has generation 1, the request was for 7',
        ),
        (
            'PUT',
            f'/allocations/{SERVER}',
            CLAIM,
            f'consumer {SERVER} has generation 1, the request was for null',
        ),
        (
            'PUT',
            f'/allocations/{HOST}',
            {**CLAIM, 'consumer_generation': 3},
            f'consumer {HOST} has generation null, the request was for 3',
        ),
        (
            'POST',
            '/allocations',
            {SERVER: {**CLAIM, 'consumer_generation': 0}},
            f'consumer {SERVER} has generation 1, the request was for 0',
        ),
    ],
)
def test_conflict_is_logged_with_both_generations(
    service: Service,
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    body: dict[str, Any],
    line: str,
) -> None:
    caplog.set_level(logging.INFO)
    if path.startswith(BELOW):
        body = {**body, 'resource_provider_generation': 1}

    service.ask(method, path, body, 409)

    logged = [
        record for record in caplog.records if record.name == 'placement.objects.generations'
    ]
    assert [(record.levelname, record.getMessage()) for record in logged] == [
        ('INFO', f'Generation conflict: {line}.')
    ]


def test_current_generation_is_not_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    service.ask('POST', '/reshaper', reshape(2, 1), 204)

    assert 'Generation conflict' not in caplog.text
