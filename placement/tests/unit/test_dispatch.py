# SPDX-License-Identifier: Apache-2.0
"""What is decided about a request before and after its handler (specification: http)."""

import datetime
import email.utils
import json
import re
from typing import Any

import pytest
import webob

from placement import conf as placement_conf
from placement import deploy, history, routes
from placement.conf import ConfigOpts
from placement.tests.unit.middleware.samples import error_of
from placement.tests.unit.objects.cloud import uuid_of

HOST = f'/resource_providers/{uuid_of("host")}'
JSON = 'application/json'


class Service:
    """The service on a database in memory, asked as its administrator."""

    def __init__(self) -> None:
        conf = ConfigOpts()
        placement_conf.register_opts(conf)
        for group, option, value in (
            ('placement_database', 'connection', 'sqlite://'),
            ('placement_database', 'sync_on_startup', True),
            ('api', 'auth_strategy', 'noauth2'),
            ('oslo_policy', 'enforce_new_defaults', False),
        ):
            conf.set_override(option, value, group)
        conf([], project='placement', default_config_files=[], default_config_dirs=[])
        self.application = deploy.loadapp(conf)

    def ask(
        self,
        method: str,
        path: str,
        version: str | None = history.NEWEST,
        body: Any = None,
        environ: dict[str, Any] | None = None,
        **headers: str,
    ) -> webob.Response:
        """The answer at a microversion; names of headers are written with underscores."""
        request = webob.Request.blank('/', method=method)
        request.environ['PATH_INFO'], _, request.environ['QUERY_STRING'] = path.partition('?')
        request.headers['X-Auth-Token'] = 'admin'
        if version is not None:
            request.headers['OpenStack-API-Version'] = f'placement {version}'
        if body is not None:
            request.body = json.dumps(body).encode()
            request.headers['Content-Type'] = JSON
        for name, value in headers.items():
            request.headers[name.replace('_', '-')] = value
        request.environ.update(environ or {})
        return request.get_response(self.application)


@pytest.fixture(scope='module')
def service() -> Service:
    """One service for the tests of this file; they leave alone what others look at."""
    service = Service()
    body = {'name': 'host', 'uuid': uuid_of('host')}
    assert service.ask('POST', '/resource_providers', body=body).status_int == 200
    return service


def detail(response: webob.Response) -> str:
    found: str = error_of(response)['detail']
    return found


# Versions


@pytest.mark.parametrize('version', [change.version for change in history.HISTORY])
def test_response_names_the_requested_version(service: Service, version: str) -> None:
    response = service.ask('GET', HOST, version)

    assert response.status_int == 200
    assert response.headers['openstack-api-version'] == f'placement {version}'
    assert response.headers['vary'] == 'openstack-api-version'


@pytest.mark.parametrize(
    ('path', 'status'), [('/resource_providers/foo', 404), ('/nothing', 404), ('/reshaper', 405)]
)
def test_error_response_has_the_version_headers(service: Service, path: str, status: int) -> None:
    response = service.ask('GET', path, '1.22')

    assert response.status_int == status
    assert response.headers['openstack-api-version'] == 'placement 1.22'


@pytest.mark.parametrize(
    ('version', 'status', 'words'),
    [
        ('1.999', 406, 'Unacceptable version header: 1.999'),
        ('2.0', 406, 'Unacceptable version header: 2.0'),
        ('pony', 400, 'invalid version string: pony'),
    ],
)
@pytest.mark.parametrize('path', ['/', '/nothing', HOST])
def test_malformed_version_is_refused_before_anything_else(
    service: Service, path: str, version: str, status: int, words: str
) -> None:
    response = service.ask('GET', path, None, OpenStack_API_Version=f'placement {version}')

    assert response.status_int == status
    assert 'openstack-api-version' not in response.headers
    error = error_of(response)
    assert words in error['detail']
    assert 'code' not in error
    bounds = {name: error[name] for name in error if name.endswith('_version')}
    expected = (
        {'max_version': history.NEWEST, 'min_version': history.OLDEST} if status == 406 else {}
    )
    assert bounds == expected


