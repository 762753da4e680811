# SPDX-License-Identifier: Apache-2.0
"""`GET /metrics`: the counts of all processes, in the text format of Prometheus."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from wsgiref.simple_server import WSGIServer
from wsgiref.types import StartResponse, WSGIEnvironment

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import make_wsgi_app, start_wsgi_server
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from placement import errors
from placement.metrics.catalog import Kind, Metric
from placement.metrics.slot import readable_files


def read_counts(directory: str, metrics: Iterable[Metric]) -> Iterator[Family]:
    """The counts of these metrics, in their order; those of other releases are left out.

    :raises Exception: the directory cannot be read, or a file in it is damaged
    """
    merged = {
        family.name: family for family in MultiProcessCollector.merge(readable_files(directory))
    }
    for metric in metrics:
        kind = metric.kind.value.partition('_')[0]
        family = Family(metric.family, metric.help, kind)
        if metric.family in merged:
            family.samples = merged[metric.family].samples
        if not all(sample.value >= 0 for sample in family.samples):
            raise ValueError(f'a value of {metric.name} is damaged')
        counted = {tuple(sample.labels.values()) for sample in family.samples}
        for labels in _known_labels(metric):
            if labels not in counted:
                family.add_sample(metric.name, dict(zip(metric.labels, labels, strict=True)), 0.0)
        if family.samples:
            yield family


def _known_labels(metric: Metric) -> list[tuple[str, ...]]:
    """The labels under which a counter is shown before anything was counted."""
    if metric.kind is not Kind.COUNTER:
        return []
    return [(value,) for value in metric.values] if metric.labels else [()]


LOG = logging.getLogger(__name__)

PATH = '/metrics'

# Maximum number of scrapes that wait for another one in threads of the API, and their timeout.
# The path needs no token: with more of them anyone could occupy all threads of a process.
MAX_WAITING = 1
SECONDS_TO_WAIT = 1.0

#: Reads the gauges of the cloud; raises `errors.ServiceUnavailable` if the database does not
#: answer.
ReadCloud = Callable[[], Iterable[Family]]


class _Scrape(Collector):
    """The metrics of one scrape."""

    def __init__(self, directory: str, metrics: Sequence[Metric], read_cloud: ReadCloud) -> None:
        self._directory = directory
        self._metrics = metrics
        self._read_cloud = read_cloud

    def collect(self) -> Iterator[Family]:
        """The counts, and the gauges of the cloud if they can be read.

        :raises Exception: see `read_counts`
        """
        yield from read_counts(self._directory, self._metrics)
        cloud: list[Family] = []
        try:
            cloud = list(self._read_cloud())
        except errors.ServiceUnavailable as error:
            LOG.warning('The metrics of the cloud cannot be read: %s', error)
        # Serve the counts even if reading the gauges has a defect.
        except Exception:
            LOG.exception('The metrics of the cloud are not shown')
        yield GaugeMetricFamily(
            'placement_cloud_readable',
            'Whether the cloud could be read for this scrape: 1 or 0.',
            float(bool(cloud)),
        )
        yield from cloud


class Endpoint:
    """The WSGI application of prometheus_client, for any path, one scrape at a time.

    Answers 503 if the files of the processes cannot be read or are damaged, if another scrape
    takes longer than `wait_seconds`, or if `max_waiting` scrapes wait already.
    """

    def __init__(
        self,
        directory: str,
        metrics: Sequence[Metric],
        read_cloud: ReadCloud,
        wait_seconds: float = SECONDS_TO_WAIT,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self._waiting = threading.BoundedSemaphore(max_waiting)
        self.registry = CollectorRegistry()
        self.registry.register(_Scrape(directory, metrics, read_cloud))
        self._application = make_wsgi_app(self.registry, disable_compression=True)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not self._lock.acquire(blocking=False) and not self._acquired_after_waiting():
            return _unavailable(start_response, ('Retry-After', '1'))
        try:
            return self._scrape(environ, start_response)
        # For a damaged file the library raises errors of many kinds.
        except Exception as error:
            LOG.error('The files with the metrics cannot be read: %r', error)
            return _unavailable(start_response)
        finally:
            self._lock.release()

    def _acquired_after_waiting(self) -> bool:
        if not self._waiting.acquire(blocking=False):
            return False
        try:
            return self._lock.acquire(timeout=self._wait_seconds)
        finally:
            self._waiting.release()

    def _scrape(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer in one format and with Content-Length, which keep-alive needs."""
        is_head = environ['REQUEST_METHOD'] == 'HEAD'
        scrape = {**environ, 'HTTP_ACCEPT': '', 'QUERY_STRING': ''}
        if is_head:
            scrape['REQUEST_METHOD'] = 'GET'
        starts: list[tuple[str, list[tuple[str, str]]]] = []
        body = b''.join(self._application(scrape, lambda *start: starts.append(start)))
        ((status, headers),) = starts
        start_response(status, [*headers, ('Content-Length', str(len(body)))])
        return [] if is_head else [body]


def start_server(endpoint: Endpoint, host: str, port: int) -> tuple[WSGIServer, threading.Thread]:
    """Start the server of prometheus_client; return it and its thread.

    :raises OSError: the address cannot be used
    """
    server, thread = start_wsgi_server(port, host, endpoint.registry)
    server.set_app(endpoint)
    return server, thread


def _unavailable(start_response: StartResponse, *headers: tuple[str, str]) -> list[bytes]:
    start_response('503 Service Unavailable', [('Content-Length', '0'), *headers])
    return []
