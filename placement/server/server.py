# SPDX-License-Identifier: Apache-2.0
"""The server: all connections, the bounds over all of them, and the end."""

from __future__ import annotations

import asyncio
import collections
import functools
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any
from wsgiref.types import WSGIApplication

from placement.server import answer, limits, request, signals
from placement.server.connection import Connection
from placement.server.limits import Limits
from placement.server.listener import BACKLOG
from placement.server.request import Request
from placement.server.workers import Workers

LOG = logging.getLogger(__name__)

SOFTWARE = 'placement'
_ACCEPTED_AT_ONCE = 64
_SWEEP_SECONDS = 1.0
_LOG_SECONDS = 60.0


def _always(environ: dict[str, Any]) -> bool:
    return True


class Server:
    """Serves a WSGI application on one listening socket with a number of threads.

    `wants_body` tells from the environment whether the application will read the body of a
    request. One that it will not read is not waited for once it is larger than
    `limits.UNWANTED_BODY_SIZE`: the application is called without it, and the connection ends.
    """

    def __init__(
        self,
        application: WSGIApplication,
        threads: int,
        bounds: Limits | None = None,
        wants_body: Callable[[dict[str, Any]], bool] = _always,
    ) -> None:
        self.limits = bounds or Limits()
        self._application = application
        self._threads = threads
        self._wants_body = wants_body
        # Those that have waited longest for their clients come first.
        self._connections: collections.OrderedDict[Connection, None] = collections.OrderedDict()
        self._connecting: set[asyncio.Task[Any]] = set()
        self._buffered_size = 0
        self._given_up: collections.Counter[str] = collections.Counter()
        self._logged_at = float('-inf')
        self.is_stopping = False

    def run(self, listener: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until `stop` is called or, in the main thread, SIGINT or SIGTERM arrives.

        `ready` is called when both have their meaning and connections are accepted. Returns when
        what was accepted has been answered, or `limits.stop_timeout` seconds later, or at a
        second signal. The listener is closed.
        """
        asyncio.run(self._run(listener, ready))

    async def _run(self, listener: socket.socket, ready: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        self._stop_now = asyncio.Event()
        self._workers = Workers(self._threads)
        self._address = listener.getsockname()[:2]
        if threading.current_thread() is threading.main_thread():
            for number in signals.ENDING:
                self._loop.add_signal_handler(number, self._stop)
        listener.setblocking(False)
        listener.listen(BACKLOG)
        self._loop.add_reader(listener, self._accept, listener)
        ready()
        while not await _is_set_within(self._stop_asked, _SWEEP_SECONDS):
            self._sweep()
        self._loop.remove_reader(listener)
        # What clients have connected to already would be reset with the socket.
        self._accept(listener, BACKLOG)
        listener.close()
        await self._finish()

    def stop(self) -> None:
        """Have `run` return; may be called by any thread while it runs."""
        self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self.is_stopping:
            self._stop_now.set()
        self.is_stopping = True
        self._stop_asked.set()

    # The server of asyncio drops what it has accepted at the moment when it is closed.
    def _accept(self, listener: socket.socket, most: int = _ACCEPTED_AT_ONCE) -> None:
        """Accept the connections that wait, so many of them at a time."""
        for _ in range(most):
            try:
                accepted, _address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                LOG.warning('Cannot accept a connection: %s', error)
                self._loop.remove_reader(listener)
                if not self.is_stopping:
                    self._loop.call_later(_SWEEP_SECONDS, self._accept_again, listener)
                return
            connecting = self._loop.create_task(
                self._loop.connect_accepted_socket(lambda: Connection(self), accepted)
            )
            # The event loop itself keeps no task alive.
            self._connecting.add(connecting)
            connecting.add_done_callback(self._connecting.discard)

    def _accept_again(self, listener: socket.socket) -> None:
        if not self.is_stopping:
            self._loop.add_reader(listener, self._accept, listener)

    # What connections ask and tell.

    def base_environment(self, client: Any) -> dict[str, Any]:
        """What the environments of all requests of a client's connection share."""
        address = client[:2] if isinstance(client, tuple) else None
        return request.connection_environment(self._address, address, SOFTWARE)

    def add(self, connection: Connection) -> None:
        """Count a new connection in; the one that has waited longest makes room when needed."""
        self._connections[connection] = None
        if len(self._connections) > self.limits.max_connections:
            self._give_up('connections to make room for others', lambda other: True)

    def remove(self, connection: Connection) -> None:
        """Count a connection out that has ended."""
        self._connections.pop(connection, None)

    def begin_waiting(self, connection: Connection) -> float:
        """Put a connection behind the others that wait for their clients; the time."""
        if connection in self._connections:
            self._connections.move_to_end(connection)
        return self._loop.time()

    def keep(self, size: int) -> None:
        """Count bytes of bodies in, or out; the oldest incomplete body makes room when needed."""
        self._buffered_size += size
        if size > 0 and self._buffered_size > self.limits.max_buffered_size:
            self._give_up(
                'incomplete bodies to make room for others',
                lambda other: other.has_incomplete_body,
            )

    def max_body_size(self, environ: dict[str, Any]) -> int:
        """Bytes of the body that are waited for."""
        most = self.limits.max_body_size
        return most if self._wants_body(environ) else min(most, limits.UNWANTED_BODY_SIZE)

    def submit(self, connection: Connection, found: Request) -> None:
        """Have a worker answer a request; the connection is told in the event loop."""
        found.environ['wsgi.input'] = found.input(self.limits.max_body_size)
        self._workers.submit(functools.partial(self._answer, connection, found.environ))

    def _answer(self, connection: Connection, environ: dict[str, Any]) -> None:
        """Answer a request; called by a worker."""
        found = answer.run(self._application, environ)
        try:
            self._loop.call_soon_threadsafe(connection.answered, found)
        except RuntimeError:
            LOG.warning('A request was answered too late: the server has stopped.')
        found.close()

    # Ends of waiting.

    def _give_up(self, what: str, is_candidate: Callable[[Connection], bool]) -> None:
        """End the connection that has waited longest, of those that may be ended."""
        for connection in self._connections:
            if not connection.is_working and is_candidate(connection):
                self._given_up[what] += 1
                connection.abort()
                del self._connections[connection]
                return

    def _sweep(self) -> None:
        """End what has waited too long for its client, and log how much that was."""
        now = self._loop.time()
        late = [
            connection
            for connection in self._connections
            if connection.deadline <= now and not connection.is_working
        ]
        for connection in late:
            if connection.expire():
                self._given_up['requests that did not arrive, or answers not read, in time'] += 1
        if self._given_up and now - self._logged_at >= _LOG_SECONDS:
            counts = ', '.join(f'{count} {what}' for what, count in self._given_up.items())
            LOG.warning('Gave up %s; %d connections are open.', counts, len(self._connections))
            self._given_up.clear()
            self._logged_at = now

    async def _finish(self) -> None:
        """Answer what has arrived, or is about to; give up what takes too long."""
        end = self._loop.time() + self.limits.stop_timeout
        await _is_set_within(self._stop_now, limits.STOP_SETTLE_SECONDS)
        while self._connections and self._loop.time() < end:
            self._sweep()
            for connection in list(self._connections):
                connection.stop_waiting()
            if await _is_set_within(self._stop_now, 0.05):
                break
        working = sum(connection.is_working for connection in self._connections)
        if working:
            LOG.warning('Stopped without having answered %d requests.', working)
        for connection in list(self._connections):
            connection.abort()
        self._workers.stop()


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether an event was set within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
