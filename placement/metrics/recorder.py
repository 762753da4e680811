# SPDX-License-Identifier: Apache-2.0
"""`Recorder`: the metrics of one process. No error here fails a request."""

import bisect
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

from prometheus_client.utils import floatToGoString
from prometheus_client.values import MultiProcessValue

from placement.metrics.catalog import Metric
from placement.metrics.slot import Slot

LOG = logging.getLogger(__name__)

Labels = tuple[str, ...]

# A value of the library, whose type has no public name.
StoredValue = Any

# Changes the values of a series.
Change = Callable[[Sequence[StoredValue]], None]


class Recorder:
    """The counts of one process, in the files of its slot of a directory.

    A forked process takes a slot of its own with its first count. Methods are thread-safe.
    `failures` is the number of counts that failed; the first failure is logged.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.failures = 0
        self._lock = threading.Lock()
        self._watched = list[tuple[Metric, Labels, Change]]()
        # The process that owns the slot; None before the first count.
        self._process: int | None = None
        self._slot: Slot | None = None
        self._make_value: Any = None
        # The values of each series: a single one, or the sum and the buckets of a histogram. Each
        # bucket counts only the amounts that are in no smaller one.
        self._series: dict[tuple[Metric, Labels], Sequence[StoredValue]] = {}
        try:
            self._take_slot()
        except Exception as error:
            self._failed(error)

    def add(self, metric: Metric, labels: Labels = (), amount: float = 1.0) -> None:
        """Add to a counter."""
        self._change(metric, labels, lambda values: values[0].inc(amount))

    def set(self, metric: Metric, labels: Labels, value: float) -> None:
        """Set a gauge of this process."""
        self._change(metric, labels, lambda values: values[0].set(value))

    def observe(self, metric: Metric, labels: Labels, amount: float) -> None:
        """Add an amount to a histogram."""

        def add(values: Sequence[StoredValue]) -> None:
            total, *buckets = values
            total.inc(amount)
            buckets[bisect.bisect_left(metric.buckets, amount)].inc(1.0)

        self._change(metric, labels, add)

    def watch(self, metric: Metric, labels: Labels, read: Callable[[], float]) -> None:
        """Set a gauge to the result of a function, at each `update_gauges`."""
        self._watched.append((metric, labels, lambda values: values[0].set(read())))

    def update_gauges(self) -> None:
        """Set the watched gauges."""
        for metric, labels, change in self._watched:
            self._change(metric, labels, change)

    def close(self) -> None:
        """Release the slot and its files, as at the end of the process."""
        with self._lock:
            self._release_slot()

    def _change(self, metric: Metric, labels: Labels, change: Change) -> None:
        """Change the values of a series; count a failure if that is not possible."""
        try:
            change(self._values(metric, labels))
        except Exception as error:
            self._failed(error)

    def _values(self, metric: Metric, labels: Labels) -> Sequence[StoredValue]:
        """The values of a series in the slot of this process, opened on first use."""
        # Checked each time: uWSGI forks without the hooks of Python.
        if os.getpid() != self._process:
            self._take_slot()
        key = (metric, labels)
        values = self._series.get(key)
        if values is None:
            with self._lock:
                values = self._series.get(key)
                if values is None:
                    values = self._series[key] = self._open(metric, labels)
        return values

    def _open(self, metric: Metric, labels: Labels) -> Sequence[StoredValue]:
        """Open the values of a series in the files of the slot."""
        # For example, gauge_livesum is a gauge with the mode livesum.
        kind, _, mode = metric.kind.value.partition('_')
        samples = [(metric.name, metric.labels, labels)]
        if metric.buckets:
            names = (*metric.labels, 'le')
            bounds = map(floatToGoString, (*metric.buckets, float('inf')))
            samples = [(f'{metric.name}_sum', metric.labels, labels)]
            samples += [(f'{metric.name}_bucket', names, (*labels, bound)) for bound in bounds]
        # The library reads the directory from this variable when it opens a file.
        os.environ['PROMETHEUS_MULTIPROC_DIR'] = self.directory
        return [
            self._make_value(kind, metric.family, name, names, values, metric.help, mode)
            for name, names, values in samples
        ]

    def _take_slot(self) -> None:
        """Take a slot for this process.

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
        """Close the files, which belong to the parent in a forked process."""
        self._series, self._process = {}, None
        if self._slot is not None:
            self._make_value.close_all_files()
            self._slot.release()
            self._slot = None

    def _failed(self, error: Exception) -> None:
        """Count a failure, and log the first one."""
        self.failures += 1
        if self.failures == 1:
            LOG.error(
                'Metrics cannot be written to %s, and are not complete until they can: %s',
                self.directory,
                error,
            )
