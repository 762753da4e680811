# SPDX-License-Identifier: Apache-2.0
"""Clients that send slowly, many at a time, while the health check is asked beside them.

Each attack ends by itself: connections and seconds are counted.
"""

import asyncio
import contextlib
import dataclasses
import functools
import resource
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine

HOST = '127.0.0.1'
DRIPPING = 500
KEEPING = 2000
# Connections that are opened at a time.
_AT_ONCE = 50
# As long as etc/haproxy/placement.cfg waits for a connection, and then for an answer to a check.
_CHECK_SECONDS = 5 + 5

_TOKEN = b'X-Auth-Token: admin\r\n'
_BODY = b'Content-Type: application/json\r\nContent-Length: 10000\r\n'

#: What comes before the bytes that are sent one by one.
STARTS = {
    'request line': b'GET /resource_providers?name=',
    'header': b'GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ',
    'body without a token':
        b'POST /resource_providers HTTP/1.1\r\nHost: localhost\r\n' + _BODY + b'\r\n{"',
    'body with a token':
        b'POST /resource_providers HTTP/1.1\r\nHost: localhost\r\n' + _TOKEN + _BODY + b'\r\n{"',
}  # fmt: skip


@dataclasses.dataclass
class Outcome:
    """The answers to the health check during an attack."""

    seconds: list[float] = dataclasses.field(default_factory=list)
    failures: list[str] = dataclasses.field(default_factory=list)
    answered: int = 0

    def __str__(self) -> str:
        median, most = statistics.median(self.seconds), max(self.seconds)
        return (
            f'{len(self.seconds)} health checks, median {median:.3f} s, longest {most:.3f} s, '
            f'failures {self.failures}, {self.answered} other requests answered'
        )


def drip(port: int, start: bytes, seconds: float = 7, count: int = DRIPPING) -> Outcome:
    """Send a byte each second on many connections; those that are closed are made anew."""
    outcome = Outcome()
    client = functools.partial(_drip, port, start, seconds)
    asyncio.run(_attack(port, outcome, seconds, count, client))
    return outcome


def keep_alive(port: int, seconds: float = 20, count: int = KEEPING) -> Outcome:
    """Ask something every few seconds on each of many connections."""
    outcome = Outcome()
    client = functools.partial(_ask_now_and_then, port, outcome, seconds)
    asyncio.run(_attack(port, outcome, seconds, count, client))
    return outcome


Client = Callable[[], Coroutine[None, None, None]]


async def _drip(port: int, start: bytes, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, TimeoutError):
            async with _connected(port, end) as (reader, writer):
                writer.write(start)
                while not reader.at_eof():
                    writer.write(b'x')
                    await writer.drain()
                    await asyncio.sleep(1)
        await asyncio.sleep(0.5)


async def _ask_now_and_then(port: int, outcome: Outcome, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # A server may end a connection between two requests.
        with contextlib.suppress(TimeoutError, OSError, EOFError):
            async with _connected(port, end) as (reader, writer):
                while True:
                    writer.write(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
                    await _read_answer(reader)
                    outcome.answered += 1
                    await asyncio.sleep(5)
        await asyncio.sleep(0.5)


async def _attack(port: int, outcome: Outcome, seconds: float, count: int, client: Client) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    async with asyncio.TaskGroup() as clients:
        for number in range(count):
            clients.create_task(client())
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0.05)
        clients.create_task(_watch(port, outcome, seconds - 2))


async def _watch(port: int, outcome: Outcome, seconds: float) -> None:
    """Ask the health check twice a second, each time on a new connection."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        started = time.monotonic()
        try:
            async with _connected(port, started + _CHECK_SECONDS) as (reader, writer):
                writer.write(b'GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n')
                status = await _read_answer(reader)
            if status != 200:
                outcome.failures.append(str(status))
        except (OSError, TimeoutError, EOFError) as error:
            outcome.failures.append(repr(error))
        outcome.seconds.append(time.monotonic() - started)
        await asyncio.sleep(0.5)


@contextlib.asynccontextmanager
async def _connected(
    port: int, end: float
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection; what is done with it ends with TimeoutError at that time."""
    async with asyncio.timeout(end - time.monotonic()):
        reader, writer = await asyncio.open_connection(HOST, port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def _read_answer(reader: asyncio.StreamReader) -> int:
    """Read an answer that announces its length; its status."""
    head = (await reader.readuntil(b'\r\n\r\n')).lower()
    length = head.partition(b'\r\ncontent-length:')[2].partition(b'\r\n')[0]
    await reader.readexactly(int(length))
    return int(head.split()[1])
