# SPDX-License-Identifier: Apache-2.0
"""`FailureDomains`: how many hosts the cloud can lose, asked now and then."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from threading import Event

from prometheus_client.core import Metric

from placement import errors
from placement.feed.keeper import SnapshotKeeper
from placement.insight.what_if.pages import read_page_of_roots
from placement.metrics.exporter import cloud
from placement.search.insight.sliced_work import SlicedWork
from placement.search.what_if.survival import SURVIVAL_BUDGET, DomainLoss, Survival

LOG = logging.getLogger(__name__)

#: Seconds. The question takes seconds in a cloud of 10,000 hosts.
MIN_INTERVAL = 300
PAGE = 1_000

STATES = ('survives', 'alike_fails', 'fails', 'unknown')
_GAUGE = (
    'placement_failure_domains',
    'Hosts in use, by what becomes of their consumers when one fails alone.',
)


class FailureDomains:
    """The gauge of the last answer; nothing before the first one, and where there was none."""

    def __init__(self, snapshots: SnapshotKeeper) -> None:
        self._snapshots = snapshots
        self._counted: Mapping[str, int] = {}

    def read(self) -> Iterator[Metric]:
        """The hosts by their state."""
        rows = [((state,), (count,)) for state, count in self._counted.items()]
        if rows:
            yield from cloud.families([_GAUGE], ['state'], rows)

    def ask_every(self, seconds: int, stopped: Event) -> None:
        """Ask at once, and then so many seconds after each answer until `stopped` is set.

        Where there was no answer, it asks again after `MIN_INTERVAL`.
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
        # A defect of this question must not end the process that tells all other metrics.
        except Exception:
            LOG.exception('The metrics do not show which failures the cloud can take')
        self._counted = counted


def count_states(snapshots: SnapshotKeeper) -> dict[str, int]:
    """Count the hosts of the cloud by their state, a page of them at a time.

    :raises errors.ServiceUnavailable: the database does not answer
    """
    counted, marker, has_more = Counter[str](), '', True
    while has_more:
        page = read_page_of_roots(snapshots, marker, PAGE)
        asking = Survival(page.after.snapshot, work=SlicedWork(SURVIVAL_BUDGET))
        for domain in page.domains.items:
            counted[state_of(asking.loss(domain, page.holders[domain.name]))] += 1
            marker = domain.name
        has_more = page.domains.has_more
    return {state: counted[state] for state in STATES}


def state_of(loss: DomainLoss) -> str:
    """The state of a domain: one of `STATES`."""
    if loss.survives is None:
        return 'unknown'
    if not loss.survives:
        return 'fails'
    return 'survives' if loss.placed_alike == loss.consumers else 'alike_fails'
