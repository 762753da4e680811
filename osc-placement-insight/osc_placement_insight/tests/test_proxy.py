# SPDX-License-Identifier: Apache-2.0
"""Attacks on the proxy that adds a token: only the page itself is ever answered."""

import contextlib
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from osc_placement_insight import proxy
from osc_placement_insight.proxy import Answer, Proxy
from placement.tests.functional.fixtures.applications import repository_path

CONTENT = b'what the token reads'


class Service:
    """Stands for the service; what it was asked, and what it answers."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.questions: list[Any] = []
        self.answer = Answer(200, {'Content-Type': 'application/json'}, CONTENT)

    def fetch(self, path: str, question: Any) -> Answer:
        self.asked.append(path)
        self.questions.append(question)
        return self.answer


class Received(NamedTuple):
    status: int
    headers: Mapping[str, str]
    content: bytes


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def server(service: Service) -> Iterator[Proxy]:
    """A proxy that listens, and answers in a thread."""
    with Proxy(service.fetch) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def exchange(server: Proxy, request: bytes) -> bytes:
    """All that comes back for these bytes."""
    with socket.create_connection((proxy.ADDRESS, server.server_port), timeout=30) as connection:
        connection.sendall(request)
        # Whoever has refused the request may have closed the connection before.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        pieces = []
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                pieces.append(piece)
    return b''.join(pieces)


def send(server: Proxy, *lines: str, body: str = '') -> Received:
    """The answer to a request of these lines, in which braces stand for what the server has."""
    prefix = server.prefix
    values = {
        'prefix': prefix,
        'PREFIX': prefix.swapcase(),
        'half': prefix[:-1],
        'other': 'x' * len(prefix),
        'port': server.server_port,
    }
    request = '\r\n'.join([*(line.format(**values) for line in lines), '', ''])
    return received(exchange(server, request.encode('latin-1') + body.encode()))


def ask(server: Proxy, target: str) -> Received:
    """The answer to a request of the page for a target."""
    return send(server, f'GET {target} HTTP/1.1', HOST, SAME_SITE)


def received(answer: bytes) -> Received:
    head, _, content = answer.partition(b'\r\n\r\n')
    first, *lines = head.decode('latin-1').split('\r\n')
    found = dict(line.split(': ', 1) for line in lines)
    return Received(int(first.split()[1]), found, content)


def page(server: Proxy, route: str = proxy.PAGE) -> str:
    return f'/{server.prefix}/{route}'


# What is answered


@pytest.mark.parametrize(
    'route',
    [
        'ui/',
        'ui/?token=proxy',
        'insight/allocation_candidates?resources=VCPU:1&required=!CUSTOM_A%20B',
        'insight',
        'insight/promises',
        'insight/promises/gpu-lab.2/takers',
        'names.json',
    ],
)
def test_what_the_page_asks_for_is_passed_on(server: Proxy, service: Service, route: str) -> None:
    answer = ask(server, page(server, route))
    assert (answer.status, answer.content) == (200, CONTENT)
    assert (service.asked, service.questions) == ([f'/{route}'], [None])


POSTED = ['allocation_candidates', 'capacity', 'survival', 'drain', 'moves']


@pytest.mark.parametrize('name', POSTED)
def test_question_that_fits_into_no_query_is_passed_on(
    server: Proxy, service: Service, name: str
) -> None:
    question = f'POST /{{prefix}}/insight/{name}?only=failing HTTP/1.1'
    answer = send(server, question, *POST, 'Content-Length: 10', body='{"a": "b"}')
    assert (answer.status, answer.content) == (200, CONTENT)
    assert (service.asked, service.questions) == ([f'/insight/{name}?only=failing'], [{'a': 'b'}])


def test_every_question_of_the_page_is_allowed() -> None:
    scripts = repository_path('placement_insight/ui').glob('*.js')
    asked = {
        found for script in scripts for found in re.findall(r'\binsight/\w+', script.read_text())
    }
    assert len(asked) > 3
    routes = proxy.ROUTE, proxy.POSTED
    assert [one for one in asked if not any(route.fullmatch(one) for route in routes)] == []


def test_every_file_of_the_page_is_allowed() -> None:
    files = [f'ui/{path.name}' for path in repository_path('placement_insight/ui').iterdir()]
    assert 'ui/index.html' in files
    assert [one for one in files if not proxy.ROUTE.fullmatch(one)] == []


def test_it_listens_on_the_loopback_alone(server: Proxy) -> None:
    assert server.socket.getsockname()[0] == '127.0.0.1'


def test_each_proxy_has_a_path_of_its_own(server: Proxy, service: Service) -> None:
    with Proxy(service.fetch) as other:
        assert other.prefix != server.prefix
        assert len(server.prefix) >= 40


def test_own_headers_are_on_every_answer_and_no_other_of_the_service(
    server: Proxy, service: Service
) -> None:
    policy = "default-src 'none'; script-src 'self'"
    service.answer = Answer(
        200, {'Content-Type': 'text/html', 'Content-Security-Policy': policy}, CONTENT
    )
    first, second = ask(server, page(server)), ask(server, '/')
    for answer in (first, second):
        for name, value in proxy.OWN_HEADERS.items():
            assert answer.headers[name] == value
        assert 'Access-Control-Allow-Origin' not in answer.headers
        assert 'Python' not in answer.headers['Server']
    assert first.headers['Content-Security-Policy'] == policy
    assert second.headers['Content-Security-Policy'].startswith("default-src 'none'")


# What is not

FORMS_OF_HOST = [
    'evil.example:{port}',
    'localhost:{port}',
    '127.0.0.1',
    '127.0.0.1:{port}.evil.example',
    'evil.example@127.0.0.1:{port}',
    '127.0.0.1:{port}, evil.example',
    '',
]
FORMS_OF_ORIGIN = [
    'http://evil.example',
    'null',
    'https://127.0.0.1:{port}',
    'http://127.0.0.1',
    'http://127.0.0.1:{port}.evil.example',
    '',
]
OWN_ORIGIN = 'Origin: http://127.0.0.1:{port}'
SAME_SITE = 'Sec-Fetch-Site: same-origin'
#: What a browser says of requests of a foreign page other than a navigation to the page itself.
NAVIGATION = ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document']
NO_NAVIGATION = [
    [],
    ['Sec-Fetch-Mode: no-cors', 'Sec-Fetch-Dest: script'],
    ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: iframe'],
    ['Sec-Fetch-Mode: cors', 'Sec-Fetch-Dest: document'],
    ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: iframe', 'Sec-Fetch-Dest: document'],
]
FRAMED_OR_MALFORMED = [
    ['Content-Length: 0'],
    ['Content-Length: 5'],
    ['Transfer-Encoding: chunked'],
    ['transfer-encoding: identity'],
    ['Upgrade: websocket', 'Connection: Upgrade'],
    ['Content-Length : 5'],
    ['no colon'],
    ['X\x00: y'],
]
METHODS = ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'CONNECT', 'get', 'X']
OTHER_PATHS = [
    '/',
    '/ui/',
    '/{other}/ui/',
    '/{prefix}/ui',
    '/{prefix}//ui/',
    '/{prefix}/ui/../resource_providers',
    '/{prefix}/ui/%2e%2e/resource_providers',
    '/{prefix}/ui/..\\resource_providers',
    '/{prefix}/ui/app.js/../../allocations/x',
    '/{prefix}/ui/app.js%00',
    '/{prefix}/insight/../resource_providers',
    '/{prefix}/insight/providers/',
    '/{prefix}/insight/providers#x',
    '/{prefix}/insight/drain',
    '/{prefix}/names.json/',
    '/{prefix}/resource_providers',
    '/{prefix}/UI/',
    '/{PREFIX}/ui/',
    '/{half}/ui/',
    'http://evil.example/{prefix}/ui/',
    '/{prefix}/insight/providers?a=\x80',
    '/{prefix}/\xff/',
]

JSON = 'Content-Type: application/json'
#: What the page sends with a question that fits into no query.
POST = ['Host: 127.0.0.1:{port}', OWN_ORIGIN, SAME_SITE, JSON]
#: Bodies that are refused with 400.
NO_QUESTIONS = ['', '{', 'null', '[]', '"a"', '1', '{"a": 1} {}', '[' * 200_000, '\x00']
OTHER_POSTS = [
    '/{prefix}/insight/providers',
    '/{prefix}/insight/survival/',
    '/{prefix}/insight/../allocations',
    '/{prefix}/allocations',
    '/{half}/insight/survival',
]

UI = 'GET /{prefix}/ui/ HTTP/1.1'
DATA = 'GET /{prefix}/insight/providers HTTP/1.1'
HOST = 'Host: 127.0.0.1:{port}'
SITES = ['cross-site', 'same-site', 'nonsense']
QUESTION = 'POST /{prefix}/insight/survival HTTP/1.1'

#: Requests as lines, by the status of the refusal.
ATTACKS: dict[int, list[list[str]]] = {
    400: [[UI, HOST, *lines] for lines in FRAMED_OR_MALFORMED],
    403: [
        *([UI, f'Host: {host}'] for host in FORMS_OF_HOST),
        [UI],
        [UI, HOST, 'Host: evil.example'],
        [UI, HOST, HOST],
        ['GET /{prefix}/ui/ HTTP/1.0'],
        *([UI, HOST, f'Origin: {origin}'] for origin in FORMS_OF_ORIGIN),
        [UI, HOST, OWN_ORIGIN, 'Origin: http://evil.example'],
        *(
            [UI, HOST, f'Sec-Fetch-Site: {site}', *more]
            for site in SITES
            for more in NO_NAVIGATION
        ),
        *([DATA, HOST, f'Sec-Fetch-Site: {site}', *NAVIGATION] for site in SITES),
        *([DATA, HOST, SAME_SITE, f'Sec-Fetch-Site: {site}'] for site in SITES),
        [QUESTION, HOST, SAME_SITE, JSON, 'Content-Length: 2'],
        [QUESTION, 'Host: evil.example', *POST[1:], 'Content-Length: 2'],
        [QUESTION, *POST, 'Origin: http://evil.example', 'Content-Length: 2'],
        # A link leads to the page alone.
        *(
            [QUESTION, *POST, f'Sec-Fetch-Site: {site}', *NAVIGATION, 'Content-Length: 2']
            for site in SITES
        ),
    ],
    404: [[f'GET {path} HTTP/1.1', HOST] for path in OTHER_PATHS],
    405: [
        *([f'{method} /{{prefix}}/ui/ HTTP/1.1', HOST] for method in METHODS),
        *([f'POST {path} HTTP/1.1', *POST, 'Content-Length: 2'] for path in OTHER_POSTS),
    ],
    411: [
        [QUESTION, *POST],
        *(
            [QUESTION, *POST, f'Content-Length: {length}']
            for length in ('-1', '+2', '2, 2', 'x', '')
        ),
        [QUESTION, *POST, 'Content-Length: 2', 'Content-Length: 3'],
    ],
    413: [
        [QUESTION, *POST, f'Content-Length: {length}'] for length in (proxy.MAX_BODY + 1, 10**11)
    ],
    415: [
        [QUESTION, HOST, OWN_ORIGIN, SAME_SITE, 'Content-Length: 2', *lines]
        for lines in (
            [],
            ['Content-Type: text/plain'],
            ['Content-Type: application/x-www-form-urlencoded'],
            ['Content-Type: text/plain; application/json'],
            [JSON, 'Content-Type: text/plain'],
        )
    ],
}


@pytest.mark.parametrize(
    ('status', 'lines'), [(status, lines) for status in ATTACKS for lines in ATTACKS[status]]
)
def test_what_no_page_of_its_own_sends_is_refused(
    server: Proxy, service: Service, status: int, lines: list[str]
) -> None:
    refused(server, service, send(server, *lines), status)


@pytest.mark.parametrize('body', NO_QUESTIONS, ids=range(len(NO_QUESTIONS)))
def test_body_that_is_no_question_is_refused(server: Proxy, service: Service, body: str) -> None:
    lines = [QUESTION, *POST, f'Content-Length: {len(body)}']
    refused(server, service, send(server, *lines, body=body), 400)


def refused(server: Proxy, service: Service, answer: Received, status: int) -> None:
    assert answer.status == status
    assert service.asked == []
    assert CONTENT not in answer.content
    assert server.prefix.encode() not in answer.content
    assert 'Location' not in answer.headers


@pytest.mark.parametrize(
    'lines', [[OWN_ORIGIN], [SAME_SITE], ['Sec-Fetch-Site: cross-site', *NAVIGATION]]
)
def test_page_may_be_asked_for_by_itself_and_by_a_link(server: Proxy, lines: list[str]) -> None:
    assert send(server, UI, HOST, *lines).status == 200


def test_request_of_the_first_http_gets_nothing(server: Proxy, service: Service) -> None:
    answer = exchange(server, f'GET {page(server)}\r\n\r\n'.encode())
    assert CONTENT not in answer
    assert service.asked == []


def test_second_request_in_one_connection_is_not_read(server: Proxy, service: Service) -> None:
    host = f'Host: 127.0.0.1:{server.server_port}'
    one = f'GET {page(server)} HTTP/1.1\r\n{host}\r\nConnection: keep-alive\r\n\r\n'
    answer = exchange(server, 2 * one.encode())
    assert answer.count(b'HTTP/1.') == 1
    assert service.asked == ['/ui/']


def test_address_for_a_browser_leads_to_the_page_once(server: Proxy, service: Service) -> None:
    once = server.url_for_once().removeprefix(server.origin)
    assert server.prefix not in once
    foreign = send(server, f'GET {once} HTTP/1.1', 'Host: evil.example')
    refused(server, service, foreign, 403)
    answer = ask(server, once)
    assert (answer.status, answer.headers['Location']) == (302, server.url)
    refused(server, service, ask(server, once), 404)


def test_client_that_goes_away_is_no_error(
    server: Proxy, service: Service, capfd: pytest.CaptureFixture[str]
) -> None:
    service.answer = Answer(200, {}, b'x' * 10_000_000)
    with socket.create_connection((proxy.ADDRESS, server.server_port)) as connection:
        lines = f'GET {page(server)} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n'
        connection.sendall(lines.encode())
        connection.recv(1)
    service.answer = Answer(200, {}, b'small')
    assert ask(server, page(server)).content == b'small'
    assert capfd.readouterr().err == ''
