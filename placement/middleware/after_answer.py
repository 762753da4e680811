# SPDX-License-Identifier: Apache-2.0
"""What a worker does when an answer was sent: it writes the demand that was not met.

Web servers call `close` of what the application returned when the client has the answer (PEP
3333). No thread of our own: a thread is lost where a web server forks after it was started, and
under uWSGI without `enable-threads` it stands still between two requests, in the middle of a
transaction. Every request is an occasion, those of load balancers for `/healthcheck` included, so
that what was kept does not have to wait for the next search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement.insight.unmet_demand import UnmetDemand


class AfterAnswer:
    """The wrapped application."""

    def __init__(self, application: WSGIApplication, unmet_demand: UnmetDemand) -> None:
        self._application = application
        self._unmet_demand = unmet_demand

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = self._application(environ, start_response)
        if self._unmet_demand.is_due:
            return _Answer(answer, self._unmet_demand)
        return answer


class _Answer:
    """An answer, and what is done when it was sent."""

    def __init__(self, answer: Iterable[bytes], unmet_demand: UnmetDemand) -> None:
        self._answer = answer
        self._unmet_demand = unmet_demand

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Close the answer, then write; the latter raises nothing."""
        try:
            close: Any = getattr(self._answer, 'close', None)
            if close is not None:
                close()
        finally:
            self._unmet_demand.flush()