def test_error_codes_are_described_from_their_version_on(service: Service) -> None:
    for version, code in (('1.22', None), ('1.23', 'placement.undefined_code')):
        error = error_of(service.ask('GET', '/resource_providers/foo', version))
        assert error.get('code') == code


def test_error_is_json_where_anything_is_accepted(service: Service) -> None:
    kinds: list[Any] = [{}, {'Accept': ''}, {'Accept': '*/*'}]
    for headers in kinds:
        response = service.ask('GET', '/nothing', **headers)
        assert response.content_type == JSON
        assert re.match('req-', error_of(response)['request_id'])


# Routes


def url(path: str) -> str:
    """A path of the URL map with something for each variable."""
    return re.sub(r'\{\w+\}', 'CUSTOM_X', path)


@pytest.mark.parametrize('path', sorted({route.path for route in routes.ROUTES}))
def test_other_methods_are_405_with_allow(service: Service, path: str) -> None:
    allowed = [route.method for route in routes.ROUTES if route.path == path]

    for method in {'GET', 'HEAD', 'OPTIONS', 'PUT', 'POST', 'DELETE', 'PATCH'} - set(allowed):
        # The version makes no difference, and neither do things that are not there.
        response = service.ask(method, url(path), '1.0')
        assert response.status_int == 405
        assert response.headers['Allow'] == ', '.join(allowed)
        if method != 'HEAD':
            assert f'The method {method} is not allowed for this resource.' in detail(response)
            assert 'The method specified is not allowed for this resource.' in detail(response)


@pytest.mark.parametrize(
    'path',
    [
        '/nothing',
        '/resource_providers/',
        '/Resource_providers',
        f'{HOST}/',
        f'{HOST}/inventories/',
        f'{HOST}/inventories/a/b',
        '/resource_providers//inventories',
        '//',
        '/traits/\xff',
        '/traits/a\0b',
        '/traits/a/b',
        '/root.show',
        '/\n',
        '\n',
        '/resource_providers\n',
        f'{HOST}/inventories\n',
        '/traits\n\n',
    ],
)
def test_path_that_is_not_in_the_url_map_is_not_found(service: Service, path: str) -> None:
    for method in ('GET', 'PUT', 'OPTIONS'):
        response = service.ask(method, path)
        assert response.status_int == 404
        assert 'The resource could not be found.' in detail(response)


@pytest.mark.parametrize('name', ['a b%c☃', 'a\n', 'a\nb', '\n'])
def test_variable_of_a_path_may_be_any_text(service: Service, name: str) -> None:
    path = f'/resource_providers/{name}'.encode().decode('latin-1')

    response = service.ask('GET', path)

    assert response.status_int == 404
    # A text is shown on one line.
    shown = name.replace('\n', ' ')
    assert f'No resource provider with uuid {shown} found' in detail(response)


@pytest.mark.parametrize('path', ['/traits/CUSTOM_A\n', '/resource_classes/CUSTOM_A\n'])
def test_name_in_a_path_cannot_end_in_a_newline(service: Service, path: str) -> None:
    assert service.ask('PUT', path).status_int == 400
    assert service.ask('GET', path).status_int == 404


@pytest.mark.parametrize(
    ('method', 'path', 'since'),
    [
        ('GET', '/resource_classes', 2),
        ('PUT', '/resource_classes/CUSTOM_X', 2),
        ('GET', '/traits', 6),
        ('DELETE', f'{HOST}/traits', 6),
        ('GET', '/usages', 9),
        ('POST', '/allocations', 13),
        ('POST', '/reshaper', 30),
        ('GET', f'{HOST}/aggregates', 1),
    ],
)
def test_route_of_a_later_version_is_404(
    service: Service, method: str, path: str, since: int
) -> None:
    response = service.ask(method, path, f'1.{since - 1}')

    assert response.status_int == 404
    unknown = service.ask(method, '/nothing', f'1.{since - 1}')
    assert detail(response) == detail(unknown)
    assert service.ask(method, path, f'1.{since}').status_int != 404


