# SPDX-License-Identifier: Apache-2.0
"""Tasks of a worker after an answer was sent, such as writing unmet demand and pruning history.

When the client has the answer, web servers call `close` of the application's return value (PEP
3333). Tasks have no thread of their own: a thread does not survive a fork of the web server, and
under uWSGI without `enable-threads` it stops between requests, in the middle of a transaction.
Tasks run after every request, including `/healthcheck` of load balancers, so they need not wait
for the next search.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement.http.service import Task


class AfterAnswer:
    """The wrapped application."""

    def __init__(self, application: WSGIApplication, tasks: Sequence[Task]) -> None:
        self._application = application
        self._tasks = tasks

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        answer = self._application(environ, start_response)
        due = [task for task in self._tasks if task.is_due]
        return _Answer(answer, due) if due else answer


class _Answer:
    """An answer, and the tasks to run after it."""

    def __init__(self, answer: Iterable[bytes], due: Sequence[Task]) -> None:
        self._answer = answer
        self._due = due

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Close the answer, then run the tasks, which raise nothing."""
        try:
            close: Any = getattr(self._answer, 'close', None)
            if close is not None:
                close()
        finally:
            for task in self._due:
                task.flush()
