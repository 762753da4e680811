# SPDX-License-Identifier: Apache-2.0
"""Schemathesis reads the OpenAPI document, calls the service, and finds nothing to object to.

It makes requests that fit the document and requests that do not. Half of them are about things
that exist, which nobody would hit upon by chance.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks

from placement import microversions
from placement.cmd.openapi import document
from placement.microversions import NEWEST
from placement.tests.functional.fixtures import applications, client, clouds

#: How many requests of each kind an operation gets.
EXAMPLES = int(os.environ.get('PLACEMENT_TEST_OPENAPI_EXAMPLES', '3'))

# All versions where asked for; otherwise those around which bodies have changed most.
VERSIONS = [str(api.version) for api in microversions.APIS.values()]
EVERY_VERSION = os.environ.get('PLACEMENT_TEST_OPENAPI_VERSIONS') == 'all'
CHOSEN = VERSIONS if EVERY_VERSION else ['1.0', '1.12', '1.28', NEWEST]

CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]

PROVIDER, CHILD, CONSUMER = map(clouds.uuid_of, ('host', 'node', 'consumer'))

# What is known to exist, by variable of a path.
EXISTING: Mapping[str, list[str]] = {
    'uuid': [PROVIDER, CHILD],
    'consumer_uuid': [CONSUMER],
    'resource_class': ['VCPU', 'MEMORY_MB'],
    'name': ['CUSTOM_GOLD', 'VCPU', 'HW_CPU_X86_AVX2'],
}
QUERIES: Mapping[str, list[dict[str, str]]] = {
    'allocation_candidates.list': [
        {'resources': 'VCPU:1,MEMORY_MB:64'},
        {'resources': 'VCPU:1', 'limit': '1', 'required': 'HW_CPU_X86_AVX2'},
        {'resources1': 'VCPU:1', 'resources2': 'VCPU:1', 'group_policy': 'none'},
    ],
    'insight.explain': [
        {'resources': 'VCPU:9', 'provider': 'host'},
        {'resources1': 'VCPU:1', 'resources2': 'VCPU:9', 'group_policy': 'isolate'},
    ],
    'insight.capacity': [{'resources': 'VCPU:1,MEMORY_MB:64', 'by': 'root'}],
    'insight.unmet_demand': [{'since': '2026-01-01T00:00:00Z', 'page_limit': '1'}],
    'insight.history': [{'since': '2026-01-01T00:00:00Z', 'page_limit': '1'}],
    'resource_providers.list': [{'resources': 'VCPU:1', 'in_tree': CHILD}],
    'usages.show': [{'project_id': 'p'}],
    'traits.list': [{'associated': 'true'}],
}


CLOUD = tuple(
    clouds.Provider(
        name, {'VCPU': 8, 'MEMORY_MB': 512}, ('HW_CPU_X86_AVX2',), ('aggregate',), parent
    )
    for name, parent in (('host', None), ('node', 'host'))
)


def fill(service: client.Client) -> None:
    """Write a tree with something of everything."""
    clouds.build(CLOUD, service)
    for path in ('/traits/CUSTOM_GOLD', '/resource_classes/CUSTOM_GOLD'):
        assert service.send('PUT', path, version=NEWEST).status == 201
    claim = clouds.claim({CHILD: {'VCPU': 2}}, project_id='p')
    assert service.send('PUT', f'/allocations/{CONSUMER}', claim, version=NEWEST).status == 204


@pytest.fixture(scope='module')
def service() -> Iterator[applications.Service]:
    running = applications.Service()
    fill(client.Client(running.application))
    yield running
    running.stop()


def operations(version: str) -> Iterator[Any]:
    text = json.dumps(document.document(document.version_named(version)))
    found: Any = schemathesis.openapi.from_dict(json.loads(text)).get_all_operations()
    for result in found:
        yield result.ok()


@pytest.mark.parametrize('mode', list(schemathesis.GenerationMode), ids=lambda mode: mode.name)
@pytest.mark.parametrize('version', CHOSEN)
def test_schemathesis_finds_no_violation(
    version: str, mode: schemathesis.GenerationMode, service: applications.Service
) -> None:
    for operation in operations(version):
        if mode.is_positive or brings_something(operation) or has_strict_path(operation):
            call_many_times(operation, version, mode, service)


def brings_something(operation: Any) -> bool:
    """Whether there is more to a request than its path and headers."""
    return bool(operation.body or operation.query)


def has_strict_path(operation: Any) -> bool:
    """Whether a path can miss the document; what is only looked up can have any form."""
    schemas = [parameter.definition['schema'] for parameter in operation.path_parameters]
    return any(schema.keys() & {'format', 'pattern'} for schema in schemas)


def call_many_times(
    operation: Any, version: str, mode: schemathesis.GenerationMode, service: applications.Service
) -> None:
    headers = {'OpenStack-API-Version': f'placement {version}', 'X-Auth-Token': 'admin'}

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(strategies.data())
    def call(data: strategies.DataObject) -> None:
        known = known_parts(operation, mode, data)
        strategy = operation.as_strategy(generation_mode=mode, headers=headers, **known)
        case = data.draw(strategy)
        # WebOb takes a semicolon for an ampersand, as forms once did, so that what a parameter
        # is ends there. What the service is then asked is not what the case meant to ask.
        hypothesis.assume(';' not in str(case.query))
        case.call_and_validate(app=service.application, checks=CHECKS)

    call()


def known_parts(
    operation: Any, mode: schemathesis.GenerationMode, data: strategies.DataObject
) -> dict[str, Any]:
    """Of half of the requests, what is to be about things that exist."""
    if not data.draw(strategies.booleans()):
        return {}
    known: dict[str, Any] = {}
    names = [parameter.name for parameter in operation.path_parameters]
    # Of a wrong request something else has to be wrong then.
    if names and (mode.is_positive or brings_something(operation)):
        known['path_parameters'] = {
            name: data.draw(strategies.sampled_from(EXISTING[name])) for name in names
        }
    queries = QUERIES.get(operation.definition.raw['operationId'])
    if queries and mode.is_positive:
        known['query'] = data.draw(strategies.sampled_from(queries))
    return known
