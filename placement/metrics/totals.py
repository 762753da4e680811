# SPDX-License-Identifier: Apache-2.0
"""The values of all processes added up, as a scrape shows them."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.utils import floatToGoString

from placement.metrics import catalog, ended
from placement.metrics.catalog import Kind
from placement.metrics.ended import Values

LOG = logging.getLogger(__name__)

Labels = tuple[str, ...]


def read(directory: str) -> Iterator[Metric]:
    """Every metric that some process has counted, with the sum of all processes.

    Those that have ended are merged first, by whoever may write the directory. Raises `OSError`.
    """
    with contextlib.suppress(PermissionError):
        ended.merge(directory)
    for metric, samples in _by_metric(_values(directory)).items():
        yield _family(metric, samples)


def _values(directory: str) -> Values:
    """The values of all processes, none twice, although others merge files at the same time.

    They replace the merged file before they remove another one. So what was read while it stayed
    the same has everything once.
    """
    while True:
        before = _identity(directory)
        try:
            values = _read_once(directory)
        except FileNotFoundError:
            continue
        if _identity(directory) == before:
            return values


def _read_once(directory: str) -> Values:
    merged = ended.read_merged(directory)
    values = dict(merged.values)
    for path in ended.files_of_processes(directory):
        if os.path.basename(path) in merged.files:
            continue
        kind = ended.kind_of(path)
        if kind in ended.GAUGES and ended.has_ended(path):
            continue
        for key, value in ended.read_values(path):
            values[kind, key] = _combined(kind, value, values.get((kind, key)))
    return values


def _combined(kind: str, value: float, other: float | None) -> float:
    """The value of two processes, or of one where the other has none."""
    if other is None:
        return value
    return min(value, other) if kind == Kind.LEAST.value else value + other


def _identity(directory: str) -> tuple[int, int] | None:
    try:
        status = os.stat(os.path.join(directory, ended.MERGED))
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _by_metric(values: Values) -> dict[catalog.Metric, dict[tuple[str, Labels], float]]:
    """Values by metric, name of the sample, and labels, in the order of the catalog.

    What is not in the catalog was counted by another release, and is left out.
    """
    found: dict[catalog.Metric, dict[tuple[str, Labels], float]] = {
        metric: {} for metric in catalog.METRICS
    }
    for (kind, key), value in values.items():
        try:
            family, sample, labels, _help = json.loads(key)
        except (ValueError, TypeError) as error:
            LOG.warning('A value of the metrics is lost, whose name is damaged: %s', error)
            continue
        metric = catalog.BY_FAMILY.get(family)
        names = () if metric is None else metric.labels
        if metric is not None and set(names) <= labels.keys():
            position = (sample, (*(labels[name] for name in names), labels.get('le', '')))
            # Two names in the files are one where the help of two releases differs.
            found[metric][position] = _combined(kind, value, found[metric].get(position))
    for metric, samples in found.items():
        for labels in _known_labels(metric):
            samples.setdefault((metric.name, (*labels, '')), 0.0)
    return {metric: samples for metric, samples in found.items() if samples}


def _known_labels(metric: catalog.Metric) -> list[Labels]:
    """The labels under which a counter is shown although nothing was counted."""
    if metric.kind is not Kind.COUNTER:
        return []
    return [(value,) for value in metric.values] if metric.labels else [()]


def _family(metric: catalog.Metric, samples: dict[tuple[str, Labels], float]) -> Metric:
    if metric.kind is Kind.HISTOGRAM:
        return _histogram(metric, samples)
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = make(metric.family, metric.help, labels=metric.labels)
    for (_sample, labels), value in sorted(samples.items()):
        family.add_metric(labels[:-1], value)
    return family


def _histogram(
    metric: catalog.Metric, samples: dict[tuple[str, Labels], float]
) -> HistogramMetricFamily:
    """A histogram, each of whose buckets has what is in those before it."""
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    bounds = [floatToGoString(bound) for bound in (*metric.buckets, float('inf'))]
    for labels in sorted({labels[:-1] for _sample, labels in samples}):
        count, buckets = 0.0, []
        for bound in bounds:
            count += samples.get((f'{metric.name}_bucket', (*labels, bound)), 0.0)
            buckets.append((bound, count))
        total = samples.get((f'{metric.name}_sum', (*labels, '')), 0.0)
        family.add_metric(labels, buckets, total)
    return family
