# SPDX-License-Identifier: Apache-2.0
"""A cloud of nova itself, for tests that run in an environment that has nova.

The functional fixtures of nova run its API, scheduler, conductor and computes in one process,
with a driver that pretends to run servers, and our service as their placement.
"""

from __future__ import annotations

import pathlib
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import requests
import sqlalchemy.exc
from keystoneauth1 import session, token_endpoint
from nova.tests.functional import integrated_helpers
from osc_placement.http import SessionClient

from osc_placement_insight.compute import Compute
from osc_placement_insight.service import Service

HOSTS = ('host1', 'host2', 'host3')
PASTE = pathlib.Path(sys.prefix, 'etc', 'nova', 'api-paste.ini')


class NovaClient:
    """Nova as an administrator reaches it."""

    def __init__(self, api: Any) -> None:
        self._url = api.base_url
        self._identity = {
            'X-Auth-User': api.auth_user,
            'X-User-Id': api.auth_user,
            'X-Auth-Project-Id': api.project_id,
            'X-Roles': ','.join(api.roles),
        }

    def request(
        self, url: str, method: str, headers: Mapping[str, str], **options: Any
    ) -> requests.Response:
        """The answer; options of keystoneauth make no difference here."""
        return requests.request(method, self._url + url, headers={**headers, **self._identity})


def placement_client(fixture: Any) -> SessionClient:
    """Placement as an administrator reaches it."""
    plugin = token_endpoint.Token(fixture.endpoint, fixture.token)
    return SessionClient(session.Session(plugin), {'service_type': 'placement'}, '1.39')


class CloudOfNova(integrated_helpers.ProviderUsageBaseTestCase):
    """A cloud of three hosts."""

    compute_driver = 'fake.MediumFakeDriver'
    microversion = 'latest'

    def setUp(self) -> None:
        self.flags(api_paste_config=str(PASTE), group='wsgi')
        # Pages of three show that pages are followed.
        self.flags(max_limit=3, group='api')
        super().setUp()
        # Nova makes errors of these; it is older than this SQLAlchemy.
        warnings.simplefilter('ignore', sqlalchemy.exc.SADeprecationWarning)
        for host in HOSTS:
            self._start_compute(host)
        sizes = {'memory_mb': 512, 'disk': 10, 'ephemeral': 2, 'swap': 600}
        self.flavor = self._create_flavor(vcpu=1, **sizes)
        self.larger_flavor = self._create_flavor(vcpu=2, **sizes)
        self.placement_client = placement_client(self.placement.fixture)
        self.reader = Service(self.placement_client)
        self.nova = NovaClient(self.admin_api)
        self.compute_api = Compute(self.nova)

    def server(self, name: str) -> dict[str, Any]:
        """A new server that runs on some host."""
        server: dict[str, Any] = self._create_server(
            name=name, flavor_id=self.flavor, networks='none'
        )
        return server

    def shown(self, server: Mapping[str, Any]) -> dict[str, Any]:
        """A server as it is now."""
        shown: dict[str, Any] = self.api.get_server(server['id'])
        return shown
