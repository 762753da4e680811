# SPDX-License-Identifier: Apache-2.0
"""What a server makes of requests, well formed or not."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from placement.tests.unit.server.running import GET, Running, running


def describe(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Answer with the environment and the body."""
    shown: dict[str, Any] = {
        name: value for name, value in environ.items() if isinstance(value, str)
    }
    shown['body'] = environ['wsgi.input'].read().decode('latin-1')
    start_response('200 OK', [('Content-Type', 'application/json')])
    return [json.dumps(shown).encode()]


@pytest.fixture(scope='module')
def service() -> Iterator[Running]:
    with running(describe) as service:
        yield service


def shown(service: Running, request: bytes) -> Any:
    status, _, body = service.ask(request)
    assert status == 200, body
    return json.loads(body)


def test_application_sees_the_request_as_wsgi_says(service: Running) -> None:
    environ = shown(
        service,
        b'PUT /a%20b/%c3%a9?x=%20&y HTTP/1.1\r\nhost: localhost:1\r\nX-One: 1 \r\nX-One: 2\r\n'
        b'Cookie: a\r\nCookie: b\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nabc',
    )

    assert environ['REQUEST_METHOD'] == 'PUT'
    assert environ['SCRIPT_NAME'] == ''
    assert environ['PATH_INFO'] == '/a b/\xc3\xa9'
    assert environ['QUERY_STRING'] == 'x=%20&y'
    assert environ['SERVER_PROTOCOL'] == 'HTTP/1.1'
    assert environ['SERVER_PORT'] == str(service.port)
    assert environ['REMOTE_ADDR'] == '127.0.0.1'
    assert environ['wsgi.url_scheme'] == 'http'
    assert environ['HTTP_HOST'] == 'localhost:1'
    assert environ['HTTP_X_ONE'] == '1, 2'
    assert environ['HTTP_COOKIE'] == 'a; b'
    assert environ['CONTENT_TYPE'] == 'text/plain'
    assert environ['CONTENT_LENGTH'] == '3'
    assert environ['body'] == 'abc'


def test_header_with_an_underscore_does_not_pass_for_another(service: Running) -> None:
    request = b'GET / HTTP/1.1\r\nHost: localhost\r\nX_User_Id: admin\r\n\r\n'

    assert 'HTTP_X_USER_ID' not in shown(service, request)


@pytest.mark.parametrize(
    ('target', 'path', 'query'),
    [
        (b'/', '/', ''),
        (b'//a', '//a', ''),
        (b'/a?', '/a', ''),
        (b'/a?b?c', '/a', 'b?c'),
        (b'/a?b#c', '/a', 'b'),
        (b'http://localhost/a?b', '/a', 'b'),
        (b'http://localhost', '/', ''),
        (b'http://localhost?b', '/', 'b'),
    ],
)
def test_target_is_split_into_path_and_query(
    service: Running, target: bytes, path: str, query: str
) -> None:
    environ = shown(service, b'GET ' + target + b' HTTP/1.1\r\nHost: localhost\r\n\r\n')

    assert (environ['PATH_INFO'], environ['QUERY_STRING']) == (path, query)


def test_request_is_understood_that_comes_byte_by_byte(service: Running) -> None:
    client = service.client()
    for byte in b'PUT /path HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab':
        client.send(bytes([byte]))
    status, _, body = client.receive()

    assert (status, json.loads(body)['body']) == (200, 'ab')


def test_body_in_chunks_is_joined_and_its_trailers_are_dropped(service: Running) -> None:
    environ = shown(
        service,
        b'PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
        b'3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-User-Id: admin\r\n\r\n',
    )

    assert environ['body'] == 'abcde'
    assert 'HTTP_X_USER_ID' not in environ


def test_requests_that_come_together_are_answered_in_order(service: Running) -> None:
    client = service.client()
    count = 500
    client.send(b''.join(b'GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n' % n for n in range(count)))

    paths = [json.loads(client.receive()[2])['PATH_INFO'] for _ in range(count)]
    assert paths == [f'/{n}' for n in range(count)]


def test_answer_to_head_has_no_body(service: Running) -> None:
    client = service.client()
    client.send(GET.replace(b'GET', b'HEAD'))
    _, headers, _ = client.receive(with_body=False)
    client.send(GET)

    assert int(headers['content-length']) > 0
    assert client.receive()[0] == 200


def test_client_that_waits_for_100_is_told_to_go_on(service: Running) -> None:
    client = service.client()
    client.send(
        b'PUT / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n'
    )
    assert client.receive()[0] == 100
    client.send(b'a')
    assert client.receive()[0] == 200


def test_client_is_told_to_go_on_after_its_request_before_is_answered(service: Running) -> None:
    client = service.client()
    put = b'PUT / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n'
    client.send(GET + put)
    assert client.receive()[0] == 200
    client.send(b'a')
    assert client.receive()[0] == 200


