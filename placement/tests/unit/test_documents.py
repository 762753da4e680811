# SPDX-License-Identifier: Apache-2.0
"""The reference is complete, and the samples of the documents match the service."""

import dataclasses
import functools
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from docutils import nodes

from placement import microversions, routes
from placement.cmd.openapi import document
from placement.tests.functional.conformance import conforming
from placement.tests.functional.fixtures import applications, client
from placement.tests.unit import samples, test_layers

REPOSITORY = applications.repository_path('.').resolve()
PARAMETERS = REPOSITORY / 'api-ref' / 'source' / 'parameters.yaml'
GROUPS = 'resources{S}, required{S}, member_of{S}, in_tree{S}'
REFERENCE = sorted((REPOSITORY / 'api-ref' / 'source').glob('*.rst'))
# Pages that show how to go about something, by examples that are run.
GUIDES = [
    REPOSITORY / 'doc' / 'source' / f'{name}.rst'
    for name in (
        'how-to-model', 'how-to-ask', 'what-conflicts-mean', 'no-valid-host', 'who-took-it',
        'what-if', 'survival', 'drains',
    )
]  # fmt: skip
# The reshaper is for services, everything else for administrators as well.
CALLER = {'x-auth-token': 'admin', 'x-roles': 'admin,service', 'accept': '*/*'}


def name_of(path: pathlib.Path) -> str:
    return str(path.relative_to(REPOSITORY))


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[client.Client]:
    names = tmp_path_factory.mktemp('names')
    (names / 'aggregates').write_text('5a06eba3-3b6e-4f7c-9d2a-1c0b8e7f6a01: az1')
    (names / 'requests').write_text('m1.large: resources=VCPU:4,MEMORY_MB:8192')
    # The rest is on where nobody says otherwise.
    running = applications.Service(
        {
            ('history', 'enabled'): True,
            ('metrics', 'aggregate_names_file'): str(names / 'aggregates'),
            ('metrics', 'requests_file'): str(names / 'requests'),
        }
    )
    yield client.Client(conforming(running.application), CALLER)
    running.stop()


def send(service: client.Client, sample: samples.Sample) -> client.Answer:
    body = sample.body.encode() if sample.body else None
    return service.send(sample.method, sample.path, body, headers=sample.headers)


def names(service: client.Client) -> dict[str, str]:
    """The names of all providers, by their uuids."""
    found = service.send('GET', '/resource_providers').json['resource_providers']
    return {provider['uuid']: provider['name'] for provider in found}


def described_requests() -> Iterator[tuple[str, dict[str, str], nodes.section]]:
    """Every request of the reference with its range of versions and the section about it."""
    for path in REFERENCE:
        tree, _ = samples.parse_page(path.read_text())
        # A request is described by the section that starts with it.
        for section in tree.findall(nodes.section):
            _title, first, *_ = section.children
            if isinstance(first, nodes.paragraph) and isinstance(first.children[0], nodes.literal):
                yield first.children[0].astext(), first.get('options', {}), section


def test_every_request_of_the_routes_is_described() -> None:
    described = {request for request, _versions, _section in described_requests()}
    # The empty path is the root document of a service that is mounted below a prefix.
    served = {f'{route.method} {route.path}' for route in routes.ROUTES if route.path}
    assert served - described == set()


def test_the_reference_has_the_parameters_of_the_openapi_documents() -> None:
    descriptions = yaml.load(PARAMETERS.read_text(), Loader=yaml.BaseLoader)
    for request, versions, section in described_requests():
        if request == 'GET /healthcheck':
            continue
        told = {
            name: (text['in'], text['required'] == 'true', text.get('min_version'))
            for node in section.findall(samples.Parameters)
            for name, text in ((name, descriptions[key]) for name, key in node['names'])
        }
        since = versions.get('min_version', '1.0')
        assert told == parameters_of(request, since, versions.get('max_version')), request


@functools.cache
def openapi(version: str) -> dict[str, Any]:
    return document.document(document.version_named(version))


def parameters_of(request: str, since: str, until: str | None) -> dict[str, Any]:
    """Where each parameter is, whether it is required, and since when, if later than `since`.

    As of the version `until`, or the newest.
    """
    method, path = request.split()
    apis = list(microversions.APIS.values())
    versions = [str(api.version) for api in apis]
    first = versions.index(since)
    last = versions.index(until) if until else len(versions) - 1
    brought: dict[str, str | None] = {}
    for api in apis[first : last + 1]:
        operation = openapi(str(api.version))['paths'][path][method.lower()]
        found = parameters_of_operation(operation)
        for name in found:
            brought.setdefault(name, None if str(api.version) == since else str(api.version))
    return {name: (*place, brought[name]) for name, place in found.items()}


def parameters_of_operation(operation: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    """Where each parameter is and whether it is required, the version header excepted."""
    found = {
        GROUPS if parameter['name'] == 'groups' else parameter['name']: (
            parameter['in'],
            parameter.get('required', False),
        )
        for parameter in operation['parameters']
        if parameter['in'] != 'header'
    }
    if 'requestBody' in operation:
        body = operation['requestBody']['content']['application/json']['schema']
        for name in body.get('properties', ()):
            found[name] = ('body', name in body.get('required', ()))
    return found


@pytest.mark.parametrize('path', [*REFERENCE, *GUIDES], ids=name_of)
def test_samples_of_a_page_match_the_answers(path: pathlib.Path, service: client.Client) -> None:
    token = ''
    for sample in samples.samples_of_page(path.read_text()):
        sample = dataclasses.replace(sample, path=sample.path.replace('TOKEN', token))
        answer = send(service, sample)
        request = f'{sample.method} {sample.path}'
        if sample.status is None:
            assert answer.status < 400, f'{request} is to prepare: {answer.text}'
            continue
        assert answer.status == sample.status, f'{request}: {answer.text}'
        headers = {name: answer.headers.get(name.lower()) for name in sample.answer_headers}
        assert samples.differences(dict(sample.answer_headers), headers, request) == []
        if sample.candidates is not None:
            differ = samples.candidates_differ(sample.candidates, answer.json, names(service))
            assert differ == '', request
            continue
        documented = json.loads(sample.answer) if sample.answer else None
        answered = answer.json if answer.body else None
        token = (answered or {}).get('token') or token
        assert samples.differences(documented, answered, request) == []


def test_the_architecture_page_has_the_layers_that_are_checked() -> None:
    tree, _ = samples.parse_page((REPOSITORY / 'doc' / 'source' / 'architecture.rst').read_text())
    (layers,) = tree.findall(nodes.table)
    shown = {}
    for row in layers.findall(nodes.row):
        number, modules = row.children
        for module in modules.findall(nodes.literal):
            shown[module.astext()] = int(number.astext())
    assert shown == test_layers.ROWS
