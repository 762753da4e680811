# SPDX-License-Identifier: Apache-2.0
"""`GET /metrics`: what it answers, also where something cannot be read."""

import logging
import pathlib
from collections.abc import Iterator

import pytest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families

from placement import errors
from placement.metrics import catalog
from placement.metrics.exporter.endpoint import PATH, Endpoint, ReadCloud
from placement.metrics.recorder import Recorder
from placement.middleware import libraries
from placement.tests.unit.middleware.samples import Inner, ask


def one_gauge() -> Iterator[Metric]:
    """A cloud of one figure."""
    yield GaugeMetricFamily('placement_resource_providers', 'Providers.', 7)


@pytest.fixture
def directory(tmp_path: pathlib.Path) -> Iterator[str]:
    """The directory of a process that has counted one failure."""
    recorder = Recorder(str(tmp_path))
    recorder.add(catalog.INSIGHT_FAILURES)
    yield str(tmp_path)
    recorder.close()


def values(directory: str, read_cloud: ReadCloud = one_gauge) -> dict[str, float]:
    answer = ask(Endpoint(directory, read_cloud), '/metrics')
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
        'placement_insight_failures_total': 1,
        'placement_cloud_readable': 0,
    }
    (record,) = caplog.records
    assert (record.getMessage(), record.levelno) == (words, level)
    assert bool(record.exc_info) == (level == logging.ERROR)


@pytest.mark.parametrize('content', [None, b'', b'\xff' * 64])
def test_missing_directory_and_damaged_file_are_503(
    directory: str, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    """Sums without the damaged file would be wrong."""
    if content is None:
        directory += '/missing'
    else:
        pathlib.Path(directory, 'counter_1.db').write_bytes(content)
    answer = ask(Endpoint(directory, one_gauge), '/metrics')

    assert (answer.status_int, answer.body) == (503, b'')
    assert 'The files with the metrics cannot be read' in caplog.text


@pytest.mark.parametrize('options', [{}, {'wait_seconds': 0.01}])
def test_a_scrape_during_another_is_503(directory: str, options: dict[str, float]) -> None:
    """It waits no longer than it may: by default not at all."""

    def ask_again() -> Iterator[Metric]:
        answer = ask(asked, '/metrics')
        assert (answer.status_int, answer.headers['Retry-After']) == (503, '1')
        yield from one_gauge()

    asked = Endpoint(directory, ask_again, **options)
    assert b'placement_cloud_readable 1' in ask(asked, '/metrics').body


def test_get_answers_in_the_same_format_whatever_the_client_accepts_and_head_without_body(
    directory: str,
) -> None:
    scrape = Endpoint(directory, one_gauge)
    accept = 'application/openmetrics-text; version=1.0.0'
    answer = ask(scrape, '/metrics?name[]=other', accept=accept, accept_encoding='gzip')

    assert answer.body == ask(scrape, '/metrics').body
    head = ask(scrape, '/metrics', method='HEAD')
    assert (head.status_int, head.body, head.content_length) == (200, b'', len(answer.body))
    assert ask(scrape, '/metrics', method='POST').status_int == 405


@pytest.mark.parametrize('path', ['/', '/metrics/', '/Metrics', '/traits/metrics'])
def test_other_paths_reach_the_application(directory: str, path: str) -> None:
    application = libraries.at_path(PATH, Endpoint(directory, one_gauge), Inner())

    assert ask(application, path).status_int == 204
    assert ask(application, '/metrics').status_int == 200