def test_deletion_of_all_inventories_is_405_before_its_version(service: Service) -> None:
    response = service.ask('DELETE', f'{HOST}/inventories', '1.4')

    assert response.status_int == 405
    assert 'Allow' not in response.headers
    assert response.headers['vary'] == 'openstack-api-version'


# What is checked first (specification: http, "Order of checks")


@pytest.mark.parametrize('length', ['x', '1.5', ' '])
@pytest.mark.parametrize('path', [HOST, '/nothing', '/'])
def test_malformed_content_length_is_refused_before_routing(
    service: Service, path: str, length: str
) -> None:
    response = service.ask('GET', path, environ={'CONTENT_LENGTH': length})

    assert response.status_int == 400
    assert 'content-length header must be an integer' in detail(response)


@pytest.mark.parametrize('method', ['GET', 'DELETE', 'PUT'])
@pytest.mark.parametrize('path', [HOST, '/nothing'])
def test_missing_content_type_is_refused_before_routing(
    service: Service, method: str, path: str
) -> None:
    response = service.ask(method, path, environ={'CONTENT_LENGTH': '2', 'CONTENT_TYPE': ''})

    assert response.status_int == 400
    assert 'content-type header required when content-length > 0' in detail(response)


def test_empty_body_needs_no_media_type_where_none_is_read(service: Service) -> None:
    for length in ('0', ''):
        assert service.ask('GET', HOST, environ={'CONTENT_LENGTH': length}).status_int == 200


@pytest.mark.parametrize(
    ('path', 'first'),
    [
        # The version comes before the media type, save for aggregates.
        (f'{HOST}/traits', 404),
        (f'{HOST}/aggregates', 406),
    ],
)
def test_version_and_media_type_are_refused_in_order(
    service: Service, path: str, first: int
) -> None:
    response = service.ask('GET', path, '1.0', Accept='text/plain')

    assert response.status_int == first


def test_unsupported_media_type_is_refused_before_the_policy(service: Service) -> None:
    headers: Any = {'X_Auth_Token': 'nobody', 'Content_Type': 'text/plain'}
    for method, path in (
        ('POST', '/resource_providers'),
        ('PUT', HOST),
        ('PUT', f'{HOST}/inventories'),
        ('PUT', f'{HOST}/aggregates'),
        ('PUT', f'/allocations/{uuid_of("server")}'),
        ('POST', '/reshaper'),
    ):
        assert service.ask(method, path, **headers).status_int == 415


def test_policy_refuses_before_missing_or_invalid_things(service: Service) -> None:
    for method, path in (
        ('PUT', '/resource_providers/foo'),
        ('GET', '/resource_providers/foo'),
        ('PUT', '/allocations/foo'),
        ('POST', '/resource_classes'),
    ):
        response = service.ask(method, path, body={'bad': 1}, X_Auth_Token='nobody')
        assert response.status_int == 403
        assert 'Policy does not allow placement:' in detail(response)
        assert 'to be performed.' in detail(response)


@pytest.mark.parametrize(
    ('method', 'path', 'status'),
    [
        ('PUT', '/resource_providers/foo', 404),
        ('PUT', '/resource_providers/foo/inventories', 404),
        ('PUT', '/resource_providers/foo/aggregates', 404),
        # The one exception: the body is looked at first.
        ('PUT', '/resource_providers/foo/traits', 400),
        ('PUT', '/allocations/foo', 400),
    ],
)
def test_missing_provider_and_invalid_body_are_refused_in_order(
    service: Service, method: str, path: str, status: int
) -> None:
    assert service.ask(method, path, body={'bad': 1}).status_int == status


def test_malformed_consumer_uuid_is_refused_before_the_body(service: Service) -> None:
    response = service.ask('PUT', '/allocations/foo', body={'bad': 1})

    assert 'Malformed consumer_uuid: foo' in detail(response)


