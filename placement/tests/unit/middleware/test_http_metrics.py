# SPDX-License-Identifier: Apache-2.0
"""Requests are counted by action, method and status; nobody can make series at will."""

import pathlib
from collections.abc import Iterable, Iterator, Mapping
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from placement.http import environ_keys
from placement.metrics.recorder import Recorder
from placement.middleware.http_metrics import HTTPMetrics
from placement.tests.unit.metrics.processes import samples
from placement.tests.unit.middleware.samples import Inner, ask

REQUESTS = 'placement_http_requests_total'
COUNT = 'placement_http_request_duration_seconds_count'


@pytest.fixture
def recorder(tmp_path: pathlib.Path) -> Iterator[Recorder]:
    recorder = Recorder(str(tmp_path))
    yield recorder
    recorder.close()


class Routed:
    """An application that has found a route, and answers with a status."""

    def __init__(self, status: str, told: Mapping[str, str]) -> None:
        self._status = status
        self._told = told

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ.update(self._told)
        start_response(self._status, [])
        return [b'']


def test_request_is_counted_by_action_method_and_status(
    recorder: Recorder, tmp_path: pathlib.Path
) -> None:
    application = HTTPMetrics(Routed('200 OK', {environ_keys.ACTION: 'traits.list'}), recorder)
    ask(application)
    ask(application)

    found = samples(tmp_path)
    assert found[f'{REQUESTS}{{traits.list,GET,200}}'] == 2
    assert found[f'{COUNT}{{traits.list,GET}}'] == 2
    assert found['placement_http_request_duration_seconds_sum{traits.list,GET}'] > 0


def test_conflict_is_counted_by_its_code(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    told = {
        environ_keys.ACTION: 'traits.put',
        environ_keys.CONFLICT: 'placement.concurrent_update',
    }
    ask(HTTPMetrics(Routed('409 Conflict', told), recorder), method='PUT')

    assert samples(tmp_path)['placement_conflicts_total{placement.concurrent_update}'] == 1


@pytest.mark.parametrize(
    ('path', 'method', 'labels'),
    [
        ('/traits', 'GET', 'none,GET,204'),
        ('/healthcheck', 'GET', 'healthcheck,GET,204'),
        ('/metrics', 'GET', 'metrics,GET,204'),
        ('/metrics/1', 'GET', 'none,GET,204'),
        ('/traits', 'BREW', 'none,other,204'),
        ('/traits', '-', 'none,other,204'),
    ],
)
def test_labels_are_few_whatever_the_request(
    recorder: Recorder, tmp_path: pathlib.Path, path: str, method: str, labels: str
) -> None:
    ask(HTTPMetrics(Inner(), recorder), path, method)

    assert samples(tmp_path)[f'{REQUESTS}{{{labels}}}'] == 1


def test_application_that_raises_counts_as_500(recorder: Recorder, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ZeroDivisionError):
        ask(HTTPMetrics(Inner(failure=ZeroDivisionError()), recorder))

    assert samples(tmp_path)[f'{REQUESTS}{{none,GET,500}}'] == 1
