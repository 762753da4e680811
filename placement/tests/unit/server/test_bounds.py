# SPDX-License-Identifier: Apache-2.0
"""What one client may take from the others."""

import contextlib
import threading
from collections.abc import Iterable, Iterator
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from placement.server import descriptors, limits, server
from placement.tests.unit.server.running import GET, Client, Running, running, wait_until

PUT = b'PUT /path HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n'
CHUNKED = b'PUT /path HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'


class Application:
    """Answers with the size of the body; under /wait only when it is told to."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.working = 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.working += 1
        if environ['PATH_INFO'] == '/wait':
            self.go_on.wait()
        body = b'-' if environ['PATH_INFO'] == '/unread' else environ['wsgi.input'].read()
        start_response('200 OK', [])
        return [b'%d' % len(body)]


WAIT = GET.replace(b'/path', b'/wait')


@pytest.fixture
def application() -> Iterator[Application]:
    application = Application()
    yield application
    application.go_on.set()


@pytest.fixture(autouse=True)
def frequent_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, '_SWEEP_SECONDS', 0.02)


def test_clients_that_send_slowly_hold_no_thread(application: Application) -> None:
    with running(application, threads=1) as service:
        for start in (b'GET /pa', GET[:-2], PUT % 5 + b'abc', CHUNKED + b'3\r\nab'):
            for _ in range(25):
                service.client().send(start)

        assert service.ask()[0] == 200


def test_clients_that_read_slowly_hold_no_thread() -> None:
    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response('200 OK', [])
        return [b'x' * 8_000_000] if environ['PATH_INFO'] == '/large' else [b'']

    with running(application, threads=1) as service:
        for _ in range(5):
            service.client(receive_buffer=4096).send(GET.replace(b'/path', b'/large'))

        assert service.ask()[0] == 200


@pytest.mark.parametrize('start', [b'GET /pa', GET[:-2], PUT % 5 + b'abc'])
def test_request_that_does_not_arrive_in_time_is_refused_with_408(
    application: Application, start: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with running(application, header_timeout=0.2, body_timeout=0.2) as service:
        client = service.client()
        client.send(start)

        assert client.receive()[0] == 408
        assert client.is_closed()
        wait_until(lambda: 'did not arrive' in caplog.text)
        assert service.ask()[0] == 200


def test_bytes_in_between_do_not_prolong_the_time(application: Application) -> None:
    with running(application, header_timeout=0.3) as service:
        client = service.client()
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.02):
                client.send(b'X')

        dripping = threading.Thread(target=drip)
        client.send(b'GET /')
        dripping.start()
        assert client.receive()[0] == 408
        stop.set()
        dripping.join()


@pytest.mark.parametrize('first', [b'', GET])
def test_connection_without_a_request_is_closed_after_a_while(
    application: Application, first: bytes
) -> None:
    with running(application, header_timeout=0.2, keep_alive_timeout=0.2) as service:
        client = service.client()
        client.send(first)
        if first:
            assert client.receive()[0] == 200

        assert client.is_closed()


def test_time_for_a_request_begins_with_its_first_byte(application: Application) -> None:
    with running(application, header_timeout=0.2, keep_alive_timeout=60) as service:
        client = service.client()
        client.send(GET)
        client.receive()
        client.send(b'GET /')

        assert client.receive()[0] == 408


def test_client_that_does_not_read_its_answer_is_given_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response('200 OK', [])
        return [b'x' * 8_000_000]

    monkeypatch.setattr(limits, 'READ_RATE', 1 << 30)
    with running(application, answer_timeout=0.2) as service:
        client = service.client(receive_buffer=4096)
        client.send(GET)

        wait_until(lambda: 'answers not read' in caplog.text)


def test_newcomer_ends_the_connection_that_has_waited_longest(application: Application) -> None:
    with running(application, threads=2, max_connections=10) as service:
        working = service.client()
        working.send(WAIT)
        wait_until(lambda: application.working == 2)
        waiting = [asked_once(service) for _ in range(12)]

        assert [client.is_closed() for client in waiting[:3]] == [True] * 3
        for client in waiting[3:]:
            client.send(GET)
            assert client.receive()[0] == 200
        application.go_on.set()
        assert working.receive()[0] == 200


def asked_once(service: Running) -> Client:
    client = service.client()
    client.send(GET)
    assert client.receive()[0] == 200
    return client


def test_bodies_together_have_a_bound(application: Application) -> None:
    with running(application, max_buffered_size=1 << 20) as service:
        first, *others = [service.client() for _ in range(4)]
        for client in (first, *others):
            client.send(PUT % (400 << 10) + b'x' * (300 << 10))
            wait_until(lambda: service.server._buffered_size >= 300 << 10)

        assert first.is_closed()
        for client in others:
            client.send(b'x' * (100 << 10))
            assert client.receive()[2] == b'%d' % (400 << 10)
        wait_until(lambda: service.server._buffered_size == 0)


def test_body_that_alone_is_too_much_is_given_up(application: Application) -> None:
    with running(application, max_body_size=1000, max_buffered_size=100) as service:
        before = application.working
        client = service.client()
        client.send(CHUNKED + b'800\r\n' + b'x' * 0x800 + b'\r\n')

        assert client.is_closed()
        assert service.ask()[0] == 200
        assert application.working == before + 1
        assert service.server._buffered_size == 0


def test_body_beyond_the_bound_is_not_waited_for(application: Application) -> None:
    with running(application, max_body_size=1 << 20) as service:
        client = service.client()
        client.send((PUT % (1 << 30)).replace(b'/path', b'/unread') + b'x' * 1000)

        assert client.receive()[1]['connection'] == 'close'
        assert client.is_closed()


def test_body_in_chunks_arrives_cut_off_beyond_the_bound(application: Application) -> None:
    with running(application, max_body_size=1 << 20) as service:
        client = service.client()
        client.send(CHUNKED)
        for _ in range(2 << 4):
            client.send(b'10000\r\n' + b'x' * (64 << 10) + b'\r\n')
        status, headers, size = client.receive()

        assert (status, headers['connection']) == (200, 'close')
        assert 1 << 20 < int(size) < 2 << 20


@pytest.mark.parametrize('start', [PUT % (1 << 30), CHUNKED + b'fffffff\r\n'])
def test_body_that_is_not_wanted_is_not_waited_for(start: bytes) -> None:
    seen = []

    def refuse(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        seen.append(environ)
        start_response('401 Unauthorized', [])
        return []

    with running(refuse, wants_body=lambda environ: False) as service:
        client = service.client()
        client.send(start + b'x' * (128 << 10))

        assert client.receive()[0] == 401
        assert client.is_closed()
        with pytest.raises(OSError, match='not waited for'):
            seen[-1]['wsgi.input'].read()


def test_small_body_that_is_not_wanted_leaves_the_connection_open(
    application: Application,
) -> None:
    with running(application, wants_body=lambda environ: False) as service:
        client = service.client()
        client.send(PUT % 5 + b'abcde')

        assert client.receive()[2] == b'5'
        client.send(GET)
        assert client.receive()[0] == 200


def test_client_that_is_still_sending_can_read_the_refusal(application: Application) -> None:
    with running(application, max_body_size=1 << 10) as service:
        client = service.client()
        client.send((PUT % (300 << 10)).replace(b'/path', b'/unread'))
        client.send(b'x' * (300 << 10))

        assert client.receive()[0] == 200


def test_client_that_never_stops_sending_is_cut_off(application: Application) -> None:
    def send_everything(client: Client) -> None:
        for _ in range(1 << 10):
            client.socket.sendall(b'x' * (1 << 20))

    with running(application, max_body_size=1 << 10) as service:
        client = service.client()
        client.send((PUT % (1 << 30)).replace(b'/path', b'/unread'))
        assert client.receive()[0] == 200
        with pytest.raises(ConnectionError):
            send_everything(client)


class TestStop:
    """The end: what was accepted is answered, within a bound."""

    def test_requests_that_were_accepted_are_answered(self, application: Application) -> None:
        with running(application, threads=2) as service:
            clients = [service.client() for _ in range(16)]
            for client in clients:
                client.send(WAIT)
            idle = service.client()
            wait_until(lambda: application.working >= 3)
            service.server.stop()
            assert idle.is_closed()
            application.go_on.set()
            answers = [client.receive() for client in clients]
            service.stop()

        assert [status for status, _, _ in answers] == [200] * 16
        assert {headers['connection'] for _, headers, _ in answers} == {'close'}

    def test_requests_wait_in_the_queue_of_the_kernel_are_answered(
        self, application: Application
    ) -> None:
        with running(application) as service:
            with blocked_loop(service) as go_on:
                clients = [service.client() for _ in range(8)]
                for client in clients:
                    client.send(GET)
                service.server.stop()
                go_on.set()
            assert [client.receive()[0] for client in clients] == [200] * 8
            service.stop()

    def test_nobody_can_connect_any_more(self, application: Application) -> None:
        with running(application) as service:
            service.stop()

            with pytest.raises(ConnectionRefusedError):
                Client(service.port)

    def test_requests_that_never_end_are_given_up(
        self, application: Application, caplog: pytest.LogCaptureFixture
    ) -> None:
        with running(application, threads=1, stop_timeout=0.5) as service:
            working, queued, incomplete = (service.client() for _ in range(3))
            working.send(WAIT)
            wait_until(lambda: application.working == 2)
            queued.send(GET)
            incomplete.send(b'GET /')
            wait_until(lambda: len(service.server._connections) >= 3)
            service.stop()

        assert 'without having answered 2 requests' in caplog.text

    def test_a_second_signal_stops_at_once(self, application: Application) -> None:
        with running(application, threads=1, stop_timeout=3600) as service:
            service.client().send(WAIT)
            wait_until(lambda: application.working == 2)
            service.server.stop()
            service.stop()


@contextlib.contextmanager
def blocked_loop(service: Running) -> Iterator[threading.Event]:
    """Keep the event loop from accepting connections until the event is set."""
    go_on, blocked = threading.Event(), threading.Event()

    def block() -> None:
        blocked.set()
        go_on.wait()

    service.server._loop.call_soon_threadsafe(block)
    blocked.wait()
    try:
        yield go_on
    finally:
        go_on.set()


class TestDescriptors:
    """The number of connections that the operating system allows."""

    @pytest.mark.parametrize(
        ('soft', 'hard', 'wanted', 'set_to', 'available'),
        [
            (10_000, 10_000, 5000, None, 5000),
            (1024, 10_000, 5000, 5256, 5000),
            (1024, 4096, 5000, 4096, 3840),
            (1024, -1, 5000, 5256, 5000),
            (-1, -1, 5000, None, 5000),
            (200, 200, 5000, 200, 10),
        ],
    )
    def test_limit_is_raised_as_far_as_needed_and_allowed(
        self,
        monkeypatch: pytest.MonkeyPatch,
        soft: int,
        hard: int,
        wanted: int,
        set_to: int | None,
        available: int,
    ) -> None:
        changed = []
        monkeypatch.setattr(descriptors.resource, 'getrlimit', lambda which: (soft, hard))
        monkeypatch.setattr(
            descriptors.resource, 'setrlimit', lambda which, pair: changed.append(pair)
        )

        assert descriptors.available_connections(wanted) == available
        assert changed == ([] if set_to is None else [(set_to, hard)])
