# SPDX-License-Identifier: Apache-2.0
"""Dashboard and alerts name metrics that there are, and have what their programs need."""

import json
import re
from collections.abc import Iterator

import pytest
import yaml

from placement.metrics import catalog
from placement.tests.functional.fixtures import applications
from placement.tests.unit import specification

ETC = applications.repository_path('etc')
DASHBOARD = json.loads((ETC / 'grafana' / 'placement.json').read_text())
PANELS = [panel for panel in DASHBOARD['panels'] if panel['type'] != 'row']
ALERTS = yaml.safe_load((ETC / 'prometheus' / 'alerts.yml').read_text())['groups'][0]['rules']

_NAME = re.compile(r'\b(?:openstack_)?placement_[a-z_]+\b')
_MATCHERS = re.compile(r'(placement_[a-z_]+)\{([^}]*)\}')
# What Prometheus and a histogram add.
ADDED = {'instance', 'job', 'le'}


def known() -> dict[str, set[str]]:
    """The labels of every series by its name."""
    found: dict[str, set[str]] = {}
    for metric in catalog.METRICS:
        endings = ('_bucket', '_sum', '_count') if metric.buckets else ('',)
        for ending in endings:
            found[metric.name + ending] = set(metric.labels) | ADDED
    for place in range(4):
        for name, labels, _words in specification.rows_of('metrics', 'The cloud', place):
            found[name] = set(labels.split(', ')) | ADDED
    return found


def expressions() -> Iterator[str]:
    for panel in PANELS:
        yield from (target['expr'] for target in panel['targets'])
    yield from (alert['expr'] for alert in ALERTS)


@pytest.mark.parametrize('expression', sorted(set(expressions())))
def test_expressions_name_metrics_and_labels_that_there_are(expression: str) -> None:
    series = known()
    bare = re.sub(r'"[^"]*"', '', expression)
    assert [name for name in _NAME.findall(bare) if name not in series] == []
    for name, matchers in _MATCHERS.findall(bare):
        assert set(re.findall(r'(\w+)(?:=~|!~|!=|=)', matchers)) <= series[name]


def test_every_metric_that_is_counted_is_shown_or_watched() -> None:
    text = ' '.join(expressions())
    assert [metric.name for metric in catalog.METRICS if metric.name not in text] == [
        # For operators who look for more: the other metrics show that there is something.
        'placement_snapshot_full_load_duration_seconds_total',
        'placement_unmet_demand_dropped_total',
        'placement_unrecorded_changes_total',
    ]
