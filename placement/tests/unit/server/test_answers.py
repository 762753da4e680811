# SPDX-License-Identifier: Apache-2.0
"""What a server makes of the answers of an application."""

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest

from placement.tests.unit.server.running import GET, SECONDS, running, wait_until


def answering(
    status: str = '200 OK',
    headers: Iterable[tuple[str, str]] = (),
    body: Callable[[], Iterable[bytes]] = lambda: [b'ok'],
) -> WSGIApplication:
    """An application with one answer."""

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        start_response(status, list(headers))
        return body()

    return application


def test_answer_is_sent_with_what_the_server_knows_of_it() -> None:
    with running(answering(headers=[('X-One', '1'), ('Connection', 'x')])) as service:
        status, headers, body = service.ask()

    assert (status, body) == (200, b'ok')
    assert headers['x-one'] == '1'
    assert headers['content-length'] == '2'
    assert headers['server'] == 'placement'
    assert headers['date'].endswith(' GMT')
    assert 'connection' not in headers


def test_pieces_are_joined_and_the_iterable_is_closed() -> None:
    closed = []

    class Pieces(list[bytes]):
        def close(self) -> None:
            closed.append(True)

    with running(answering(body=lambda: Pieces([b'a', b'', b'b']))) as service:
        assert service.ask()[2] == b'ab'

    wait_until(lambda: bool(closed))


def test_iterable_is_closed_when_the_answer_is_on_its_way(
    caplog: pytest.LogCaptureFixture,
) -> None:
    received = threading.Event()
    closed = []

    class Pieces(list[bytes]):
        def close(self) -> None:
            closed.append(received.wait(SECONDS))
            raise ZeroDivisionError('by nothing')

    with running(answering(body=lambda: Pieces([b'a'])), threads=2) as service:
        # One that asked whether the server runs.
        received.set()
        wait_until(lambda: len(closed) == 1)
        received.clear()
        assert service.ask()[2] == b'a'
        received.set()
        wait_until(lambda: len(closed) == 2)

    assert closed == [True, True]
    wait_until(lambda: 'The application failed after it had answered.' in caplog.messages)


def test_written_pieces_come_first() -> None:
    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        start_response('200 OK', [])(b'written ')
        return [b'returned']

    with running(application) as service:
        assert service.ask()[2] == b'written returned'


@pytest.mark.parametrize('status', ['204 No Content', '304 Not Modified'])
def test_answer_without_a_body_has_no_length(status: str) -> None:
    with running(answering(status, body=list)) as service:
        client = service.client()
        client.send(GET + GET)

        assert 'content-length' not in client.receive()[1]
        assert client.receive()[0] == int(status[:3])


def fail() -> Iterable[bytes]:
    raise ZeroDivisionError('by nothing')


def fail_late() -> Iterable[bytes]:
    yield b'a'
    fail()


@pytest.mark.parametrize(
    'application',
    [
        answering(body=fail),
        answering(body=fail_late),
        answering(headers=[('X-One', 'a\r\nX-Two: b')]),
        answering(headers=[('X-One', 'a\nX-Two: b')]),
        answering(headers=[('X-One', '\u20ac')]),
        lambda environ, start_response: [b'never started'],
    ],
)
def test_failing_application_is_logged_and_answered_with_500(
    application: WSGIApplication, caplog: pytest.LogCaptureFixture
) -> None:
    with running(application) as service:
        caplog.clear()
        client = service.client()
        client.send(GET + GET)
        answers = [client.receive(), client.receive()]

    for status, headers, body in answers:
        assert status == 500
        assert 'x-two' not in headers
        assert b'nothing' not in body
        assert json.loads(body)['errors'][0]['status'] == 500
    assert len([record for record in caplog.records if record.exc_info]) == 2


def test_large_answer_arrives_whole() -> None:
    body = bytes(range(256)) * 10_000
    with running(answering(body=lambda: [body[:1], body[1:]])) as service:
        client = service.client(receive_buffer=4096)
        client.send(GET + GET)

        assert client.receive()[2] == body
        assert client.receive()[2] == body
