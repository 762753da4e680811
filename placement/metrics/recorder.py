# SPDX-License-Identifier: Apache-2.0
"""`Recorder`: counts what happens in one process. Nothing here can fail a request."""

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

# A value of the library, which has no public name for the type.
StoredValue = Any

# Changes the values of a series.
Change = Callable[[Sequence[StoredValue]], None]


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
        self._watched = list[tuple[Metric, Labels, Change]]()
        # The process that the slot belongs to; None before it has one.
        self._process: int | None = None
        self._slot: Slot | None = None
        self._make_value: Any = None
        # The values of each series: the only one, or the sum and the buckets of a histogram, each
        # with what is in no smaller bucket.
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
        """Set a gauge to what a function returns, with each `update_gauges`."""
        self._watched.append((metric, labels, lambda values: values[0].set(read())))

    def update_gauges(self) -> None:
        """Set the gauges that are watched."""
        for metric, labels, change in self._watched:
            self._change(metric, labels, change)

    def close(self) -> None:
        """Release the slot and its files, as the end of the process would."""
        with self._lock:
            self._release_slot()

    def _change(self, metric: Metric, labels: Labels, change: Change) -> None:
        """Change the values of a series; where that is not possible, count a failure."""
        try:
            change(self._values(metric, labels))
        except Exception as error:
            self._failed(error)

    def _values(self, metric: Metric, labels: Labels) -> Sequence[StoredValue]:
        # Asked for each time: uWSGI forks without telling Python.
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
        kind, _, mode = metric.kind.value.partition('_')
        samples = [(metric.name, metric.labels, labels)]
        if metric.buckets:
            names = (*metric.labels, 'le')
            bounds = map(floatToGoString, (*metric.buckets, float('inf')))
            samples = [(f'{metric.name}_sum', metric.labels, labels)]
            samples += [(f'{metric.name}_bucket', names, (*labels, bound)) for bound in bounds]
        # Where the library looks for the directory when it opens a file.
        os.environ['PROMETHEUS_MULTIPROC_DIR'] = self.directory
        return [
            self._make_value(kind, metric.family, name, names, values, metric.help, mode)
            for name, names, values in samples
        ]

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
        self._series, self._process = {}, None
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
