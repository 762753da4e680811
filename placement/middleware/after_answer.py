# SPDX-License-Identifier: Apache-2.0
"""Tasks of a worker after an answer was sent: unmet demand is written, old history removed.

Web servers call `close` of what the application returned when the client has the answer (PEP
3333). No thread of our own: a thread is lost where a web server forks after it was started, and
under uWSGI without `enable-threads` it stands still between two requests, in the middle of a
transaction. Every request is an occasion, those of load balancers for `/healthcheck` included, so
that what was kept does not have to wait for the next search.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class Task(Protocol):
    """Something to do; `flush` raises nothing."""

    @property
    def is_due(self) -> bool: ...

    def flush(self) -> None: ...


class AfterAnswer:
    """The wrapped application."""

    def __init__(self, application: WSGIApplication, *tasks: Task) -> None:
        self._application = application
        self._tasks = tasks

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = self._application(environ, start_response)
        due = [task for task in self._tasks if task.is_due]
        return _Answer(answer, due) if due else answer


class _Answer:
    """An answer, and what is done when it was sent."""

    def __init__(self, answer: Iterable[bytes], due: Sequence[Task]) -> None:
        self._answer = answer
        self._due = due

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Close the answer, then do what is due; the latter raises nothing."""
        try:
            close: Any = getattr(self._answer, 'close', None)
            if close is not None:
                close()
        finally:
            for task in self._due:
                task.flush()
