# SPDX-License-Identifier: Apache-2.0
"""Names that Keystone and nova have for what the page knows by id."""

import json
import threading
import time
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from keystoneauth1 import session, token_endpoint
from openstack import connection
from osc_lib import exceptions

from osc_placement_insight import page_names
from osc_placement_insight.page_names import PageNames
from osc_placement_insight.tests.audit import nova
from osc_placement_insight.tests.audit.clouds import running_nova
from osc_placement_insight.tests.audit.nova import Nova, Server

ZONE, RACK = (f'a{number}000000-0000-4000-8000-00000000000a' for number in (1, 2))
SERVERS = [f'd1000000-0000-4000-8000-00000000000{number}' for number in range(5)]
PROJECTS = {'p1': 'shop', 'p2': 'mail'}


def keystone(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The list of projects, as the reference of the Identity API has it."""
    start_response('200 OK', [('Content-Type', 'application/json')])
    rows = [{'id': id_, 'name': name} for id_, name in PROJECTS.items()]
    assert (environ['REQUEST_METHOD'], environ['PATH_INFO']) == ('GET', '/v3/projects')
    return [json.dumps({'projects': rows, 'links': {}}).encode()]


@pytest.fixture
def known() -> Nova:
    """A nova with two aggregates, two flavors and five servers, of which it tells two at once."""
    made = Nova(max_limit=2)
    made.aggregates.append(nova.aggregate(ZONE, 'first', 'az1', 'compute1'))
    made.aggregates.append(nova.aggregate(RACK, 'rack 7', None, 'compute1'))
    made.flavors.append(nova.flavor(4, 8192, 40, name='m1.large'))
    made.flavors.append(nova.flavor(1, 512, 0, name='gpu', resources__VGPU='1'))
    for number, uuid in enumerate(SERVERS):
        made.servers[uuid] = Server(uuid, f'web-{number}', made.flavors[0], 'compute1')
    return made


@pytest.fixture
def manager(known: Nova) -> Iterator[Any]:
    """What the client has for this cloud."""
    with running_nova(known) as compute, running_nova(keystone) as identity:
        credentials = token_endpoint.Token(compute, 'admin')
        sdk = connection.Connection(
            session=session.Session(credentials),
            compute_endpoint_override=compute,
            identity_endpoint_override=f'{identity}/v3',
        )
        yield types.SimpleNamespace(session=sdk.session, sdk_connection=sdk)


def read(names: PageNames) -> Mapping[str, Any]:
    """Everything, once it is known."""
    while not (found := names.known())['complete']:
        time.sleep(0.01)
    return found


def test_names_are_those_of_keystone_and_nova(manager: Any) -> None:
    found = read(PageNames(page_names.sources(manager, lambda: False)))

    assert found == {
        'aggregates': {ZONE: 'first', RACK: 'rack 7'},
        'zones': {ZONE: 'az1'},
        'flavors': {
            'gpu': 'resources=MEMORY_MB:512,VCPU:1,VGPU:1&root_required=!COMPUTE_STATUS_DISABLED',
            'm1.large': 'resources=DISK_GB:40,MEMORY_MB:8192,VCPU:4'
            '&root_required=!COMPUTE_STATUS_DISABLED',
        },
        'projects': PROJECTS,
        'servers': {uuid: f'web-{number}' for number, uuid in enumerate(SERVERS)},
        'problems': {},
        'complete': True,
    }


def test_what_may_not_be_read_has_no_names_and_a_reason(manager: Any, known: Nova) -> None:
    known.is_admin = False
    found = read(PageNames(page_names.sources(manager, lambda: False)))

    assert 'servers' not in found
    assert {'aggregates', 'flavors', 'projects'} < found.keys()
    assert found['problems'].keys() == {'servers'}
    assert 'needs the rights of an administrator' in found['problems']['servers']


def test_nobody_waits_for_names_and_each_source_is_told_when_it_is_read() -> None:
    may_go_on = threading.Event()

    def slow() -> page_names.Names:
        assert may_go_on.wait(30)
        return {'servers': {'s': 'web'}}

    names = PageNames({'projects': lambda: {'projects': PROJECTS}, 'servers': slow})
    while 'projects' not in (found := names.known()):
        time.sleep(0.01)
    assert found == {'projects': PROJECTS, 'problems': {}, 'complete': False}
    may_go_on.set()
    assert read(names)['servers'] == {'s': 'web'}


def test_names_are_read_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def failing_once() -> page_names.Names:
        reads.append(time.monotonic())
        if len(reads) == 1:
            raise exceptions.CommandError('Not now.')
        return {'projects': PROJECTS}

    names = PageNames({'projects': failing_once})
    assert read(names) == {'problems': {'projects': 'Not now.'}, 'complete': True}
    assert names.known()['complete']
    assert len(reads) == 1
    monkeypatch.setattr(page_names, 'KEPT', 0)
    while 'projects' not in (found := names.known()):
        # What was known before is kept meanwhile.
        assert found['complete']
        time.sleep(0.01)
    assert found['problems'] == {}
