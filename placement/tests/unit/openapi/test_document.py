# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of every microversion says what the history says, in valid OpenAPI."""

import json
from typing import Any

import openapi_spec_validator
import pytest

from placement import errors, history, routes
from placement.http.microversion import Api
from placement.openapi import document, parameters, reply_templates

APIS = list(history.APIS.values())
NEWEST = APIS[-1]


def described(version: str) -> dict[str, Any]:
    return document.document(document.version_named(version))


def operation(version: str, method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = described(version)['paths'][path][method]
    return found


def names_in_query(version: str, path: str) -> set[str]:
    found = operation(version, 'get', path)['parameters']
    return {parameter['name'] for parameter in found if parameter['in'] == 'query'}


def schema_of_answer(version: str, method: str, path: str, status: int = 200) -> dict[str, Any]:
    answer = operation(version, method, path)['responses'][str(status)]
    schema: dict[str, Any] = answer['content']['application/json']['schema']
    return schema


@pytest.mark.parametrize('api', APIS, ids=lambda api: str(api.version))
def test_document_of_every_version_is_valid_openapi(api: Api) -> None:
    # What is validated is what is printed.
    text = json.dumps(document.document(api))

    openapi_spec_validator.OpenAPIV31SpecValidator(json.loads(text)).validate()


@pytest.mark.parametrize('api', APIS, ids=lambda api: str(api.version))
def test_document_has_the_operations_of_its_version(api: Api) -> None:
    found = {
        (path, method.upper())
        for path, methods in document.document(api)['paths'].items()
        for method in methods
    }

    assert found == {
        (route.path, route.method)
        for route in routes.ROUTES
        if route.path and route.action in api.handlers
    }


@pytest.mark.parametrize('api', APIS, ids=lambda api: str(api.version))
def test_document_describes_a_body_where_the_handler_reads_one(api: Api) -> None:
    found = {
        operation['operationId']: operation['requestBody']['content']['application/json']['schema']
        for methods in document.document(api)['paths'].values()
        for operation in methods.values()
        if 'requestBody' in operation
    }

    assert found == {action: dict(validator.schema) for action, validator in api.bodies.items()}


def test_every_handler_has_reply_templates() -> None:
    handlers = {handler for change in history.HISTORY for handler in change.serves.values()}

    assert reply_templates.REPLIES.keys() == handlers


def test_operations_have_unique_ids_and_summaries() -> None:
    operations = [
        operation
        for methods in described('latest')['paths'].values()
        for operation in methods.values()
    ]

    assert len({operation['operationId'] for operation in operations}) == len(operations)
    assert all(operation['summary'].endswith('.') for operation in operations)


def test_operation_names_the_version_that_introduced_it() -> None:
    clear = operation('latest', 'delete', '/resource_providers/{uuid}/inventories')

    assert clear['x-openstack'] == {'min-ver': '1.5'}


def test_document_has_the_query_parameters_of_its_version() -> None:
    path = '/resource_providers'

    assert names_in_query('1.0', path) == {'name', 'uuid'}
    assert names_in_query('1.17', path) == {'name', 'uuid', 'member_of', 'resources', 'in_tree'}
    assert names_in_query('1.18', path) - names_in_query('1.17', path) == {'required'}


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
    headers = [parameters.version_header(api) for api in APIS]

    assert [header['required'] for header in headers] == [False] + [True] * (len(APIS) - 1)
    assert headers[10]['schema'] == {'type': 'string', 'enum': ['placement 1.10']}


def test_every_path_but_the_root_requires_a_token() -> None:
    found = described('latest')

    assert found['security'] == [{'token': []}]
    assert found['components']['securitySchemes']['token']['name'] == 'X-Auth-Token'
    assert found['paths']['/']['get']['security'] == []
    assert '401' not in found['paths']['/']['get']['responses']


def test_document_of_a_version_has_the_members_and_links_of_a_provider() -> None:
    members, links = {}, {}
    for version in ('1.0', '1.13', '1.14'):
        schema = schema_of_answer(version, 'get', '/resource_providers/{uuid}')
        members[version] = schema['required']
        kinds = schema['properties']['links']['items']['anyOf']
        links[version] = [kind['properties']['rel']['const'] for kind in kinds]

    assert members['1.0'] == members['1.13'] == ['uuid', 'name', 'generation', 'links']
    assert members['1.14'][4:] == ['parent_provider_uuid', 'root_provider_uuid']
    assert links['1.0'] == ['self', 'inventories', 'usages']
    assert links['1.13'][3:] == ['aggregates', 'traits', 'allocations']


def test_created_provider_has_a_body_from_its_version_on() -> None:
    before = operation('1.19', 'post', '/resource_providers')['responses']

    assert '200' not in before
    assert 'content' not in before['201']
    assert schema_of_answer('1.20', 'post', '/resource_providers')['type'] == 'object'


def test_document_has_usages_by_type_from_their_version_on() -> None:
    before = schema_of_answer('1.37', 'get', '/usages')['properties']['usages']
    since = schema_of_answer('1.38', 'get', '/usages')['properties']['usages']

    assert [value['type'] for value in before['patternProperties'].values()] == ['integer']
    assert [value['type'] for value in since['patternProperties'].values()] == ['object']


def test_document_describes_both_generations_of_put_resource_class() -> None:
    path = '/resource_classes/{name}'

    assert 'requestBody' in operation('1.6', 'put', path)
    assert 'requestBody' not in operation('1.7', 'put', path)
    assert {'201', '204'} <= operation('1.7', 'put', path)['responses'].keys()


def test_document_has_cache_headers_from_their_version_on() -> None:
    before = operation('1.14', 'get', '/traits')['responses']['200']['headers']
    since = operation('1.15', 'get', '/traits')['responses']['200']['headers']

    assert since.keys() - before.keys() == {'Cache-Control', 'Last-Modified'}


def test_error_has_a_code_from_the_version_of_codes_on() -> None:
    def error(version: str, name: str) -> dict[str, Any]:
        schemas = described(version)['components']['schemas']
        found: dict[str, Any] = schemas[name]['properties']['errors']['items']
        return found

    assert 'code' not in error('1.22', 'Errors')['properties']
    assert 'placement.concurrent_update' in error('1.23', 'Errors')['properties']['code']['enum']
    assert 'code' in error('1.23', 'Errors')['required']
    # A wrong version header is told before there is a version.
    assert 'code' not in error('1.23', 'ErrorsBeforeVersion')['required']
    assert 'max_version' in error('1.23', 'ErrorsBeforeVersion')['properties']


def test_document_lists_the_error_statuses_of_an_operation() -> None:
    show = operation('latest', 'get', '/resource_providers/{uuid}')['responses'].keys()
    claim = operation('latest', 'put', '/allocations/{consumer_uuid}')['responses'].keys()

    assert show == {'200', '400', '401', '403', '404', '406', '503'}
    assert claim == {'204', '400', '401', '403', '404', '406', '409', '415', '503'}


@pytest.mark.parametrize(
    ('text', 'error'),
    [('1', errors.InvalidVersion), ('1.999', errors.UnacceptableVersion)],
)
def test_unknown_version_has_no_document(text: str, error: type[errors.PlacementError]) -> None:
    with pytest.raises(error):
        document.version_named(text)
