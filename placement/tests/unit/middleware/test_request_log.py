# SPDX-License-Identifier: Apache-2.0
"""Ids, Accept and log lines.

Specification: http, "Responses and errors", "Request ids"; configuration, "Logging".
"""

import logging
import re

import pytest
import webob
from oslo_context import context as oslo_context

from placement.middleware import request_log
from placement.tests.unit.middleware.samples import Inner, ask

ID = r'req-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
GLOBAL = 'req-11111111-2222-3333-4444-555555555555'


@pytest.fixture
def inner() -> Inner:
    return Inner()


@pytest.fixture
def logged(inner: Inner) -> request_log.RequestLog:
    return request_log.RequestLog(inner)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        f'{record.levelname} {record.getMessage()}'
        for record in caplog.records
        if record.name == 'placement.requestlog'
    ]


def test_every_response_has_a_new_request_id(logged: request_log.RequestLog, inner: Inner) -> None:
    first, second = (ask(logged).headers['x-openstack-request-id'] for _ in range(2))

    assert re.fullmatch(ID, first)
    assert re.fullmatch(ID, second)
    assert first != second
    assert inner.environ['openstack.request_id'] == second


def test_request_id_of_the_client_becomes_the_global_request_id(
    logged: request_log.RequestLog, inner: Inner
) -> None:
    response = ask(logged, X_Openstack_Request_Id=GLOBAL)

    assert inner.environ['openstack.global_request_id'] == GLOBAL
    assert inner.environ['placement.context'].global_request_id == GLOBAL
    assert response.headers.getall('x-openstack-request-id') != [GLOBAL]


@pytest.mark.parametrize('sent', ['', 'req-1', GLOBAL.upper(), f'x{GLOBAL}', f'{GLOBAL}x'])
def test_malformed_request_id_of_the_client_is_ignored(
    logged: request_log.RequestLog, inner: Inner, sent: str
) -> None:
    ask(logged, X_Openstack_Request_Id=sent)

    assert inner.environ['openstack.global_request_id'] is None


@pytest.mark.parametrize('accept', ['', '*/*'])
def test_accept_of_anything_becomes_json(
    logged: request_log.RequestLog, inner: Inner, accept: str
) -> None:
    ask(logged, Accept=accept)

    assert inner.environ['HTTP_ACCEPT'] == 'application/json'


def test_missing_accept_becomes_json(logged: request_log.RequestLog, inner: Inner) -> None:
    ask(logged)

    assert inner.environ['HTTP_ACCEPT'] == 'application/json'


def test_other_accept_is_not_changed(logged: request_log.RequestLog, inner: Inner) -> None:
    ask(logged, Accept='text/html, */*;q=0.1')

    assert inner.environ['HTTP_ACCEPT'] == 'text/html, */*;q=0.1'


def test_request_is_logged_at_its_start_and_at_its_end(
    inner: Inner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    inner.headers = (('content-type', 'text/plain'), ('Content-Length', '26'))
    request = webob.Request.blank(
        '/resource_providers?name=a',
        base_url='http://localhost/placement',
        environ={'REMOTE_ADDR': '10.0.0.1', 'placement.microversion': '1.10'},
    )
    request.get_response(request_log.RequestLog(inner))

    described = '10.0.0.1 "GET /placement/resource_providers?name=a"'
    assert lines(caplog) == [
        f'DEBUG Starting request: {described}',
        f'INFO {described} status: 204 len: 26 microversion: 1.10',
    ]


def test_unknown_values_are_logged_as_dashes(
    logged: request_log.RequestLog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ask(logged, '')

    assert lines(caplog) == ['INFO - "GET " status: 204 len: - microversion: -']


# Line feeds, carriage returns, escapes and the C1 control characters of terminals, a tab, a quote
# that would end the request early, and characters beyond ASCII as WSGI decodes them.
HOSTILE = 'a b\n\r\x1b[2J\x0b\x85\t"\x7f\xc3\xa9'
QUOTED = 'a%20b%0A%0D%1B[2J%0B%85%09%22%7F%C3%A9'


def test_path_in_the_log_is_quoted(
    logged: request_log.RequestLog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ask(logged, f'/traits/{HOSTILE}')

    path = QUOTED.replace('[', '%5B')
    assert lines(caplog) == [f'INFO - "GET /traits/{path}" status: 204 len: - microversion: -']


def test_query_method_and_address_in_the_log_are_quoted(
    logged: request_log.RequestLog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    request = webob.Request.blank('/traits')
    request.environ['QUERY_STRING'] = f'name=%0A&{HOSTILE}'
    request.environ['REQUEST_METHOD'] = f'GET{HOSTILE}'
    request.environ['REMOTE_ADDR'] = f'10.0.0.1{HOSTILE}'
    request.get_response(logged)

    described = f'10.0.0.1{QUOTED} "GET{QUOTED} /traits?name=%0A&{QUOTED}"'
    assert lines(caplog) == [
        f'DEBUG Starting request: {described}',
        f'INFO {described} status: 204 len: - microversion: -',
    ]


def test_middleware_that_moves_parts_of_the_path_does_not_change_the_log(
    inner: Inner, caplog: pytest.LogCaptureFixture
) -> None:
    def mount(environ, start_response):  # type: ignore[no-untyped-def]
        environ['SCRIPT_NAME'] = environ['PATH_INFO']
        environ['PATH_INFO'] = ''
        return inner(environ, start_response)

    caplog.set_level(logging.INFO)
    ask(request_log.RequestLog(mount), '/traits')

    assert '"GET /traits"' in lines(caplog)[0]


def test_request_does_not_inherit_the_context_of_the_thread(
    logged: request_log.RequestLog, inner: Inner
) -> None:
    oslo_context.RequestContext(user_id='somebody else', overwrite=True)
    ask(logged)
    current = oslo_context.get_current()

    assert current is inner.environ['placement.context']
    assert current is not None
    assert current.user_id is None
    assert current.request_id == inner.environ['openstack.request_id']
