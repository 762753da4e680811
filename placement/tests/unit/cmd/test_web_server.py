# SPDX-License-Identifier: Apache-2.0
"""The web server of the commands that serve by themselves, and clients that mean it harm."""

import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from waitress.adjustments import Adjustments

from placement.cmd import web_server


@pytest.fixture
def signals() -> Iterator[None]:
    """Restore the signal handlers after a test."""
    before = {number: signal.getsignal(number) for number in web_server.ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def parsed(head: bytes) -> web_server.BoundedParser:
    """A request after its head was read."""
    parser = web_server.BoundedParser(Adjustments())
    parser.received(b'GET / HTTP/1.1\r\n' + head + b'\r\n\r\n')
    assert parser.completed
    return parser


@pytest.mark.parametrize(
    'head',
    [
        b'X-A:' + b' ' * 65 + b'a',
        b'X-A: a' + b'\t ' * 33 + b'b',
        b'X-A: a' + b'\r\n ' * 65 + b'\x01',
    ],
    ids=['before', 'between', 'folded'],
)
def test_many_blanks_in_a_row_are_refused_before_headers_are_read(head: bytes) -> None:
    error = parsed(head).error

    assert error is not None
    assert (error.code, error.body) == (400, 'More than 64 blanks in a row')


def test_blanks_that_clients_send_are_accepted() -> None:
    parser = parsed(b'X-A:' + b' ' * 64 + b'a\r\nX-B: b' + b' ' * 64)

    assert parser.error is None
    assert parser.headers == {'X_A': 'a', 'X_B': 'b'}


@pytest.mark.usefixtures('signals')
def test_served_requests_are_read_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def application(_environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        start('204 No Content', [])
        return []

    def ask() -> None:
        with socket.create_connection(address, timeout=60) as client:
            client.sendall(b'GET / HTTP/1.1\r\nX-A:' + b' ' * 32_000 + b'\x01\r\n\r\n')
            answers.append(client.makefile('rb').read())
        signal.raise_signal(signal.SIGTERM)

    answers: list[bytes] = []
    monkeypatch.setattr(web_server, 'STOP_SETTLE_SECONDS', 0)
    with web_server.listen('127.0.0.1', 0) as listening:
        address = listening.getsockname()
        client = threading.Thread(target=ask)
        web_server.serve(application, listening, 1, client.start)
    client.join()

    assert b'More than 64 blanks in a row' in answers[0]
