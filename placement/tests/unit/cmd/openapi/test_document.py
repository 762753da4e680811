# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of every microversion says what the history says, in valid OpenAPI."""

import json
from typing import Any

import openapi_spec_validator
import pytest

from placement.cmd.openapi import document
from placement.http.microversion import Api
from placement.routes import installed_surface
from placement.tests.thorough import THOROUGH

SURFACE = installed_surface()
APIS = list(SURFACE.apis.values())


def described(version: str) -> dict[str, Any]:
    return document.document(SURFACE, document.version_named(SURFACE, version))


def operation(version: str, method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = described(version)['paths'][path][method]
    return found


def names_in_query(version: str, path: str) -> set[str]:
    found = operation(version, 'get', path)['parameters']
    return {parameter['name'] for parameter in found if parameter['in'] == 'query'}


@pytest.mark.parametrize(
    'api', APIS if THOROUGH else APIS[:: len(APIS) - 1], ids=lambda api: str(api.version)
)
def test_document_of_every_version_is_valid_openapi(api: Api) -> None:
    # What is validated is what is printed.
    text = json.dumps(document.document(SURFACE, api))

    openapi_spec_validator.OpenAPIV31SpecValidator(json.loads(text)).validate()


def test_document_describes_request_groups_as_one_parameter() -> None:
    path = '/allocation_candidates'

    assert 'groups' not in names_in_query('1.24', path)
    assert {'groups', 'resources', 'group_policy'} <= names_in_query('1.25', path)
    (groups,) = (p for p in operation('1.25', 'get', path)['parameters'] if p['name'] == 'groups')
    assert '^resources([1-9][0-9]*)$' not in groups['schema']['patternProperties']
    assert '^resources[1-9][0-9]*$' in groups['schema']['patternProperties']
    assert groups['explode']


@pytest.mark.parametrize(
    ('name', 'before', 'since'), [('member_of', '1.23', '1.24'), ('required', '1.38', '1.39')]
)
def test_document_describes_a_repeatable_parameter_as_an_array(
    name: str, before: str, since: str
) -> None:
    types = []
    for version in (before, since):
        found = operation(version, 'get', '/resource_providers')['parameters']
        types += [p['schema']['type'] for p in found if p['name'] == name]

    assert types == ['string', 'array']


def test_document_requires_the_version_header_except_for_the_oldest() -> None:
    headers = [document.version_header(api) for api in APIS]

    assert [header['required'] for header in headers] == [False] + [True] * (len(APIS) - 1)
    assert headers[10]['schema'] == {'type': 'string', 'enum': ['placement 1.10']}


def test_every_path_but_the_root_requires_a_token() -> None:
    found = described('latest')

    assert found['security'] == [{'token': []}]
    assert found['components']['securitySchemes']['token']['name'] == 'X-Auth-Token'
    assert found['paths']['/']['get']['security'] == []
    assert '401' not in found['paths']['/']['get']['responses']


def test_document_lists_the_statuses_of_an_operation_and_the_version_that_introduced_it() -> None:
    show = operation('latest', 'get', '/resource_providers/{uuid}')['responses'].keys()
    claim = operation('latest', 'put', '/allocations/{consumer_uuid}')['responses'].keys()

    clear = operation('latest', 'delete', '/resource_providers/{uuid}/inventories')
    assert clear['x-openstack'] == {'min-ver': '1.5'}
    assert show == {'200', '400', '401', '403', '404', '406', '503'}
    assert claim == {'204', '400', '401', '403', '404', '406', '409', '415', '503'}


def test_error_before_there_is_a_version_has_no_code_and_may_have_the_bounds() -> None:
    schemas = described('latest')['components']['schemas']
    error = schemas['ErrorsBeforeVersion']['properties']['errors']['items']

    assert 'code' not in error['required']
    assert {'max_version', 'min_version'} <= error['properties'].keys()
