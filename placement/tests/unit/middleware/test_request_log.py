# SPDX-License-Identifier: Apache-2.0
"""Ids, Accept and log lines.

Specification: http, "Responses and errors", "Request ids"; configuration, "Logging".
"""

import dataclasses
import json
import logging
import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
import webob
from oslo_context import context as oslo_context
from oslo_log import formatters

from placement.http import environ_keys
from placement.middleware import request_log
from placement.tests.unit.middleware.samples import Inner, ask

GLOBAL = 'req-11111111-2222-3333-4444-555555555555'


@pytest.fixture
def inner(caplog: pytest.LogCaptureFixture) -> Inner:
    caplog.set_level(logging.INFO)
    return Inner()


@pytest.fixture
def logged(inner: Inner) -> request_log.RequestLog:
    return request_log.RequestLog(inner)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log, their durations left out."""
    return [
        re.sub(r' duration: \d+\.\d{6}$', '', f'{record.levelname} {record.getMessage()}')
        for record in caplog.records
        if record.name == 'placement.requestlog'
    ]


@dataclasses.dataclass
class Clock:
    """The time that passes while the inner application works, and no other."""

    inner: Inner
    seconds: float
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def work(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.now += self.seconds
        return self.inner(environ, start_response)


@pytest.fixture
def clock(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(inner, seconds=2.5)
    monkeypatch.setattr(request_log.time, 'perf_counter', clock)
    return clock


def test_request_id_of_the_client_becomes_the_global_request_id(
    logged: request_log.RequestLog, inner: Inner
) -> None:
    response = ask(logged, X_Openstack_Request_Id=GLOBAL)

    assert inner.environ[environ_keys.GLOBAL_REQUEST_ID] == GLOBAL
    assert inner.environ[environ_keys.CONTEXT].global_request_id == GLOBAL
    assert response.headers.getall('x-openstack-request-id') != [GLOBAL]


@pytest.mark.parametrize('sent', ['', 'req-1', GLOBAL.upper(), f'x{GLOBAL}', f'{GLOBAL}x'])
def test_malformed_request_id_of_the_client_is_ignored(
    logged: request_log.RequestLog, inner: Inner, sent: str
) -> None:
    ask(logged, X_Openstack_Request_Id=sent)

    assert inner.environ[environ_keys.GLOBAL_REQUEST_ID] is None


def test_request_is_logged_at_its_start_and_at_its_end(
    inner: Inner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    inner.headers = (('content-type', 'text/plain'), ('Content-Length', '26'))
    request = webob.Request.blank(
        '/resource_providers?name=a',
        base_url='http://localhost/placement',
        environ={'REMOTE_ADDR': '10.0.0.1', environ_keys.MICROVERSION: '1.10'},
    )
    request.get_response(request_log.RequestLog(inner))

    described = '10.0.0.1 "GET /placement/resource_providers?name=a"'
    assert lines(caplog) == [
        f'DEBUG Starting request: {described}',
        f'INFO {described} status: 204 len: 26 microversion: 1.10',
    ]


def test_long_texts_are_logged_in_part(inner: Inner, caplog: pytest.LogCaptureFixture) -> None:
    request = webob.Request.blank('/', method='M' * 60_000)
    request.environ |= {
        'PATH_INFO': '/' + '\xff' * 60_000,
        'QUERY_STRING': '"' * 60_000,
        'REMOTE_ADDR': '1' * 60_000,
    }
    request.get_response(request_log.RequestLog(inner, slow_seconds=1e-9))

    described = (
        f'{"1" * 1_024}... "{"M" * 1_024}... '
        f'{("/" + "%FF" * 400)[:1_024]}...?{("%22" * 1_400)[:4_096]}..."'
    )
    ended, slow = lines(caplog)
    assert ended == f'INFO {described} status: 204 len: - microversion: -'
    assert slow.startswith(f'WARNING Slow request: {described} took ')


def test_paths_and_queries_of_usual_length_are_logged_as_they_are(
    logged: request_log.RequestLog, caplog: pytest.LogCaptureFixture
) -> None:
    path, query = '/' + 'a' * 1_023, 'b' * 4_096
    ask(logged, f'{path}?{query}')

    assert lines(caplog) == [f'INFO - "GET {path}?{query}" status: 204 len: - microversion: -']


def test_accept_header_of_thousands_of_ranges_is_not_read(
    logged: request_log.RequestLog, inner: Inner
) -> None:
    ask(logged, Accept='a/b,' * 2_049)
    assert inner.environ['HTTP_ACCEPT'] == 'application/json'

    ask(logged, Accept='a/b,' * 2_048)
    assert inner.environ['HTTP_ACCEPT'] == 'a/b,' * 2_048


def test_unknown_values_are_logged_as_dashes(
    logged: request_log.RequestLog, caplog: pytest.LogCaptureFixture
) -> None:
    ask(logged, '')

    assert lines(caplog) == ['INFO - "GET " status: 204 len: - microversion: -']


# Line feeds, carriage returns, escapes and the C1 control characters of terminals, a tab, a quote
# that would end the request early, and characters beyond ASCII as WSGI decodes them.
HOSTILE = 'a b\n\r\x1b[2J\x0b\x85\t"\x7f\xc3\xa9'
QUOTED = 'a%20b%0A%0D%1B[2J%0B%85%09%22%7F%C3%A9'


def test_what_the_client_sent_is_quoted_in_the_log(
    logged: request_log.RequestLog, caplog: pytest.LogCaptureFixture
) -> None:
    request = webob.Request.blank('/')
    request.environ |= {
        'PATH_INFO': f'/traits/{HOSTILE}',
        'QUERY_STRING': f'name=%0A&{HOSTILE}',
        'REQUEST_METHOD': f'GET{HOSTILE}',
        'REMOTE_ADDR': f'10.0.0.1{HOSTILE}',
    }
    request.get_response(logged)

    path = QUOTED.replace('[', '%5B')
    described = f'10.0.0.1{QUOTED} "GET{QUOTED} /traits/{path}?name=%0A&{QUOTED}"'
    assert lines(caplog) == [f'INFO {described} status: 204 len: - microversion: -']


def test_middleware_that_moves_parts_of_the_path_does_not_change_the_log(
    inner: Inner, caplog: pytest.LogCaptureFixture
) -> None:
    def mount(environ, start_response):  # type: ignore[no-untyped-def]
        environ['SCRIPT_NAME'] = environ['PATH_INFO']
        environ['PATH_INFO'] = ''
        return inner(environ, start_response)

    ask(request_log.RequestLog(mount), '/traits')

    assert '"GET /traits"' in lines(caplog)[0]


def test_request_does_not_inherit_the_context_of_the_thread(
    logged: request_log.RequestLog, inner: Inner
) -> None:
    oslo_context.RequestContext(user_id='somebody else', overwrite=True)
    ask(logged)
    current = oslo_context.get_current()

    assert current is inner.environ[environ_keys.CONTEXT]
    assert current is not None
    assert current.user_id is None
    assert current.request_id == inner.environ[environ_keys.REQUEST_ID]


@pytest.mark.parametrize(
    ('slow_seconds', 'is_slow'), [(2.5, True), (0.001, True), (0, False), (2.501, False)]
)
def test_slow_request_is_logged_with_a_warning(
    clock: Clock, caplog: pytest.LogCaptureFixture, slow_seconds: float, is_slow: bool
) -> None:
    ask(request_log.RequestLog(clock.work, slow_seconds), '/traits?name=a')

    warning = (
        'WARNING Slow request: - "GET /traits?name=a" took 2.500 s '
        f'([placement] slow_request_seconds is {slow_seconds}).'
    )
    assert caplog.messages[0].endswith(' microversion: - duration: 2.500000')
    assert lines(caplog)[1:] == ([warning] if is_slow else [])


def as_json(record: logging.LogRecord) -> dict[str, object]:
    fields = json.loads(formatters.JSONFormatter().format(record))['extra']
    assert isinstance(fields, dict)
    return fields


def test_json_log_has_the_request_as_fields(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.inner.headers = (('Content-Length', '26'),)
    request = webob.Request.blank(
        '/traits?name=a b',
        environ={'REMOTE_ADDR': '10.0.0.1', environ_keys.MICROVERSION: '1.10'},
    )
    request.get_response(request_log.RequestLog(clock.work, 1))

    fields = {
        'address': '10.0.0.1',
        'method': 'GET',
        'path': '/traits',
        'query': 'name=a%20b',
        'status': 204,
        'length': 26,
        'microversion': '1.10',
        'duration': 2.5,
    }
    assert [as_json(record) for record in caplog.records] == [fields, fields]
    ask(request_log.RequestLog(clock.inner))
    unknown = {'address': None, 'query': '', 'microversion': None}
    assert unknown.items() <= as_json(caplog.records[-1]).items()
