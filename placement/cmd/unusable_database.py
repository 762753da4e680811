# SPDX-License-Identifier: Apache-2.0
"""What a command says of a database that cannot be used, in one line instead of a traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from placement.db.engine import failures


class UnusableDatabaseError(Exception):
    """Why the database cannot be used, and what to do: one line for the operator."""


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Let a block of code raise `UnusableDatabaseError` where the database cannot be used.

    Specification: commands. All other errors pass through.
    """
    try:
        yield
    except Exception as error:
        reason = failures.unusable_reason(error)
        if reason is None:
            raise
        raise UnusableDatabaseError(
            f'The database cannot be used: {reason}. Run "placement-manage doctor".'
        ) from error
