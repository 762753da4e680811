# SPDX-License-Identifier: Apache-2.0
"""Dashboard and alerts name metrics that there are, and have what their programs need."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from docutils import nodes

from placement.metrics import catalog
from placement.tests.functional.fixtures import applications
from placement.tests.unit import samples, specification

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


def test_every_alert_says_what_to_do() -> None:
    for alert in ALERTS:
        assert re.fullmatch('Placement[A-Za-z]+', alert['alert'])
        assert alert['labels']['severity'] in ('critical', 'warning', 'info')
        assert set(alert['annotations']) == {'summary', 'description'}
        assert re.fullmatch(r'\d+m', alert['for'])


def test_panels_have_what_grafana_needs() -> None:
    assert len({panel['id'] for panel in DASHBOARD['panels']}) == len(DASHBOARD['panels'])
    for panel in PANELS:
        assert panel['type'] in ('stat', 'timeseries')
        assert panel['title']
        assert panel['description']
        assert len({target['refId'] for target in panel['targets']}) == len(panel['targets'])
        for source in (panel['datasource'], *(one['datasource'] for one in panel['targets'])):
            assert source == {'type': 'prometheus', 'uid': '${datasource}'}
    variables = {one['name'] for one in DASHBOARD['templating']['list']}
    assert variables == {'datasource', 'instance'}
    used = set(re.findall(r'\$\{?(\w+)', json.dumps(DASHBOARD['panels'])))
    assert used == variables | {'__rate_interval'}


def cells(panel: dict[str, Any]) -> set[tuple[int, int]]:
    """The places of the grid that a panel takes."""
    place = panel['gridPos']
    columns = range(place['x'], place['x'] + place['w'])
    rows = range(place['y'], place['y'] + place['h'])
    return set(itertools.product(columns, rows))


def test_panels_lie_beside_each_other_on_a_grid_of_24_columns() -> None:
    for panel in DASHBOARD['panels']:
        assert all(0 <= column < 24 for column, _row in cells(panel))
    for one, other in itertools.combinations(DASHBOARD['panels'], 2):
        assert not cells(one) & cells(other), (one['title'], other['title'])


def test_the_page_has_every_alert_with_its_severity() -> None:
    page, _ = samples.parse_page(
        applications.repository_path('doc/source/monitoring.rst').read_text()
    )
    (table,) = [
        table
        for table in page.findall(nodes.table)
        if next(table.findall(nodes.entry)).astext() == 'Alert'
    ]
    (body,) = table.findall(nodes.tbody)
    shown = {
        tuple(entry.astext() for entry in list(row.findall(nodes.entry))[:2])
        for row in body.findall(nodes.row)
    }
    assert shown == {(alert['alert'], alert['labels']['severity']) for alert in ALERTS}