@pytest.mark.parametrize('version', ['1.7', history.NEWEST])
@pytest.mark.parametrize('path', ['/resource_classes/CUSTOM_X', '/traits/CUSTOM_X'])
def test_body_that_no_handler_reads_may_be_anything(
    service: Service, path: str, version: str
) -> None:
    kinds: list[Any] = [{}, {'Content_Type': 'text/plain'}]
    for headers in kinds:
        assert service.ask('PUT', path, version, **headers).status_int in (201, 204)
    response = service.ask(
        'PUT', path, version, environ={'CONTENT_LENGTH': '2', 'CONTENT_TYPE': 'x/y'}
    )
    assert response.status_int == 204


# Answers


def test_response_body_is_json_without_charset(service: Service) -> None:
    with_body = service.ask('GET', HOST)
    assert with_body.headers['content-type'] == 'application/json'

    without = service.ask('PUT', '/traits/CUSTOM_Y')
    assert (without.status_int, without.body) == (201, b'')
    assert 'content-type' not in without.headers


def modified(response: webob.Response) -> datetime.datetime:
    """When the answer says that it was modified."""
    text = response.headers['last-modified']
    assert text.endswith(' GMT')
    return email.utils.parsedate_to_datetime(text)


@pytest.mark.parametrize(
    'path', ['/', HOST, '/resource_providers', f'{HOST}/usages', '/traits', '/traits/COMPUTE_NODE']
)
def test_reads_have_cache_headers_since_their_version(service: Service, path: str) -> None:
    old, new = service.ask('GET', path, '1.14'), service.ask('GET', path, '1.15')

    assert not {'cache-control', 'last-modified'} & {name.lower() for name in old.headers}
    assert new.headers['cache-control'] == 'no-cache'
    assert modified(new) <= datetime.datetime.now(datetime.UTC)


@pytest.mark.parametrize(
    ('method', 'path', 'body'),
    [
        ('PUT', '/resource_classes/CUSTOM_Z', None),
        ('POST', '/resource_classes', {'name': 'CUSTOM_W'}),
        ('DELETE', '/traits/CUSTOM_V', None),
        ('GET', '/resource_providers/foo', None),
    ],
)
def test_some_responses_never_have_cache_headers(
    service: Service, method: str, path: str, body: Any
) -> None:
    response = service.ask(method, path, body=body)

    assert not {'cache-control', 'last-modified'} & {name.lower() for name in response.headers}


def test_location_is_absolute_and_links_are_paths(service: Service) -> None:
    body = {'name': 'mounted', 'uuid': uuid_of('mounted')}
    response = service.ask(
        'POST',
        '/resource_providers',
        body=body,
        environ={'SCRIPT_NAME': '/placement', 'HTTP_HOST': 'cloud:81', 'wsgi.url_scheme': 'https'},
    )

    path = f'/placement/resource_providers/{uuid_of("mounted")}'
    assert response.headers['location'] == f'https://cloud:81{path}'
    assert response.json['links'][0] == {'rel': 'self', 'href': path}


def test_created_provider_has_no_body_in_old_versions(service: Service) -> None:
    response = service.ask('POST', '/resource_providers', '1.19', body={'name': 'old'})

    assert (response.status_int, response.body) == (201, b'')
    assert response.headers['location'].startswith('http://localhost/resource_providers/')


@pytest.mark.parametrize('path', ['/', ''])
def test_root_document_is_served_at_both_paths_for_any_accept(service: Service, path: str) -> None:
    response = service.ask('GET', path, None, Accept='text/html')

    assert response.status_int == 200
    assert response.json['versions'][0]['id'] == 'v1.0'


def test_status_and_headers_are_native_strings(service: Service) -> None:
    """Other projects' tests insist."""
    seen: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc: Any = None) -> Any:
        seen.extend([status, *(part for header in headers for part in header)])

    for path in (HOST, '/nothing', '/resource_providers/foo'):
        environ = webob.Request.blank(path, headers={'X-Auth-Token': 'admin'}).environ
        list(service.application(environ, start_response))

    assert {type(part) for part in seen} == {str}
