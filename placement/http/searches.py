# SPDX-License-Identifier: Apache-2.0
"""The record of each search: a line of the log, and the counts of the metrics.

Observers get the searches without candidates, after the answer was sent.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from placement import errors
from placement.metrics import catalog
from placement.search.candidates import Result, SearchDone, withheld_words
from placement.search.model.request import CandidateRequest

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder

LOG = logging.getLogger(__name__)

ALL, EMPTY, NONE = 'all', 'empty', 'none'

# The verdicts that need no observer: labels of the metrics.
FITS, UNKNOWN, REFUSED = 'fits', 'unknown', 'refused'

# Maximum number of searches of a process that wait for observers, each with its snapshot.
MAX_UNOBSERVED = 100


class SearchOrigin(NamedTuple):
    """The request line of a search for the log, and the ids of the request."""

    request: str
    version: str
    request_id: str
    global_request_id: str | None


class Miss(NamedTuple):
    """A search without candidates."""

    origin: SearchOrigin
    request: CandidateRequest
    # None if it was refused.
    done: SearchDone | None = None
    # The message of the refusal, which names a class or trait that does not exist.
    refusal: str | None = None
    # More searches found nothing at the same time than can be examined.
    is_one_of_many: bool = False


class Finding(NamedTuple):
    """The reason for a search without candidates."""

    # One of `catalog.VERDICTS`.
    verdict: str
    # Text for the log.
    line: str


# Examines a search without candidates, and may return the reason. Must not raise.
Observer = Callable[[Miss], Finding | None]


class Searches:
    """Logs and counts searches.

    `logged` is the value of `[placement] log_searches`. Observers examine a search without
    candidates after its answer was sent, so that no scheduler waits for them. `cut` is the number
    of searches of this process that spent their budget, with or without candidates.
    """

    def __init__(
        self,
        logged: str,
        observers: Sequence[Observer] = (),
        recorder: Recorder | None = None,
    ) -> None:
        self._logs_found = logged == ALL
        self._logs_empty = logged in (ALL, EMPTY)
        self._observers = observers
        self._recorder = recorder
        self._lock = threading.Lock()
        self._unobserved: collections.deque[Miss] = collections.deque()
        self.cut = 0

    def note(self, origin: Callable[[], SearchOrigin], done: SearchDone) -> None:
        """Log and count a search with candidates; queue others for observers. Raises nothing."""
        with _failures_logged():
            if done.result.is_cut:
                with self._lock:
                    self.cut += 1
            if not done.result.candidates:
                self._put_off(Miss(origin(), done.request, done))
                return
            self._count(done, FITS)
            if self._logs_found:
                LOG.info('%s', line(origin(), found_words(done)))

    def _put_off(self, miss: Miss) -> None:
        """Queue a search without candidates until its answer was sent."""
        if len(self._unobserved) < MAX_UNOBSERVED:
            self._unobserved.append(miss)
        else:
            self._finish(miss._replace(is_one_of_many=True))

    @contextlib.contextmanager
    def refusals(
        self, origin: Callable[[], SearchOrigin], wanted: CandidateRequest
    ) -> Iterator[None]:
        """Record a search that is refused because a name does not exist.

        To the client, it is a search without candidates as well.
        """
        try:
            yield
        except errors.BadRequest as error:
            with _failures_logged():
                self._finish(Miss(origin(), wanted, refusal=str(error).rstrip('.')))
            raise

    @property
    def is_due(self) -> bool:
        """True if searches are queued for observers."""
        return bool(self._unobserved)

    def flush(self) -> None:
        """Pass the queued searches to the observers. Raises nothing."""
        # Another thread may take the last one.
        with contextlib.suppress(IndexError):
            while True:
                miss = self._unobserved.popleft()
                with _failures_logged():
                    self._finish(miss)

    def _finish(self, miss: Miss) -> None:
        """Count and log a search without candidates, with the finding of its observers."""
        finding = _unobserved(miss)
        for observe in self._observers:
            finding = observe(miss) or finding
        self._count(miss.done, finding.verdict)
        if self._logs_empty:
            self._log(line(miss.origin, finding.line), miss.done)

    def _log(self, text: str, done: SearchDone | None) -> None:
        if done is not None and done.result.is_cut:
            # A larger budget may be needed, if there are many of them.
            LOG.warning(
                '%s Searches of this process that spent search_budget: %d.', text, self.cut
            )
        else:
            LOG.info('%s', text)

    def _count(self, done: SearchDone | None, verdict: str) -> None:
        """Count a search, refused where `done` is None, if metrics are enabled."""
        recorder = self._recorder
        if recorder is None:
            return
        recorder.add(catalog.SEARCHES, (verdict,))
        if done is None:
            return
        result = done.result
        recorder.observe(catalog.SEARCH_DURATION, (verdict,), done.seconds)
        recorder.observe(catalog.SEARCH_WORK, (), result.work)
        cut = _cut(done.request, result)
        if cut is not None:
            recorder.add(catalog.SEARCHES_CUT, (cut,))


@contextlib.contextmanager
def _failures_logged() -> Iterator[None]:
    """Log exceptions instead of raising them, so that a defect here fails no request."""
    try:
        yield
    except Exception:
        LOG.exception('Taking note of a search failed; the request was answered nevertheless.')


def _unobserved(miss: Miss) -> Finding:
    """The finding about a search unless an observer has another one."""
    if miss.refusal is not None:
        return Finding(REFUSED, f'No candidates: {miss.refusal}.')
    if miss.done is not None and miss.done.withheld:
        return Finding(UNKNOWN, f'No candidates: {withheld_words(miss.done.withheld)}.')
    if miss.done is not None and miss.done.result.is_cut:
        spent = f'the search budget was spent after {miss.done.result.work} steps'
        return Finding(UNKNOWN, f'No candidates: {spent}.')
    return Finding(UNKNOWN, 'No candidates.')


def line(origin: SearchOrigin, words: str) -> str:
    """The line of the log for a search and its result.

    It has both request ids: the log format may leave them out, and an operator who looks for a
    missing host knows the id of the client.
    """
    ids = origin.request_id
    if origin.global_request_id:
        ids += f' of {origin.global_request_id}'
    return f'{ids}: "{origin.request}" microversion: {origin.version}: {words}'


def found_words(done: SearchDone) -> str:
    """Describe the candidates of a search, and the bound that cut it."""
    result = done.result
    hosts = {
        provider.root_id
        for candidate in result.candidates
        for provider in candidate.providers
        if not provider.kind.profile.is_sharing
    }
    outcome = f'{len(result.candidates)} candidates on {len(hosts)} hosts'
    if done.withheld:
        outcome += f', {withheld_words(done.withheld)}'
    cut = _cut(done.request, result)
    return f'{outcome}, cut by {cut} after {result.trees_examined} trees' if cut else outcome


def _cut(wanted: CandidateRequest, result: Result) -> str | None:
    """The option or parameter that ended the search early, or None."""
    if result.is_cut:
        return 'search_budget'
    if len(result.candidates) != wanted.wanted:
        return None
    is_of_client = wanted.limit == wanted.wanted
    return 'limit' if is_of_client else 'max_allocation_candidates'
