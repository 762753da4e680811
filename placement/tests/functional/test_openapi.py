# SPDX-License-Identifier: Apache-2.0
"""Schemathesis reads the OpenAPI document, calls the service, and finds nothing to object to.

It makes requests that fit the document and requests that do not. Half of them are about things
that exist, which nobody would hit upon by chance.
"""

import json
import os
from collections.abc import Iterator
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
from placement.routes import installed_surface
from placement.tests.functional.fixtures import applications, client, valid_requests

#: How many requests of each kind an operation gets.
EXAMPLES = int(os.environ.get('PLACEMENT_TEST_OPENAPI_EXAMPLES', '3'))

# All versions where asked for, as `.ci/run` does; otherwise an old one and the newest.
VERSIONS = [str(api.version) for api in microversions.APIS.values()]
EVERY_VERSION = os.environ.get('PLACEMENT_TEST_OPENAPI_VERSIONS') == 'all'
CHOSEN = VERSIONS if EVERY_VERSION else ['1.12', NEWEST]

CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]


@pytest.fixture(scope='module')
def service() -> Iterator[applications.Service]:
    running = applications.Service()
    valid_requests.populate(client.Client(running.application))
    yield running
    running.stop()


def operations(version: str) -> Iterator[Any]:
    surface = installed_surface()
    text = json.dumps(document.document(surface, document.version_named(surface, version)))
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
    """True if there is more to a request than its path and headers."""
    return bool(operation.body or operation.query)


def has_strict_path(operation: Any) -> bool:
    """True if a path can miss the document; what is only looked up can have any form."""
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
    """Names and uuids of existing objects, for half of the requests."""
    if not data.draw(strategies.booleans()):
        return {}
    known: dict[str, Any] = {}
    # Of a wrong request something else has to be wrong then.
    names = valid_requests.names(operation.path)
    if names and (mode.is_positive or brings_something(operation)):
        known['path_parameters'] = {
            name: data.draw(strategies.sampled_from(values)) for name, values in names.items()
        }
    query = valid_requests.query(operation.definition.raw['operationId'], valid_requests.NEWEST)
    if query and mode.is_positive:
        known['query'] = dict(query)
    return known
