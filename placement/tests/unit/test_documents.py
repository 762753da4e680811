# SPDX-License-Identifier: Apache-2.0
"""The reference is complete, and the samples of the documents match the service."""

import dataclasses
import functools
import importlib.util
import json
import pathlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from docutils import nodes

from placement.routes import installed_surface
from placement.tests.functional.conformance import conforming
from placement.tests.functional.fixtures import applications, client
from placement.tests.unit import samples, test_layers

REPOSITORY = applications.repository_path('.').resolve()
# The request whose meaning is another one since a version.
CHANGED = 'PUT /resource_classes/{name}'
REFERENCE = sorted((REPOSITORY / 'api-ref' / 'source').glob('*.rst'))
# Pages that show how to go about something, by examples that are run.
GUIDES = [
    REPOSITORY / 'doc' / 'source' / f'{name}.rst'
    for name in (
        'how-to-model', 'how-to-ask', 'what-conflicts-mean', 'no-valid-host', 'who-took-it',
        'what-if', 'maintenance',
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
    served = {f'{route.method} {route.path}' for route in installed_surface().routes if route.path}
    assert served - described == set()


def test_the_reference_has_the_parameters_of_each_request_that_takes_some() -> None:
    for request, versions, section in described_requests():
        if request == 'GET /healthcheck':
            continue
        until = versions.get('max_version', '')
        since = versions['min_version'] if request == CHANGED and not until else ''
        bounds = {'since': since, 'until': until}
        taken = parameters(request, **bounds)
        shown = [
            (one['request'], bounds | one['versions'])
            for one in section.findall(samples.Parameters)
        ]
        assert shown == ([(request, bounds)] if taken else []), request


def test_parameters_have_the_versions_that_brought_them() -> None:
    search = {one.name: one.since for one in parameters('GET /allocation_candidates')}
    assert search['resources'] == ''
    assert (search['limit'], search['in_tree'], search['same_subtree']) == ('1.16', '1.31', '1.36')
    assert search['resources{S}, required{S}, member_of{S}, in_tree{S}'] == '1.25'

    claim = {one.name: one for one in parameters('PUT /allocations/{consumer_uuid}')}
    assert (claim['allocations'].since, claim['consumer_uuid'].since) == ('', '')
    assert (claim['project_id'].since, claim['consumer_generation'].since) == ('1.8', '1.28')
    assert claim['consumer_generation'].type == 'integer or null'
    assert (claim['consumer_uuid'].place, claim['project_id'].place) == ('path', 'body')
    assert (claim['project_id'].is_required, claim['mappings'].is_required) == (True, False)

    assert [one.name for one in parameters(CHANGED, until='1.6')] == ['name', 'name']
    assert [one.name for one in parameters(CHANGED, since='1.7')] == ['name']


@functools.cache
def extension() -> ModuleType:
    """The extension of Sphinx that makes the tables."""
    path = REPOSITORY / 'doc' / 'extensions' / 'request_parameters.py'
    spec = importlib.util.spec_from_file_location('request_parameters', path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parameters(request: str, since: str = '', until: str = '') -> list[Any]:
    found: list[Any] = extension().parameters(request, since, until)
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
    layers, *_ = tree.findall(nodes.table)
    shown = {}
    for row in layers.findall(nodes.row):
        number, modules = row.children
        for module in modules.findall(nodes.literal):
            shown[module.astext()] = int(number.astext())
    assert shown == test_layers.ROWS