def test_connection_ends_when_the_client_wants_it_to(service: Running) -> None:
    client = service.client()
    client.send(b'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')

    assert client.receive()[1]['connection'] == 'close'
    assert client.is_closed()


def test_connection_of_http_1_0_is_kept_only_when_asked(service: Running) -> None:
    client = service.client()
    client.send(b'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
    assert client.receive()[1]['connection'] == 'keep-alive'
    client.send(b'GET / HTTP/1.0\r\n\r\n')
    assert client.receive()[1]['connection'] == 'close'
    assert client.is_closed()


def test_request_of_a_client_that_has_closed_its_direction_is_answered(service: Running) -> None:
    client = service.client()
    client.send(GET)
    client.socket.shutdown(1)

    assert client.receive()[0] == 200
    assert client.is_closed()


def test_request_to_upgrade_is_answered_as_it_is(service: Running) -> None:
    client = service.client()
    client.send(
        b'GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n'
        b'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n'
    )

    assert client.receive()[0] == 200
    assert client.is_closed()


CHUNKED = b'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'


@pytest.mark.parametrize(
    'request_bytes',
    [
        b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
        b'NONSENSE\r\n\r\n',
        b'GET /\r\n\r\n',
        b'UNKNOWN / HTTP/1.1\r\nHost: a\r\n\r\n',
        b'GET / HTTP/2.0\r\nHost: a\r\n\r\n',
        b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        b'GET path HTTP/1.1\r\nHost: a\r\n\r\n',
        b'GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n',
        b'GET /\xff\x00 HTTP/1.1\r\nHost: a\r\n\r\n',
        b'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
        b'GET / HTTP/1.1\r\nHost : a\r\n\r\n',
        b'GET / HTTP/1.1\r\nX: a\r\n folded\r\n\r\n',
        b'GET / HTTP/1.1\r\nX: \x1b[31m\r\n\r\n',
        b'GET / HTTP/1.1\r\nX: a\nY: b\r\n\r\n',
        b'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n',
        b'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na',
        b'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na',
        b'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
        b'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n',
        b'PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0',
        b'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
        b'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n',
        b'PUT / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 1\r\n\r\na',
        CHUNKED + b'x\r\n',
        CHUNKED + b'-1\r\n',
        CHUNKED + b'1\r\nab\r\n',
    ],
)
def test_malformed_request_is_refused_with_400(service: Running, request_bytes: bytes) -> None:
    client = service.client()
    client.send(request_bytes)
    status, headers, body = client.receive()

    assert status == 400, body
    assert headers['connection'] == 'close'
    (error,) = json.loads(body)['errors']
    assert (error['status'], error['title']) == (400, 'Bad Request')
    assert error['detail']
    assert client.is_closed()


def test_malformed_request_behind_a_good_one_ends_the_connection(service: Running) -> None:
    client = service.client()
    client.send(GET + b'NONSENSE\r\n\r\n')

    assert client.receive()[0] == 200
    assert client.is_closed()


@pytest.mark.parametrize(
    'header',
    [
        b'X-A: ' + b'x' * 40_000,
        b'X-A:' + b' ' * 262_144 + b'x',
        b'a:1\r\n' * 10_000,
        b''.join(b'a%d:1\r\n' % n for n in range(10_000)),
    ],
)
def test_header_beyond_the_bound_is_refused(service: Running, header: bytes) -> None:
    client = service.client()
    client.send(b'GET / HTTP/1.1\r\nHost: localhost\r\n' + header + b'\r\n\r\n')
    status, _, body = client.receive()

    assert status == 431
    assert '32768' in json.loads(body)['errors'][0]['detail']
    assert client.is_closed()


def test_target_beyond_the_bound_and_endless_empty_lines_are_refused(service: Running) -> None:
    assert service.ask(b'GET /' + b'x' * 40_000)[0] == 431
    assert service.ask(b'\r\n' * 20_000)[0] == 431


def test_query_of_16_kilobytes_arrives(service: Running) -> None:
    query = 'x' * (16 << 10)
    request = f'GET /traits?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n'

    assert shown(service, request.encode())['QUERY_STRING'] == query


def test_blanks_before_a_value_cost_no_more_than_other_bytes(service: Running) -> None:
    before = time.process_time()
    for blank in (b' ', b'\t'):
        header = b'X-A:' + blank * 32_000 + b'x'
        environ = shown(service, b'GET / HTTP/1.1\r\nHost: a\r\n' + header + b'\r\n\r\n')
        assert environ['HTTP_X_A'] == 'x'

    # With time quadratic in the blanks it was four seconds each.
    assert time.process_time() - before < 2


def test_body_of_many_small_chunks_is_refused(service: Running) -> None:
    client = service.client()
    client.send(CHUNKED + b'1\r\nx\r\n' * 100_000 + b'0\r\n\r\n')

    assert client.receive()[0] == 400
