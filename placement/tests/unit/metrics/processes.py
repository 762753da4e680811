# SPDX-License-Identifier: Apache-2.0
"""Counts of several processes, and their sums in a scrape."""

import os
import pathlib
import warnings
from collections.abc import Callable, Mapping

from placement.extension import list_metrics
from placement.metrics import endpoint

Samples = Mapping[str, float]


def samples(directory: pathlib.Path) -> Samples:
    """Return the samples of a scrape by name and values of labels: ``name{value,value}``.

    Without counters that are 0.
    """
    found = {}
    for metric in endpoint.read_counts(str(directory), list_metrics()):
        for sample in metric.samples:
            if metric.type == 'counter' and not sample.value:
                continue
            labels = ','.join(sample.labels[name] for name in sorted(sample.labels))
            found[f'{sample.name}{{{labels}}}'] = sample.value
    return found


def run_in_fork(work: Callable[[], None]) -> None:
    """Run a function in a forked process that exits without cleaning up."""
    with warnings.catch_warnings():
        # Python and eventlet, which other tests load, advise against it. Web servers do it.
        warnings.simplefilter('ignore', DeprecationWarning)
        process = os.fork()
    if process == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(process, 0)[1] == 0
