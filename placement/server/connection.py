# SPDX-License-Identifier: Apache-2.0
"""One client's connection: requests in, one at a time to a worker, answers out.

A connection waits for its client (for a request, or for its answer to be read) or for a worker.
While it waits for a worker it reads nothing.
"""

from __future__ import annotations

import asyncio
import collections
import http
from typing import TYPE_CHECKING

import httptools

from placement.server import answer as answers
from placement.server import limits, request
from placement.server.answer import Answer
from placement.server.request import Request

if TYPE_CHECKING:
    from placement.server.server import Server

_CONTINUE = b'HTTP/1.1 100 Continue\r\n\r\n'


class Connection(asyncio.Protocol):
    """The protocol of one connection; the parser calls its ``on_...`` methods."""

    _transport: asyncio.Transport

    def __init__(self, host: Server) -> None:
        self._host = host
        self._limits = host.limits
        self._parser = httptools.HttpRequestParser(self)
        # The request that is being read, and the one that a worker has.
        self._request: Request | None = None
        self._current: Request | None = None
        # Requests that came together and wait for the current one.
        self._ready: collections.deque[Request] = collections.deque()
        self._header_size = self._wire_size = self._linger_size = 0
        self._max_body_size = 0
        # What was received and not parsed yet; reading is paused meanwhile.
        self._unread = b''
        self._output: collections.deque[memoryview] = collections.deque()
        self._is_writable = True
        self._is_sending = False
        # No more of what the client sends is parsed; what was parsed is answered.
        self._is_reading_over = False
        # The client has closed its direction.
        self._is_ended = False
        self._is_last_answer = False
        self._is_lingering = False
        #: Bytes of bodies that are kept for requests not answered yet.
        self.buffered_size = 0
        #: When the client is no longer waited for, on the clock of the event loop.
        self.deadline = 0.0

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._base = self._host.base_environment(transport.get_extra_info('peername'))
        self._wait(self._limits.header_timeout)
        self._host.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; what a worker does for it is finished and then dropped."""
        self._forget()
        self._host.remove(self)

    def data_received(self, data: bytes) -> None:
        """Read on, or keep the bytes until the requests before are answered."""
        if self._is_lingering:
            self._linger_size += len(data)
            if self._linger_size > limits.LINGER_SIZE:
                self._transport.abort()
        elif self.is_busy or self._unread:
            self._unread += data
            self._transport.pause_reading()
        else:
            self._read(data)

    def eof_received(self) -> bool:
        """Keep the other direction open while there is something to answer."""
        self._is_ended = True
        return self.is_busy

    def pause_writing(self) -> None:
        """Write no more for now: the client reads slower than we write."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """Write on."""
        self._is_writable = True
        if self._is_sending:
            self._write_on()

    # What the server asks and tells.

    @property
    def is_working(self) -> bool:
        """Whether a worker has a request of this connection, or will have it."""
        return self._current is not None

    @property
    def is_busy(self) -> bool:
        """Whether something is being answered."""
        return self._current is not None or self._is_sending

    @property
    def has_incomplete_body(self) -> bool:
        """Whether a part of a body is kept, and the rest is waited for."""
        return self._request is not None and self._request.body_size > 0

    def expire(self) -> bool:
        """End the connection, whose client has not done in time what it was waited for.

        False when there was nothing that it had to do.
        """
        if self._request is None or self.is_busy or self._is_lingering:
            is_owing = self._is_sending
            self._transport.abort()
            return is_owing
        self._refuse(http.HTTPStatus.REQUEST_TIMEOUT, 'The request did not arrive in time.')
        return True

    def abort(self) -> None:
        """End the connection at once."""
        self._forget()
        self._transport.abort()

    def stop_waiting(self) -> None:
        """End the connection if no part of a request has arrived."""
        if not (self.is_busy or self._request or self._unread or self._is_lingering):
            self._transport.close()

    # Reading.

    def _read(self, data: bytes) -> None:
        """Parse a slice at a time, until there is a request to work on."""
        position = 0
        while position < len(data):
            if self.is_busy or self._is_reading_over:
                self._unread = data[position:]
                if not self._transport.is_closing():
                    self._transport.pause_reading()
                return
            piece = data[position : position + limits.PARSER_SLICE]
            position += len(piece)
            self._parse(piece)

    def _parse(self, piece: bytes) -> None:
        """Hand a slice to the parser, and count what it has of the message in it."""
        self._wire_size += len(piece)
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            # No protocol to change to is known here: the request was answered as it is, and
            # what follows may be in the other protocol.
            self._is_reading_over = True
        except httptools.HttpParserCallbackError as error:
            reason = error.__context__
            if not isinstance(reason, request.BadRequest):
                raise
            self._refuse(http.HTTPStatus.BAD_REQUEST, str(reason))
        except httptools.HttpParserError as error:
            self._refuse(http.HTTPStatus.BAD_REQUEST, f'The request is malformed: {error}.')
        else:
            self._check_sizes(len(piece))

    def _check_sizes(self, size: int) -> None:
        """Refuse a request with too long a header, or too small chunks."""
        found = self._request
        if found is None or not found.has_headers:
            self._header_size += size
            if self._header_size > self._limits.max_header_size:
                self._refuse_header()
            return
        framing = self._wire_size - self._limits.max_header_size - 2 * found.body_size
        if framing > limits.MAX_CHUNK_FRAMING:
            self._refuse(http.HTTPStatus.BAD_REQUEST, 'The chunks of the body are too small.')

    def _refuse_header(self) -> None:
        most = self._limits.max_header_size
        self._refuse(
            http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f'Request line and headers may have {most} bytes together.',
        )

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._request = Request()
        self._header_size = self._wire_size = 0
        if not self.is_busy:
            self._wait(self._limits.header_timeout)

    def on_url(self, url: bytes) -> None:
        """Add a part of the target."""
        if self._request is not None:
            self._request.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; those after the body, trailers, are left out."""
        if self._request is not None and not self._request.has_headers:
            self._request.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Find out what to do with the body."""
        found, parser = self._request, self._parser
        if found is None:
            return
        found.method = parser.get_method().decode('ascii')
        found.version = parser.get_http_version()
        found.keeps_alive = parser.should_keep_alive()
        found.make_environment(self._base)
        if not found.has_body:
            return
        if parser.should_upgrade():
            raise request.BadRequest('A request with a body cannot change the protocol.')
        self._max_body_size = self._host.max_body_size(found.environ)
        if found.announced_size > self._max_body_size:
            self._submit_incomplete(found)
            return
        if not self.is_busy:
            self._wait(self._limits.body_timeout)
            self._send_continue(found)

    def _send_continue(self, found: Request) -> None:
        """Tell a client to send the body that waits for that."""
        expected = found.environ.get('HTTP_EXPECT', '').lower()
        if expected == '100-continue' and found.version == '1.1':
            self._transport.write(_CONTINUE)

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body, up to the bound."""
        found = self._request
        if found is None:
            return
        found.body.append(body)
        found.body_size += len(body)
        self._keep(len(body))
        if self._request is None:
            # All bodies together were too large, and this one was given up.
            return
        if found.body_size > self._max_body_size:
            self._submit_incomplete(found)

    def on_message_complete(self) -> None:
        """Have the request answered."""
        if self._request is not None:
            self._request.is_complete = True
            self._submit(self._request)

    # Answering.

    def _submit_incomplete(self, found: Request) -> None:
        """Have a request answered whose body is too large; its connection ends with that."""
        found.keeps_alive = False
        self._is_reading_over = True
        self._submit(found)

    def _submit(self, found: Request) -> None:
        self._request = None
        self._ready.append(found)
        if not self.is_busy:
            self._work()

    def _work(self) -> None:
        """Have the first request answered."""
        self._current = self._ready.popleft()
        self._host.submit(self, self._current)

    def answered(self, answer: Answer) -> None:
        """Send the answer of a worker."""
        found, self._current = self._current, None
        assert found is not None
        self._keep(-found.body_size)
        if self._transport.is_closing():
            return
        is_over = self._is_reading_over and not self._ready
        self._is_last_answer = is_over or not found.keeps_alive or self._host.is_stopping
        self._send(answer, found.method != 'HEAD', found.version)

    def _refuse(self, status: http.HTTPStatus, detail: str) -> None:
        """Answer by ourselves, unless there is something before, and end the connection."""
        self._is_reading_over = True
        self._request = None
        if not self.is_busy:
            self._is_last_answer = True
            self._send(answers.refusal(status, detail), True, '1.1')

    def _send(self, answer: Answer, with_body: bool, version: str) -> None:
        if self._is_last_answer:
            ending = b'Connection: close\r\n\r\n'
        elif version == '1.0':
            ending = b'Connection: keep-alive\r\n\r\n'
        else:
            ending = b'\r\n'
        parts = [answer.head, ending, *(answer.body if with_body else ())]
        size = sum(map(len, parts))
        if size <= limits.WRITE_SLICE:
            parts = [b''.join(parts)]
        self._wait(self._limits.answer_timeout + size / limits.READ_RATE)
        self._is_sending = True
        self._output.extend(map(memoryview, parts))
        self._write_on()

    def _write_on(self) -> None:
        """Write as much of the answer as the client takes."""
        output = self._output
        while output and self._is_writable:
            part = output.popleft()
            if len(part) > limits.WRITE_SLICE:
                output.appendleft(part[limits.WRITE_SLICE :])
                part = part[: limits.WRITE_SLICE]
            self._transport.write(part)
        if not output and self._is_writable:
            self._is_sending = False
            self._sent()

    def _sent(self) -> None:
        """Go on to what the client has sent meanwhile, or wait for it."""
        if self._is_last_answer:
            self._end()
        elif self._ready:
            self._work()
        elif self._transport.is_closing():
            return
        else:
            self._wait_for_request()

    def _wait_for_request(self) -> None:
        timeouts = self._limits
        waiting = timeouts.keep_alive_timeout if self._request is None else timeouts.header_timeout
        self._wait(waiting)
        unread, self._unread = self._unread, b''
        if unread:
            self._read(unread)
        if self.is_busy or self._unread or self._is_lingering:
            return
        if self._is_ended:
            self._transport.close()
        else:
            self._transport.resume_reading()

    # Waiting and ending.

    def _forget(self) -> None:
        """Let go of what was received and is not with a worker, and of what is to be sent."""
        kept = 0 if self._current is None else self._current.body_size
        self._keep(kept - self.buffered_size)
        self._request = None
        self._ready.clear()
        self._output.clear()
        self._is_reading_over = True

    def _keep(self, size: int) -> None:
        """Count bytes of bodies, or with a negative number those that are let go."""
        if size:
            self.buffered_size += size
            self._host.keep(size)

    def _wait(self, seconds: float) -> None:
        """Wait for the client so long, beginning now."""
        self.deadline = self._host.begin_waiting(self) + seconds

    def _end(self) -> None:
        """Close the connection so that a client that is still sending can read the answer."""
        self._is_reading_over = True
        self._ready.clear()
        if self._is_ended:
            self._transport.close()
            return
        self._is_lingering = True
        self._unread = b''
        self._transport.write_eof()
        self._wait(limits.LINGER_SECONDS)
        self._transport.resume_reading()
