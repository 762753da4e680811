# SPDX-License-Identifier: Apache-2.0
"""`Recorder`: counts what happens in one process.

A request adds what it counts to a dictionary of its thread, and writes all of it at once when it
has been answered: one lock, and one write for each value. Nothing here can fail a request.
"""

from __future__ import annotations

import bisect
import logging
import os
import threading
from collections.abc import Callable

from prometheus_client.utils import floatToGoString

from placement.metrics.catalog import Kind, Metric
from placement.metrics.process_files import MODE, ProcessFiles, Series

LOG = logging.getLogger(__name__)

Labels = tuple[str, ...]


class _Pending(threading.local):
    """What a thread has counted since it last wrote."""

    def __init__(self) -> None:
        self.amounts: dict[Series, float] = {}


class _Watched:
    """A gauge, and the function that tells its value. It is written only when it has changed."""

    __slots__ = ('_read', '_series')

    def __init__(self, series: Series, read: Callable[[], float]) -> None:
        self._series = series
        self._read = read

    def show(self, files: ProcessFiles) -> None:
        value = self._read()
        series = self._series
        # Without the lock: at worst a value is written twice.
        if value != series.value or series.file is None:
            files.set(series, value)


class Recorder:
    """The counts of one process, in its files in a directory.

    Any thread may call each method. `failures` is how often the files could not be written; the
    first time is logged.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.failures = 0
        self._files = ProcessFiles(directory)
        self._pending = _Pending()
        self._series: dict[tuple[Metric, Labels], Series] = {}
        self._watched: list[_Watched] = []
        self._buckets: dict[tuple[Metric, Labels], tuple[Series, list[Series]]] = {}
        try:
            os.makedirs(directory, MODE, exist_ok=True)
        except OSError as error:
            self._failed(error)

    def add(self, metric: Metric, labels: Labels = (), amount: float = 1.0) -> None:
        """Add to a counter; it is written with what else the thread counts, by `write`."""
        key = (metric, labels)
        series = self._series.get(key) or self._new(key)
        amounts = self._pending.amounts
        amounts[series] = amounts.get(series, 0.0) + amount

    def timer(self, times: Metric, seconds: Metric, labels: Labels) -> Callable[[float], None]:
        """A function that counts one more, which took so many seconds; quicker than `add`."""
        counted, spent = self._new((times, labels)), self._new((seconds, labels))
        pending = self._pending

        def add(duration: float) -> None:
            amounts = pending.amounts
            amounts[counted] = amounts.get(counted, 0.0) + 1.0
            amounts[spent] = amounts.get(spent, 0.0) + duration

        return add

    def meter(
        self, times: Metric, labels: Labels, histogram: Metric, labels_of_histogram: Labels
    ) -> Callable[[float], None]:
        """A function that counts one more, and an amount in a histogram; quicker than both."""
        counted = self._new((times, labels))
        total, buckets = self._histogram((histogram, labels_of_histogram))
        bounds, pending = histogram.buckets, self._pending

        def add(amount: float) -> None:
            bucket = buckets[bisect.bisect_left(bounds, amount)]
            amounts = pending.amounts
            amounts[counted] = amounts.get(counted, 0.0) + 1.0
            amounts[total] = amounts.get(total, 0.0) + amount
            amounts[bucket] = amounts.get(bucket, 0.0) + 1.0

        return add

    def observe(self, metric: Metric, labels: Labels, amount: float) -> None:
        """Add an amount to a histogram, as `add` does."""
        total, buckets = self._histogram((metric, labels))
        bucket = buckets[bisect.bisect_left(metric.buckets, amount)]
        amounts = self._pending.amounts
        amounts[total] = amounts.get(total, 0.0) + amount
        amounts[bucket] = amounts.get(bucket, 0.0) + 1.0

    def watch(self, metric: Metric, labels: Labels, read: Callable[[], float]) -> None:
        """Set a gauge to what a function returns, each time that a thread writes its counts."""
        self._watched.append(_Watched(self._new((metric, labels)), read))

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Set a gauge of this process, at once."""
        key = (metric, labels)
        series = self._series.get(key) or self._new(key)
        try:
            self._files.set(series, value)
        except Exception as error:
            self._failed(error)

    def write(self) -> None:
        """Write what this thread has counted. Raises nothing."""
        amounts = self._pending.amounts
        if not amounts:
            return
        try:
            self._files.add(amounts.items())
            for gauge in self._watched:
                gauge.show(self._files)
        # Of any kind: the answer that was counted is not to fail by it.
        except Exception as error:
            self._failed(error)
        amounts.clear()

    def close(self) -> None:
        """Let go of the files, as the end of the process would."""
        self._files.close()

    def _histogram(self, key: tuple[Metric, Labels]) -> tuple[Series, list[Series]]:
        """The sum of a histogram, and its buckets."""
        return self._buckets.get(key) or self._buckets.setdefault(key, _histogram(*key))

    def _new(self, key: tuple[Metric, Labels]) -> Series:
        # Of two threads that come here at once, both get the first one's.
        metric, labels = key
        return self._series.setdefault(key, _series(metric, metric.name, labels))

    def _failed(self, error: Exception) -> None:
        self.failures += 1
        if self.failures == 1:
            LOG.error(
                'Metrics cannot be written to %s, and are not complete until they can: %s',
                self.directory,
                error,
            )


def _series(metric: Metric, sample: str, labels: Labels, bound: str | None = None) -> Series:
    named = dict(zip(metric.labels, labels, strict=True))
    return Series(metric, sample, named if bound is None else {**named, 'le': bound})


def _histogram(metric: Metric, labels: Labels) -> tuple[Series, list[Series]]:
    """The sum of a histogram, and its buckets, each with what is in no smaller one."""
    assert metric.kind is Kind.HISTOGRAM
    bounds = (*metric.buckets, float('inf'))
    return _series(metric, f'{metric.name}_sum', labels), [
        _series(metric, f'{metric.name}_bucket', labels, floatToGoString(bound))
        for bound in bounds
    ]
