# SPDX-License-Identifier: Apache-2.0
"""The record of each search: a line of the log, and the demand that was not met.

All of it comes from what the search itself found out; nothing is looked up for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from placement.insight.demand.keeper import UnmetDemand
from placement.insight.failures import Failures
from placement.metrics import catalog
from placement.search.candidates import Result
from placement.search.model.request import CandidateRequest

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder

LOG = logging.getLogger(__name__)

ALL, EMPTY, NONE = 'all', 'empty', 'none'


class SearchOrigin(NamedTuple):
    """Where a search comes from: its request, as the log shows it, and the ids of the request."""

    request: str
    version: str
    request_id: str
    global_request_id: str | None


class Searches:
    """Takes note of searches. `logged` says of which the log has a line; a `recorder` counts them.

    `cut` is how many searches of this process have spent their budget, whatever they found.
    """

    def __init__(
        self,
        logged: str,
        unmet_demand: UnmetDemand | None,
        failures: Failures,
        recorder: Recorder | None = None,
    ) -> None:
        self._logs_found = logged == ALL
        self._logs_empty = logged in (ALL, EMPTY)
        self._unmet_demand = unmet_demand
        self._failures = failures
        self._recorder = recorder
        self._lock = threading.Lock()
        self.cut = 0

    def count(self, wanted: CandidateRequest, result: Result, seconds: float) -> None:
        """Count a search that took so long, where the metrics want that."""
        recorder = self._recorder
        if recorder is None:
            return
        verdict = (result.verdict.value,)
        recorder.add(catalog.SEARCHES, verdict)
        recorder.observe(catalog.SEARCH_DURATION, verdict, seconds)
        recorder.observe(catalog.SEARCH_WORK, (), result.work)
        cut = _cut(wanted, result)
        if cut is not None:
            recorder.add(catalog.SEARCHES_CUT, (cut,))

    def note(
        self, origin: Callable[[], SearchOrigin], wanted: CandidateRequest, result: Result
    ) -> None:
        """Log a search, and keep it when it found nothing. Raises nothing."""
        if result.is_cut:
            with self._lock:
                self.cut += 1
        if result.candidates and not self._logs_found:
            return
        try:
            self._note(origin(), wanted, result)
        except Exception:
            self._failures.unexpected('Taking note of a search')

    def _note(self, origin: SearchOrigin, wanted: CandidateRequest, result: Result) -> None:
        if result.candidates:
            LOG.info('%s', line(origin, wanted, result))
            return
        if self._logs_empty:
            text = line(origin, wanted, result)
            if result.is_cut:
                # It may need a larger budget, if it is not the only one.
                LOG.warning(
                    '%s Searches of this process that spent search_budget: %d.', text, self.cut
                )
            else:
                LOG.info('%s', text)
        if self._unmet_demand is not None:
            self._unmet_demand.add(wanted, result, origin)


def line(origin: SearchOrigin, wanted: CandidateRequest, result: Result) -> str:
    """A search in one line.

    It has both ids, since the log format may leave the ids of requests out, and whoever looks for
    a missing host knows the one of the client.
    """
    ids = origin.request_id
    if origin.global_request_id:
        ids += f' of {origin.global_request_id}'
    return f'{ids}: "{origin.request}" microversion: {origin.version}: {_outcome(wanted, result)}'


def _outcome(wanted: CandidateRequest, result: Result) -> str:
    if result.explanation is not None:
        return result.explanation.line
    hosts = {
        provider.root_id
        for candidate in result.candidates
        for provider in candidate.providers
        if not provider.kind.profile.is_sharing
    }
    outcome = f'{len(result.candidates)} candidates on {len(hosts)} hosts'
    cut = _cut(wanted, result)
    return f'{outcome}, cut by {cut} after {result.trees_examined} trees' if cut else outcome


def _cut(wanted: CandidateRequest, result: Result) -> str | None:
    """The bound that ended the search early, so that there may be more candidates."""
    if result.is_cut:
        return 'search_budget'
    if len(result.candidates) != wanted.wanted:
        return None
    is_of_client = wanted.limit == wanted.wanted
    return 'limit' if is_of_client else 'max_allocation_candidates'
