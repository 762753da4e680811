# SPDX-License-Identifier: Apache-2.0
"""Waiting for a database server that starts after the service, or together with it.

oslo.db can wait too, but it recognises PostgreSQL's refusals by wordings that current drivers no
longer use, and gives up after the first attempt.
"""

import itertools
import logging
import time

import sqlalchemy as sa

from placement.db.engine import failures
from placement.db.engine.causes import DISCONNECTS

LOG = logging.getLogger(__name__)

# PostgreSQL's drivers report a refused connection without an SQLSTATE. The message of a refusal
# begins with the first of these; one of the others is in it when the refusal is temporary.
_REFUSAL = 'FATAL'
_TEMPORARY = (
    'starting up',
    'shutting down',
    'recovery mode',
    'not yet accepting',
    'too many',
    'connection slots',
)


def wait_for_database(engine: sa.Engine, max_retries: int, retry_interval: int) -> None:
    """Return as soon as the engine can connect.

    `max_retries` is the number of attempts (-1: unlimited, 0: none, return at once), and
    `retry_interval` the seconds between two of them. Raises the error of the last attempt, or
    the first error that waiting cannot cure, such as a wrong password.
    """
    for attempt in itertools.count(1) if max_retries == -1 else range(1, max_retries + 1):
        try:
            with engine.connect():
                return
        except failures.DATABASE_ERRORS as error:
            if attempt == max_retries or not _is_temporary(error):
                raise
            LOG.warning('Attempt %d to connect to the database: %s', attempt, error)
            time.sleep(retry_interval)


def _is_temporary(error: Exception) -> bool:
    """Return whether a later attempt may succeed."""
    words = str(error)
    if _REFUSAL in words and not any(temporary in words for temporary in _TEMPORARY):
        return False
    return failures.cause_of(error) in DISCONNECTS
