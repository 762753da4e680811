# SPDX-License-Identifier: Apache-2.0
"""A connection of psycopg that waits for the server only so long.

libpq bounds the time to connect, but not the time until a server that accepted a statement
responds. Import this module only where the driver is in use: it needs psycopg.
"""

import time
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg

Result = TypeVar('Result')


class BoundedConnection(psycopg.Connection[Any]):
    """Raises `psycopg.OperationalError` when a response takes longer than `response_timeout`."""

    # Seconds; None for no bound.
    response_timeout: float | None = None

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        """Run an operation of psycopg, which is a generator, until it ends or its time is up."""
        if self.response_timeout is not None:
            gen = bounded(gen, self.response_timeout)
        return super().wait(gen, *args, **kwargs)


def bounded(operation: Generator[Any, Any, Result], seconds: float) -> Generator[Any, Any, Result]:
    """Pass everything on; psycopg resumes an operation with 0 while the socket has nothing."""
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
