# SPDX-License-Identifier: Apache-2.0
"""`GET /metrics`, in the text format of Prometheus."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from placement import errors
from placement.metrics import totals

LOG = logging.getLogger(__name__)

PATH = '/metrics'

#: Reads the gauges of the cloud; raises `errors.ServiceUnavailable` where the database does not
#: answer.
ReadCloud = Callable[[], Iterable[Metric]]


class _Scrape(Collector):
    """What one scrape shows."""

    def __init__(self, directory: str, read_cloud: ReadCloud) -> None:
        self._directory = directory
        self._read_cloud = read_cloud

    def collect(self) -> Iterator[Metric]:
        """Raises `OSError` where the files of the processes cannot be read."""
        yield from totals.read(self._directory)
        cloud: list[Metric] = []
        try:
            cloud = list(self._read_cloud())
        except errors.ServiceUnavailable as error:
            LOG.warning('The metrics of the cloud cannot be read: %s', error)
        # What was counted is told also where this service has a defect.
        except Exception:
            LOG.exception('The metrics of the cloud are not shown')
        yield GaugeMetricFamily(
            'placement_cloud_readable',
            'Whether the cloud could be read for this scrape: 1 or 0.',
            float(bool(cloud)),
        )
        yield from cloud


class Endpoint:
    """A WSGI application that answers every path with the metrics, one scrape at a time.

    503 where the files of the processes cannot be read, or another scrape takes longer than
    `wait_seconds`. Where threads are those of the API nobody waits: no token is needed here.
    """

    def __init__(self, directory: str, read_cloud: ReadCloud, wait_seconds: float = 0.0) -> None:
        self._wait_seconds = wait_seconds
        self._scrape = _Scrape(directory, read_cloud)
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        method = environ['REQUEST_METHOD']
        if method not in ('GET', 'HEAD'):
            return _answer(start_response, '405 Method Not Allowed', b'', ('Allow', 'GET, HEAD'))
        with _locked(self._lock, self._wait_seconds) as is_locked:
            if not is_locked:
                retry = ('Retry-After', '1')
                return _answer(start_response, '503 Service Unavailable', b'', retry)
            try:
                body = generate_latest(self._scrape)
            except OSError as error:
                LOG.error('The files with the metrics cannot be read: %s', error)
                return _answer(start_response, '503 Service Unavailable', b'')
        return _answer(start_response, '200 OK', body, is_empty=method == 'HEAD')


def answer_metrics(application: WSGIApplication, endpoint: Endpoint) -> WSGIApplication:
    """The application with `/metrics`, relative to its mount point."""

    def choose(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        chosen = endpoint if environ.get('PATH_INFO') == PATH else application
        return chosen(environ, start_response)

    return choose


@contextlib.contextmanager
def _locked(lock: threading.Lock, seconds: float) -> Iterator[bool]:
    """The lock for a block of code, and whether it could be had within so many seconds."""
    is_locked = lock.acquire(timeout=seconds)
    try:
        yield is_locked
    finally:
        if is_locked:
            lock.release()


def _answer(
    start_response: StartResponse,
    status: str,
    body: bytes,
    *headers: tuple[str, str],
    is_empty: bool = False,
) -> list[bytes]:
    start_response(
        status,
        [
            ('Content-Type', CONTENT_TYPE_PLAIN_0_0_4),
            ('Content-Length', str(len(body))),
            *headers,
        ],
    )
    return [] if is_empty else [body]
