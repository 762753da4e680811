# SPDX-License-Identifier: Apache-2.0
"""The gauge of hosts that the cloud can lose, recomputed at intervals."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Event

from prometheus_client.core import Metric

from placement import errors
from placement.feed import cloud_gauges
from placement.feed.keeper import SnapshotKeeper
from placement_insight.search.sliced_work import SlicedWork
from placement_insight.search.what_if.survival import SURVIVAL_BUDGET, DomainLoss, Survival
from placement_insight.what_if.pages import read_page_of_roots

LOG = logging.getLogger(__name__)

#: Minimum interval in seconds. One computation takes seconds in a cloud of 10,000 hosts.
MIN_INTERVAL = 300
PAGE = 1_000

STATES = ('survives', 'alike_fails', 'fails', 'unknown')
_GAUGE = (
    'placement_failure_domains',
    'Hosts in use, by what becomes of their consumers when one fails alone.',
)


class FailureDomains:
    """The gauge of the last computation; empty before the first one, and after a failed one."""

    def __init__(self, snapshots: SnapshotKeeper) -> None:
        self._snapshots = snapshots
        self._counted: Mapping[str, int] = {}

    def read(self) -> Iterator[Metric]:
        """Yield the number of hosts in each state."""
        rows = [((state,), (count,)) for state, count in self._counted.items()]
        if rows:
            yield from cloud_gauges.families([_GAUGE], ['state'], rows)

    def ask_every(self, seconds: int, stopped: Event) -> None:
        """Compute the gauge now, and again at this interval until `stopped` is set.

        A computation that failed is retried after `MIN_INTERVAL`.
        """
        while not stopped.is_set():
            self._ask()
            stopped.wait(seconds if self._counted else MIN_INTERVAL)

    def _ask(self) -> None:
        counted: Mapping[str, int] = {}
        try:
            counted = count_states(self._snapshots)
        except errors.ServiceUnavailable as error:
            LOG.warning('The metrics do not show which failures the cloud can take: %s', error)
        # A defect here must not end the process, which exports all other metrics too.
        except Exception:
            LOG.exception('The metrics do not show which failures the cloud can take')
        self._counted = counted


def count_states(snapshots: SnapshotKeeper) -> dict[str, int]:
    """Count the hosts of the cloud by state, one page of hosts at a time.

    :raises errors.ServiceUnavailable: the database does not answer
    """
    counted, marker, has_more = Counter[str](), '', True
    while has_more:
        page = read_page_of_roots(snapshots, marker, PAGE)
        asking = Survival(page.after.snapshot, work=SlicedWork(SURVIVAL_BUDGET))
        for domain in page.domains.items:
            counted[state_of(asking.loss(domain, page.holders_of))] += 1
            marker = domain.name
        has_more = page.domains.has_more
    return {state: counted[state] for state in STATES}


def state_of(loss: DomainLoss) -> str:
    """Return the state of a domain, one of `STATES`."""
    if loss.survives is None:
        return 'unknown'
    if not loss.survives:
        return 'fails'
    return 'survives' if loss.placed_alike == loss.consumers else 'alike_fails'
