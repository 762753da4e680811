# SPDX-License-Identifier: Apache-2.0
"""Waiting for a database that is started later than the service, or at the same time.

oslo.db would wait too, but knows PostgreSQL's drivers by words that they no longer use, and then
gives up after the first attempt.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable

import sqlalchemy as sa

from placement.db.engine import failures

LOG = logging.getLogger(__name__)

# PostgreSQL refuses a connection without telling drivers a code. This is how it begins to say
# that it will not have one, and these words are in it when that is going to change.
_REFUSAL = 'FATAL'
_PASSING = (
    'starting up',
    'shutting down',
    'recovery mode',
    'not yet accepting',
    'too many',
    'connection slots',
)


def await_database(engine: sa.Engine, max_retries: int, retry_interval: int) -> None:
    """Return when the database lets the engine in; without `max_retries` do not even ask.

    That is how often it is asked, -1 for ever, so many seconds after each other. Raises the error
    of the last attempt, or at once one that will not pass, such as that of a wrong password.
    """
    for attempt in _attempts(max_retries):
        try:
            with engine.connect():
                return
        except failures.DATABASE_ERRORS as error:
            if attempt == max_retries or not _will_pass(error):
                raise
            LOG.warning('Attempt %d to connect to the database: %s', attempt, error)
            time.sleep(retry_interval)


def _attempts(max_retries: int) -> Iterable[int]:
    return itertools.count(1) if max_retries == -1 else range(1, max_retries + 1)


def _will_pass(error: Exception) -> bool:
    """Whether to ask again is worth its while."""
    words = str(error)
    if _REFUSAL in words and not any(passing in words for passing in _PASSING):
        return False
    return failures.cause_of(error) is failures.Cause.LOST_CONNECTION
