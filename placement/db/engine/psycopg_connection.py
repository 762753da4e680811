# SPDX-License-Identifier: Apache-2.0
"""A connection of psycopg with a timeout for responses.

libpq has a timeout to connect, but none for the response to a statement. Import this module only
with psycopg installed.
"""

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg

Result = TypeVar('Result')


class BoundedConnection(psycopg.Connection[Any]):
    """Connection whose waits for a response have a timeout.

    :raises psycopg.OperationalError: a response takes longer than `response_timeout`
    """

    # Seconds; None for no timeout.
    response_timeout: float | None = None

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """Run an operation of psycopg, a generator, until it ends or times out."""
        if self.response_timeout is not None:
            gen = bounded(gen, self.response_timeout)
        return super().wait(gen, *args, **kwargs)


def bounded(operation: Generator[Any, Any, Result], seconds: float) -> Generator[Any, Any, Result]:
    """Add a timeout to an operation, which psycopg resumes with 0 while no data arrives."""
    deadline = time.monotonic() + seconds
    try:
        event = next(operation)
        while True:
            ready = yield event
            if not ready and time.monotonic() > deadline:
                raise psycopg.OperationalError(f'no response within {seconds} seconds')
            event = operation.send(ready)
    except StopIteration as end:
        result: Result = end.value
        return result
