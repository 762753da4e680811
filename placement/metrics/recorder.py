# SPDX-License-Identifier: Apache-2.0
"""`Recorder`: counts what happens in one process. Nothing here can fail a request."""

import bisect
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from prometheus_client.utils import floatToGoString
from prometheus_client.values import MultiProcessValue

from placement.metrics.catalog import Metric
from placement.metrics.slot import Slot

LOG = logging.getLogger(__name__)

Labels = tuple[str, ...]

# A value of the library, which has no public name for the type.
StoredValue = Any


class Recorder:
    """The counts of one process, in the files of its slot of a directory.

    A process that was forked takes a slot of its own with what it counts first. Any thread may
    call each method. `failures` is how often something could not be counted; the first time is
    logged.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.failures = 0
        self._lock = threading.Lock()
        self._watched: list[tuple[Metric, Labels, Callable[[], float]]] = []
        # The process that the slot belongs to; None before it has one.
        self._process: int | None = None
        self._slot: Slot | None = None
        self._make_value: Any = None
        self._values: dict[tuple[Metric, Labels], StoredValue] = {}
        self._histograms: dict[tuple[Metric, Labels], tuple[StoredValue, list[StoredValue]]] = {}
        try:
            self._take_slot()
        except Exception as error:
            self._failed(error)

    def add(self, metric: Metric, labels: Labels = (), amount: float = 1.0) -> None:
        """Add to a counter."""
        try:
            self._value(metric, labels).inc(amount)
        except Exception as error:
            self._failed(error)

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Set a gauge of this process."""
        try:
            self._value(metric, labels).set(value)
        except Exception as error:
            self._failed(error)

    def observe(self, metric: Metric, labels: Labels, amount: float) -> None:
        """Add an amount to a histogram."""
        try:
            self._check_process()
            total, buckets = self._histograms.get((metric, labels)) or self._histogram(
                metric, labels
            )
            total.inc(amount)
            buckets[bisect.bisect_left(metric.buckets, amount)].inc(1.0)
        except Exception as error:
            self._failed(error)

    def watch(self, metric: Metric, labels: Labels, read: Callable[[], float]) -> None:
        """Set a gauge to what a function returns, with each `update_gauges`."""
        self._watched.append((metric, labels, read))

    def update_gauges(self) -> None:
        """Set the gauges that are watched."""
        try:
            for metric, labels, read in self._watched:
                self._value(metric, labels).set(read())
        except Exception as error:
            self._failed(error)

    def close(self) -> None:
        """Release the slot and its files, as the end of the process would."""
        with self._lock:
            self._release_slot()

    def _value(self, metric: Metric, labels: Labels) -> StoredValue:
        self._check_process()
        key = (metric, labels)
        value = self._values.get(key)
        if value is None:
            with self._lock:
                value = self._values.get(key)
                if value is None:
                    value = self._values[key] = self._new(metric, metric.name, labels)
        return value

    def _histogram(self, metric: Metric, labels: Labels) -> tuple[StoredValue, list[StoredValue]]:
        """The sum of a histogram, and its buckets, each with what is in no smaller one."""
        key = (metric, labels)
        with self._lock:
            if key not in self._histograms:
                self._histograms[key] = (
                    self._new(metric, f'{metric.name}_sum', labels),
                    [
                        self._new(metric, f'{metric.name}_bucket', labels, floatToGoString(bound))
                        for bound in (*metric.buckets, float('inf'))
                    ],
                )
            return self._histograms[key]

    def _new(self, metric: Metric, sample: str, labels: Labels, *bound: str) -> StoredValue:
        kind, _, mode = metric.kind.value.partition('_')
        names = (*metric.labels, 'le') if bound else metric.labels
        # Where the library looks for the directory when it opens a file.
        os.environ['PROMETHEUS_MULTIPROC_DIR'] = self.directory
        return self._make_value(
            kind, metric.family, sample, names, (*labels, *bound), metric.help, mode
        )

    def _check_process(self) -> None:
        # Asked for each time: uWSGI forks without telling Python.
        if os.getpid() != self._process:
            self._take_slot()

    def _take_slot(self) -> None:
        """Begin in a slot of this process.

        :raises OSError: the directory cannot be written to
        """
        with self._lock:
            if os.getpid() == self._process:
                return
            self._release_slot()
            self._slot = slot = Slot(self.directory)
            self._make_value = MultiProcessValue(lambda: slot.number)
            self._process = os.getpid()

    def _release_slot(self) -> None:
        """Close the files, which were the parent's in a process that was forked."""
        self._values, self._histograms, self._process = {}, {}, None
        if self._slot is not None:
            self._make_value.close_all_files()
            self._slot.release()
            self._slot = None

    def _failed(self, error: Exception) -> None:
        self.failures += 1
        if self.failures == 1:
            LOG.error(
                'Metrics cannot be written to %s, and are not complete until they can: %s',
                self.directory,
                error,
            )
