# SPDX-License-Identifier: Apache-2.0
"""The service in this process, for clients of the benchmark."""

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.types import WSGIApplication

import pytest
from webob import Request

from benchmarks.client import MICROVERSION, Answer, Client
from placement import conf as placement_conf
from placement import deploy
from placement.db.engine.database import Database


class InProcess(Client):
    """A client that needs no connection."""

    def __init__(self, application: WSGIApplication) -> None:
        super().__init__(port=0)
        self._application = application

    def request(self, method: str, path: str, body: Any = None) -> Answer:
        request = Request.blank(path, method=method)
        request.headers['X-Auth-Token'] = 'admin'
        request.headers['X-Roles'] = 'admin,service'
        request.headers['OpenStack-API-Version'] = f'placement {MICROVERSION}'
        if body is not None:
            request.content_type = 'application/json'
            request.body = json.dumps(body).encode()
        response = request.get_response(self._application)
        self.statuses[response.status_int] += 1
        return Answer(response.status_int, response.body)


Serve = Callable[[str], tuple[InProcess, str]]


@pytest.fixture
def serve(tmp_path: pathlib.Path) -> Iterator[Serve]:
    """Makes the service on a database of its own: a client, and the URL of the database."""
    databases: list[Database] = []

    def make(name: str) -> tuple[InProcess, str]:
        conf = placement_conf.ConfigOpts()
        placement_conf.register_opts(conf)
        url = f'sqlite:///{tmp_path}/{name}.sqlite'
        conf.set_override('connection', url, 'placement_database')
        conf.set_override('auth_strategy', 'noauth2', 'api')
        conf.set_override('sync_on_startup', True, 'placement_database')
        conf.set_override('enforce_new_defaults', False, 'oslo_policy')
        conf([], project='placement', default_config_files=[])
        databases.append(Database.from_conf(conf))
        return InProcess(deploy.application_on(databases[-1], conf)), url

    yield make
    for database in databases:
        database.dispose()
