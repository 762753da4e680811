# SPDX-License-Identifier: Apache-2.0
"""The alerts of a run, and the faults that made their expressions true."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from placement.tests.region.checker import FELT
from placement.tests.region.history import Fault
from placement.tests.region.record import Record
from placement.tests.servers.prometheus import Prometheus

# Seconds between two looks at what was true.
STEP = 2
WORKLOAD = 'the workload'


class Alert(NamedTuple):
    """An alert that was pending; it fired if it was so for long enough."""

    fired: bool
    #: The names of faults, or `WORKLOAD` where there was none at the time.
    causes: Sequence[str]


def of_run(prometheus: Prometheus, record: Record, faults: Sequence[Fault]) -> Mapping[str, Alert]:
    """The alerts since the record began, by name."""
    data = prometheus.ask(
        'query_range',
        query='ALERTS',
        start=str(record.began_at),
        end=str(record.began_at + record.now),
        step=str(STEP),
    )
    return by_name(data['result'], record.began_at, faults)


def by_name(
    series: Iterable[Mapping[str, Any]], began_at: float, faults: Sequence[Fault]
) -> Mapping[str, Alert]:
    """The alerts in the series of Prometheus, each of which has the time as its first member."""
    times = defaultdict[str, dict[str, set[float]]](lambda: defaultdict(set))
    fired = set[str]()
    for one in series:
        labels = dict(one['metric'])
        name = labels.pop('alertname')
        if labels.pop('alertstate') == 'firing':
            fired.add(name)
        times[name][str(sorted(labels.items()))].update(
            float(value[0]) - began_at for value in one['values']
        )
    return {
        name: Alert(
            name in fired,
            list(dict.fromkeys(_cause(start, faults) for start in _starts(by_labels.values()))),
        )
        for name, by_labels in sorted(times.items())
    }


def _starts(times: Iterable[set[float]]) -> list[float]:
    """The times at which an expression became true, for any labels."""
    starts = []
    for of_labels in times:
        ordered = sorted(of_labels)
        starts += ordered[:1]
        starts += [b for a, b in itertools.pairwise(ordered) if b - a > 1.5 * STEP]
    return sorted(starts)


def _cause(time: float, faults: Sequence[Fault]) -> str:
    """The last fault that may be felt at a time."""
    felt = [fault.name for fault in faults if fault.begun <= time <= fault.ended + FELT]
    return felt[-1] if felt else WORKLOAD
