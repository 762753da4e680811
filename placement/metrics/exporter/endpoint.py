# SPDX-License-Identifier: Apache-2.0
"""`GET /metrics`: what all processes have counted, in the text format of Prometheus."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from wsgiref.simple_server import WSGIServer
from wsgiref.types import StartResponse, WSGIEnvironment

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import make_wsgi_app, start_wsgi_server
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from placement import errors
from placement.metrics import catalog
from placement.metrics.catalog import Kind
from placement.metrics.slot import readable_files


def read_counts(directory: str) -> Iterator[Metric]:
    """Every metric of the catalog that some process has counted, in the order of the catalog.

    What is not in the catalog was counted by another release, and is left out.

    :raises Exception: the directory cannot be read, or a file in it is damaged
    """
    merged = {
        family.name: family for family in MultiProcessCollector.merge(readable_files(directory))
    }
    for metric in catalog.METRICS:
        kind = metric.kind.value.partition('_')[0]
        family = Metric(metric.family, metric.help, kind)
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


def _known_labels(metric: catalog.Metric) -> list[tuple[str, ...]]:
    """The labels under which a counter is shown although nothing was counted."""
    if metric.kind is not Kind.COUNTER:
        return []
    return [(value,) for value in metric.values] if metric.labels else [()]


LOG = logging.getLogger(__name__)

PATH = '/metrics'

#: Reads the gauges of the cloud; raises `errors.ServiceUnavailable` where the database does not
#: answer.
ReadCloud = Callable[[], Iterable[Metric]]


class _Scrape(Collector):
    """The metrics of one scrape."""

    def __init__(self, directory: str, read_cloud: ReadCloud) -> None:
        self._directory = directory
        self._read_cloud = read_cloud

    def collect(self) -> Iterator[Metric]:
        """Raises what `read_counts` raises."""
        yield from read_counts(self._directory)
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
    """The WSGI application of prometheus_client, one scrape at a time, whatever the path.

    503 where the files of the processes cannot be read or are damaged, or another scrape takes
    longer than `wait_seconds`. Where threads are those of the API nobody waits: no token is needed
    here.
    """

    def __init__(self, directory: str, read_cloud: ReadCloud, wait_seconds: float = 0.0) -> None:
        self._wait_seconds = wait_seconds
        self._lock = threading.Lock()
        self.registry = CollectorRegistry()
        self.registry.register(_Scrape(directory, read_cloud))
        self._application = make_wsgi_app(self.registry, disable_compression=True)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not self._lock.acquire(timeout=self._wait_seconds):
            return _unavailable(start_response, ('Retry-After', '1'))
        try:
            return self._scrape(environ, start_response)
        # What the library raises for a damaged file depends on where the damage is.
        except Exception as error:
            LOG.error('The files with the metrics cannot be read: %r', error)
            return _unavailable(start_response)
        finally:
            self._lock.release()

    def _scrape(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer with one format, and with a length, which servers need to keep a connection."""
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
    """The server of prometheus_client, and the thread that it runs in.

    :raises OSError: nobody can listen on the address
    """
    server, thread = start_wsgi_server(port, host, endpoint.registry)
    server.set_app(endpoint)
    return server, thread


def _unavailable(start_response: StartResponse, *headers: tuple[str, str]) -> list[bytes]:
    start_response('503 Service Unavailable', [('Content-Length', '0'), *headers])
    return []
