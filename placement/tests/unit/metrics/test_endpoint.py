# SPDX-License-Identifier: Apache-2.0
"""The answers of `GET /metrics`, including errors in reading."""

import concurrent.futures
import logging
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from placement import errors
from placement.metrics import catalog
from placement.metrics.catalog import METRICS
from placement.metrics.endpoint import PATH, Endpoint, ReadCloud
from placement.metrics.recorder import Recorder
from placement.middleware import libraries
from placement.tests.unit.middleware.samples import Inner, ask
from placement.tests.waiting import TIMEOUT, wait_until


def one_gauge() -> Iterator[Metric]:
    """A cloud of one figure."""
    yield GaugeMetricFamily('placement_resource_providers', 'Providers.', 7)


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> Iterator[str]:
    """The directory of a process that has counted one failure."""
    recorder = Recorder(str(tmp_path))
    recorder.add(catalog.SNAPSHOT_LOAD_SECONDS)
    yield str(tmp_path)
    recorder.close()


def values(directory: str, read_cloud: ReadCloud = one_gauge) -> dict[str, float]:
    answer = ask(Endpoint(directory, METRICS, read_cloud), '/metrics')
    assert answer.status_int == 200
    assert answer.content_type == 'text/plain'
    assert answer.content_length == len(answer.body)
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.value or family.type != 'counter'
    }


@pytest.mark.parametrize(
    ('error', 'level', 'words'),
    [
        (
            errors.DatabaseUnavailable('the database does not answer'),
            logging.WARNING,
            'The metrics of the cloud cannot be read: the database does not answer',
        ),
        (RuntimeError('no'), logging.ERROR, 'The metrics of the cloud are not shown'),
    ],
)
def test_counts_are_told_although_the_cloud_cannot_be_read(
    directory: str, caplog: pytest.LogCaptureFixture, error: Exception, level: int, words: str
) -> None:
    def fail() -> Iterator[Metric]:
        yield from one_gauge()
        raise error

    assert values(directory, fail) == {
        'placement_snapshot_full_load_duration_seconds_total': 1,
        'placement_cloud_readable': 0,
    }
    (record,) = caplog.records
    assert (record.getMessage(), record.levelno) == (words, level)
    assert bool(record.exc_info) == (level == logging.ERROR)


@pytest.mark.parametrize('content', [None, b'', b'\xff' * 64])
def test_missing_directory_and_damaged_file_are_503(
    directory: str, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    """Refuse a sum without the damaged file, which would be too small."""
    if content is None:
        directory += '/missing'
    else:
        pathlib.Path(directory, 'counter_1.db').write_bytes(content)
    answer = ask(Endpoint(directory, METRICS, one_gauge), '/metrics')

    assert (answer.status_int, answer.body) == (503, b'')
    assert 'The files with the metrics cannot be read' in caplog.text


def test_a_scrape_waits_for_another_no_longer_than_it_may(directory: str) -> None:
    def ask_again() -> Iterator[Metric]:
        answer = ask(asked, '/metrics')
        assert (answer.status_int, answer.headers['Retry-After']) == (503, '1')
        yield from one_gauge()

    asked = Endpoint(directory, METRICS, ask_again, wait_seconds=0.01)
    assert b'placement_cloud_readable 1' in ask(asked, '/metrics').body


def test_one_scrape_waits_for_another_and_more_are_refused(directory: str) -> None:
    waiting: list[concurrent.futures.Future[Any]] = []

    def read_cloud() -> Iterator[Metric]:
        if not waiting:
            waiting.append(pool.submit(ask, asked, '/metrics'))
            wait_until(lambda: not asked._waiting._value)
            assert ask(asked, '/metrics').status_int == 503
        yield from one_gauge()

    asked = Endpoint(directory, METRICS, read_cloud, wait_seconds=TIMEOUT)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert ask(asked, '/metrics').status_int == 200
        assert waiting[0].result(TIMEOUT).status_int == 200


def test_get_answers_in_the_same_format_whatever_the_client_accepts_and_head_without_body(
    directory: str,
) -> None:
    scrape = Endpoint(directory, METRICS, one_gauge)
    accept = 'application/openmetrics-text; version=1.0.0'
    answer = ask(scrape, '/metrics?name[]=other', accept=accept, accept_encoding='gzip')

    assert answer.body == ask(scrape, '/metrics').body
    head = ask(scrape, '/metrics', method='HEAD')
    assert (head.status_int, head.body, head.content_length) == (200, b'', len(answer.body))
    assert ask(scrape, '/metrics', method='POST').status_int == 405


@pytest.mark.parametrize('path', ['/', '/metrics/', '/Metrics', '/traits/metrics'])
def test_other_paths_reach_the_application(directory: str, path: str) -> None:
    application = libraries.AtPath(Inner(), PATH, Endpoint(directory, METRICS, one_gauge))

    assert ask(application, path).status_int == 204
    assert ask(application, '/metrics').status_int == 200
