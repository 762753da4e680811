# SPDX-License-Identifier: Apache-2.0
"""The service in this process, with a meter: what an answer costs, and how it pauses."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar
from unittest import mock
from wsgiref.types import WSGIApplication

from webob import Request

from benchmarks.client import MICROVERSION, Answer, Client
from benchmarks.services import SETTINGS
from placement import conf as configuration
from placement import deploy
from placement.feed.keeper import SnapshotKeeper
from placement.feed.sink import open_database
from placement.http import validation
from placement_insight.search import sliced_work

Result = TypeVar('Result')


class InProcess(Client):
    """Sends the requests of a `Client` to an application."""

    def __init__(self, application: WSGIApplication) -> None:
        super().__init__(port=0)
        self.application = application

    def request(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer, whatever its status."""
        request = Request.blank(path, method=method)
        request.headers['X-Auth-Token'] = 'admin'
        request.headers['X-Roles'] = 'admin,service'
        request.headers['OpenStack-API-Version'] = f'placement {MICROVERSION}'
        if body is not None:
            request.content_type = 'application/json'
            request.body = json.dumps(body).encode()
        response = request.get_response(self.application)
        self.statuses[response.status_int] += 1
        return Answer(response.status_int, response.body)


class Cost(NamedTuple):
    """Seconds of processor and elapsed time, the parts of both for reading the database, and the
    longest time between two pauses."""

    cpu: float = 0.0
    wall: float = 0.0
    reading_cpu: float = 0.0
    reading_wall: float = 0.0
    held: float = 0.0

    def with_added(self, other: Cost) -> Cost:
        """The cost of both, one after the other."""
        return Cost(
            self.cpu + other.cpu,
            self.wall + other.wall,
            self.reading_cpu + other.reading_cpu,
            self.reading_wall + other.reading_wall,
            max(self.held, other.held),
        )


class _Clock:
    """Stands for the module `time` where questions pause."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Note the processor time, and sleep."""
        self.moments.append(time.process_time())
        time.sleep(seconds)


class Metered:
    """Sends requests to the service, and adds up what its answers cost."""

    def __init__(self, client: InProcess) -> None:
        self.cost = Cost()
        self._client = client

    def post(self, path: str, body: Any) -> Answer:
        """The answer to a question.

        :raises Unexpected: it was refused
        """
        clock = _Clock()
        reading_cpu = reading_wall = 0.0
        read_at_one_moment = SnapshotKeeper.read_at_one_moment

        def timed(keeper: SnapshotKeeper, read: Callable[..., Result]) -> Result:
            nonlocal reading_cpu, reading_wall
            began = time.process_time(), time.perf_counter()
            try:
                return read_at_one_moment(keeper, read)
            finally:
                reading_cpu += time.process_time() - began[0]
                reading_wall += time.perf_counter() - began[1]

        with (
            mock.patch.object(sliced_work, 'time', clock),
            mock.patch.object(validation, 'time', clock),
            mock.patch.object(SnapshotKeeper, 'read_at_one_moment', timed),
        ):
            begin = time.perf_counter()
            clock.moments.append(time.process_time())
            answer = self._client.send('POST', path, body)
            clock.moments.append(time.process_time())
            wall = time.perf_counter() - begin
        held = max(b - a for a, b in itertools.pairwise(clock.moments))
        cpu = clock.moments[-1] - clock.moments[0]
        self.cost = self.cost.with_added(Cost(cpu, wall, reading_cpu, reading_wall, held))
        return answer


@contextlib.contextmanager
def serving(url: str) -> Iterator[InProcess]:
    """A client of the service on a database, which has read the whole cloud as a worker does."""
    settings = {**SETTINGS, 'OS_PLACEMENT_DATABASE__CONNECTION': url}
    logging.disable(logging.WARNING)
    with mock.patch.dict(os.environ, settings):
        conf = configuration.load([])
        database = open_database(conf)
        client = InProcess(deploy.application_on(database, conf))
        gc.collect()
        gc.freeze()
        try:
            client.get('/allocation_candidates?resources=VCPU:1&limit=1')
            yield client
        finally:
            gc.unfreeze()
            database.dispose()
            logging.disable(logging.NOTSET)
