# SPDX-License-Identifier: Apache-2.0
"""The assembly of the service from its parts.

Specification: http, "Layers"; data_model, "Synchronisation at start-up".
"""

import contextlib
import functools
import gc
import io
import pathlib
import sqlite3
from typing import Any
from wsgiref.types import WSGIApplication

import pytest
import sqlalchemy as sa
import webob
from oslo_db import exception as db_errors

from placement import deploy, extension
from placement.conf import ConfigOpts
from placement.db.schema import revisions
from placement.feed.sink import open_database
from placement.metrics.recorder import Recorder
from placement.microversions import NEWEST
from placement.tests.unit.middleware.samples import ask, configuration, error_of


def configured(database: pathlib.Path, **options: object) -> ConfigOpts:
    """A ready configuration without authentication; options are ``group__name``."""
    of_database: dict[str, object] = {
        'placement_database__connection': f'sqlite:///{database}',
        'api__auth_strategy': 'noauth2',
    }
    return configuration(**of_database | options)


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / 'placement.sqlite'


def load(path: pathlib.Path, **options: object) -> WSGIApplication:
    return deploy.loadapp(configured(path, placement_database__sync_on_startup=True, **options))


def layers(path: pathlib.Path, **options: object) -> list[str]:
    """The names of the classes that `deploy` wraps an application in, outermost first."""
    load(path)
    conf = configured(path, **options)
    extensions = extension.list_enabled(conf)
    with open_database(conf) as database:
        if conf.metrics.enabled:
            database.count_with(Recorder(conf.metrics.directory))
        service = deploy.service_on(database, conf, extensions)
        rows = deploy.middleware(service, extensions, lambda: None)
        return [getattr(row, 'func', row).__name__ for row in rows if row is not None]


def test_request_passes_the_layers_of_the_specification_in_their_order(path: pathlib.Path) -> None:
    assert layers(path) == [
        'AfterAnswer', 'RequestMethod', 'RequestLog', 'BodyLimit', 'with_healthcheck', 'NoAuth',
        'ContextBuilder', 'FaultBarrier',
    ]  # fmt: skip


def test_options_add_layers_at_their_places(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    options = {
        'metrics__enabled': True,
        'metrics__directory': str(tmp_path),
        'oslo_middleware__enable_proxy_headers_parsing': True,
        'ui__enabled': True,
        'cors__allowed_origin': ['https://example.org'],
        'api__auth_strategy': 'keystone',
    }
    assert layers(path, **options) == [
        'AfterAnswer', 'RequestMethod', 'HTTPMetrics', 'HTTPProxyToWSGI', 'RequestLog',
        'BodyLimit', 'with_healthcheck', 'AtPath', 'Page', 'CORS', 'Keystone', 'ContextBuilder',
        'FaultBarrier',
    ]  # fmt: skip


def test_service_without_tables_names_the_command_and_does_not_start(path: pathlib.Path) -> None:
    with pytest.raises(revisions.MissingSchemaError, match='placement-manage db sync'):
        deploy.loadapp(configured(path))


def test_service_on_an_older_schema_names_the_command_and_works_after_it(
    path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Drop the tables of this service, which an upstream database lacks before `db sync`."""
    load(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table in ('placement_alembic_version', 'placement_provider_changes'):
            connection.execute(f'DROP TABLE {table}')
    # The name of the project is ignored.
    application = deploy.loadapp(configured(path), 'placement')

    assert 'Run "placement-manage db sync".' in caplog.text
    search = '/allocation_candidates?resources=VCPU:1'
    headers = {'X_Auth_Token': 'admin', 'OpenStack_API_Version': f'placement {NEWEST}'}
    refused = ask(application, search, **headers)
    assert refused.status_int == 503
    assert 'placement_provider_changes' not in refused.text
    assert ask(application, '/healthcheck').status_int == 503
    load(path)
    assert ask(application, '/healthcheck').status_int == 200
    assert ask(application, search, **headers).status_int == 200


def test_service_that_loses_its_connection_while_it_starts_begins_again(
    path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(path)
    versions, lost = revisions.versions, [db_errors.DBConnectionError()]

    def read(engine: sa.Engine) -> list[str | None]:
        if lost:
            raise lost.pop()
        return versions(engine)

    monkeypatch.setattr(revisions, 'versions', read)
    options = {'max_retries': 2, 'retry_interval': 0}
    of_database = {f'placement_database__{name}': value for name, value in options.items()}
    assert ask(deploy.loadapp(configured(path, **of_database)), '/').status_int == 200


@pytest.fixture
def unclosed(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The connections to SQLite that have been opened, and not yet closed."""
    found: set[int] = set()

    class Connection(sqlite3.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            found.add(id(self))

        def close(self) -> None:
            found.remove(id(self))
            super().close()

    connect = functools.partial(sqlite3.connect, factory=Connection)
    monkeypatch.setattr(sqlite3.dbapi2, 'connect', connect)
    return found


def test_connections_are_closed_with_the_application_and_when_it_cannot_start(
    path: pathlib.Path, unclosed: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    application = load(path)
    assert ask(application, '/resource_providers', X_Auth_Token='admin').status_int == 200
    assert unclosed
    del application
    gc.collect()
    assert not unclosed

    def fail(_engine: object) -> None:
        assert unclosed
        raise revisions.MissingSchemaError

    monkeypatch.setattr(revisions, 'check', fail)
    with pytest.raises(revisions.MissingSchemaError):
        load(path)
    assert not unclosed


def test_request_without_a_method_is_not_allowed(path: pathlib.Path) -> None:
    request = webob.Request.blank('/traits', headers={'X-Auth-Token': 'admin'})
    del request.environ['REQUEST_METHOD']
    response = request.get_response(load(path))

    assert response.status_int == 405
    assert error_of(response)['status'] == 405


@pytest.mark.parametrize('odd', ['//', '\n', '/traits/\xff', '/traits/a\0b'])
def test_path_that_no_route_has_is_not_found(path: pathlib.Path, odd: str) -> None:
    """Send paths that gabbi cannot send, and one that Apache refuses."""
    assert ask(load(path), odd, X_Auth_Token='admin').status_int == 404


def test_body_is_refused_before_anybody_asks_who_sends_it(path: pathlib.Path) -> None:
    request = webob.Request.blank('/traits/CUSTOM_A', method='PUT')
    request.environ['CONTENT_LENGTH'] = str(1 << 30)
    response = request.get_response(load(path))

    assert response.status_int == 413
    assert error_of(response)['request_id'] == response.headers['x-openstack-request-id']


def test_body_in_chunks_is_refused_beyond_the_bound(path: pathlib.Path) -> None:
    application = load(path, placement__max_request_body_size=64 << 10)
    request = webob.Request.blank(
        '/resource_providers',
        method='POST',
        headers={'X-Auth-Token': 'admin', 'Content-Type': 'application/json'},
    )
    request.environ['wsgi.input'] = io.BytesIO(b'{"name": "' + b'x' * (64 << 10) + b'"}')
    request.environ['wsgi.input_terminated'] = True
    response = request.get_response(application)

    assert response.status_int == 413
    assert str(64 << 10) in error_of(response)['detail']


def test_slow_requests_are_those_that_the_option_says(
    path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    ask(load(path, placement__slow_request_seconds=1e-6), '/traits', X_Auth_Token='admin')

    assert 'Slow request' in caplog.text
