# SPDX-License-Identifier: Apache-2.0
"""Latency of API requests during a question about the whole cloud, and without it, in turns.

The same worker or another one answers the question. A program that only computes shows how much of
the difference is due to processor time.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.client import Client
from benchmarks.scenarios.claims import new_consumer
from benchmarks.services import Service
from placement.tests.functional.fixtures.clouds import claim

#: Number of measurements of each way.
TURNS = 4
TURN_SECONDS = 2.5
SMALL = {'VCPU': 1, 'MEMORY_MB': 512}
SEARCH = '/allocation_candidates?resources=VCPU:1,MEMORY_MB:512&limit=10'

#: Seconds of each request, by its name.
Latencies = Mapping[str, list[float]]


class Asking:
    """A client that asks a question, page after page, again and again, until it is stopped."""

    def __init__(self, port: int, path: str, body: Any) -> None:
        self._client = Client(port, limit=600)
        self._path, self._body = path, body
        self._is_stopped = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Asking:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_stopped.set()
        self._thread.join()
        self._client.close()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        path = self._path
        try:
            while not self._is_stopped.is_set():
                links = self._client.send('POST', path, self._body).json()['links']
                path = path_of(links[0]['href']) if links else self._path
        except Exception as failure:
            self._failure = failure


def path_of(link: str) -> str:
    """The path of a link, with its query."""
    parts = urllib.parse.urlsplit(link)
    return f'{parts.path}?{parts.query}'


@contextlib.contextmanager
def _computing() -> Iterator[None]:
    """Run a program that only computes."""
    program = subprocess.Popen([sys.executable, '-c', 'while True: sum(range(1000))'])
    try:
        yield
    finally:
        program.kill()
        program.wait()


def measure_beside(
    service: Service, other: Service, hosts: list[str], path: str, body: Any
) -> tuple[Latencies, ...]:
    """The latencies of requests to a service in four situations: without the question, during it
    in the same service or in another one, and during a program that only computes."""
    client = Client(service.port)
    chance = random.Random(1)
    ways: tuple[Callable[[], contextlib.AbstractContextManager[object]], ...] = (
        contextlib.nullcontext,
        partial(Asking, service.port, path, body),
        partial(Asking, other.port, path, body),
        _computing,
    )
    latencies: tuple[dict[str, list[float]], ...] = ({}, {}, {}, {})
    _work(client, hosts, chance, {}, seconds=1)
    for _ in range(TURNS):
        for beside, of_way in zip(ways, latencies, strict=True):
            with beside():
                _work(client, hosts, chance, of_way)
    client.close()
    return latencies


def _work(
    client: Client,
    hosts: list[str],
    chance: random.Random,
    latencies: dict[str, list[float]],
    seconds: float = TURN_SECONDS,
) -> None:
    """Search, claim, look and release, one after the other, for some seconds."""

    def timed(name: str, send: Callable[[], object]) -> None:
        begin = time.perf_counter()
        send()
        latencies.setdefault(name, []).append(time.perf_counter() - begin)

    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        consumer, body = new_consumer(), claim({chance.choice(hosts): SMALL})
        timed('search', partial(client.get, SEARCH))
        timed('claim', partial(client.send, 'PUT', consumer, body))
        timed('look', partial(client.get, consumer))
        timed('release', partial(client.send, 'DELETE', consumer))
