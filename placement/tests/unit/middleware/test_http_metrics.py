# SPDX-License-Identifier: Apache-2.0
"""Requests are counted by action, method and status; nobody can make series at will."""

import pathlib
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from placement.http import environ_keys
from placement.metrics.recorder import Recorder
from placement.middleware.http_metrics import HTTPMetrics
from placement.tests.unit.metrics.processes import samples
from placement.tests.unit.middleware.samples import Inner, ask

REQUESTS = 'placement_http_requests_total'


def test_request_is_counted_by_action_method_status_and_code_of_its_conflict(
    recorder: Recorder, tmp_path: pathlib.Path
) -> None:
    def conflict(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[environ_keys.ACTION] = 'traits.put'
        environ[environ_keys.CONFLICT] = 'placement.concurrent_update'
        start_response('409 Conflict', [])
        return [b'']

    for _ in range(2):
        ask(HTTPMetrics(conflict, recorder), method='PUT')

    found = samples(tmp_path)
    assert found[f'{REQUESTS}{{traits.put,PUT,409}}'] == 2
    assert found['placement_http_request_duration_seconds_count{traits.put,PUT}'] == 2
    assert found['placement_http_request_duration_seconds_sum{traits.put,PUT}'] > 0
    assert found['placement_conflicts_total{placement.concurrent_update}'] == 2


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
