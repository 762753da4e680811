# SPDX-License-Identifier: Apache-2.0
"""Clients cannot create series of metrics; functional/test_metrics counts requests by route."""

import pathlib

import pytest

from placement.metrics.recorder import Recorder
from placement.middleware.http_metrics import HTTPMetrics
from placement.tests.unit.metrics.processes import samples
from placement.tests.unit.middleware.samples import Inner, ask

REQUESTS = 'placement_http_requests_total'


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
