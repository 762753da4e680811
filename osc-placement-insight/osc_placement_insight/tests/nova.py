# SPDX-License-Identifier: Apache-2.0
"""A nova that knows flavors, and the client of a cloud that has it."""

import json
import pathlib
from collections.abc import Iterable, Sequence
from wsgiref.types import StartResponse, WSGIEnvironment

import fixtures
import requests
import yaml
from requests import adapters

from osc_placement_insight.flavors import Flavor
from osc_placement_insight.tests.client import Client
from placement import direct

URL = 'http://nova.example/v2.1'
VERSION = {
    'id': 'v2.1',
    'status': 'CURRENT',
    'version': '2.96',
    'min_version': '2.1',
    'links': [{'rel': 'self', 'href': f'{URL}/'}],
}


class Nova(fixtures.Fixture):
    """Answers at `URL` to every client of the process."""

    def __init__(self, flavors: Sequence[Flavor]) -> None:
        super().__init__()
        self._flavors = {flavor.name: flavor for flavor in flavors}

    def setUp(self) -> None:
        super().setUp()
        others = requests.Session.get_adapter

        def get_adapter(session: requests.Session, url: str) -> adapters.BaseAdapter:
            if url.startswith(URL):
                return direct.InProcess(self)
            return others(session, url)

        self.useFixture(fixtures.MonkeyPatch('requests.Session.get_adapter', get_adapter))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The version document, the list of flavors, or one of them."""
        name = environ['PATH_INFO'].removeprefix('/v2.1').strip('/')
        answer: object = {'version': VERSION}
        status = '200 OK'
        if name in ('flavors', 'flavors/detail'):
            answer = {'flavors': [_shown(flavor) for flavor in self._flavors.values()]}
        elif name:
            _, identity, *extra = name.split('/')
            flavor = self._flavors.get(identity)
            answer = {'itemNotFound': {'code': 404}}
            status = '200 OK' if flavor else '404 Not Found'
            if flavor:
                shown = _shown(flavor)
                answer = {'extra_specs': shown['extra_specs']} if extra else {'flavor': shown}
        start_response(status, [('Content-Type', 'application/json')])
        return [json.dumps(answer).encode()]


def _shown(flavor: Flavor) -> dict[str, object]:
    """A flavor at microversion 2.61 or later, with its extra specs."""
    return {
        'id': flavor.name,
        'original_name': flavor.name,
        'name': flavor.name,
        'vcpus': flavor.vcpus,
        'ram': flavor.ram,
        'disk': flavor.disk,
        'OS-FLV-EXT-DATA:ephemeral': flavor.ephemeral,
        'swap': flavor.swap,
        'extra_specs': dict(flavor.extra_specs),
    }


def client_of(placement: str, directory: pathlib.Path) -> Client:
    """A client whose `clouds.yaml` names this Placement, and nova."""
    cloud = {
        'auth_type': 'admin_token',
        'auth': {'endpoint': placement, 'token': 'admin'},
        'compute_endpoint_override': URL,
    }
    path = directory / 'clouds.yaml'
    path.write_text(yaml.safe_dump({'clouds': {'here': cloud}}))
    return Client({'OS_CLIENT_CONFIG_FILE': str(path), 'OS_CLOUD': 'here'})
