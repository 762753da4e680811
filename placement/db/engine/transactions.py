# SPDX-License-Identifier: Apache-2.0
"""Retries of transactions, and the errors that clients get when the last attempt fails."""

from __future__ import annotations

import collections
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from placement import errors
from placement.db.engine import backoff, failures
from placement.db.engine.causes import RETRIED, Cause
from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

# Default maximum number of attempts at a transaction that writes before the client gets the
# conflict.
WRITE_ATTEMPTS = 10

# Number of attempts with the same duplicate key after which the error is final. Normally the next
# attempt finds the row of the other transaction.
SAME_DUPLICATES = 3

# Attempts at a transaction that only reads: enough to replace a lost connection, too few to wait
# for a database that is down.
READ_ATTEMPTS = 3

# Seconds after which no further attempt begins. An attempt takes long if the server does not
# respond, and many such attempts would take minutes. After a first conflict one more attempt
# always begins: the server responds.
MAX_RETRY_SECONDS = 20

# The errors for causes in the database, not in the request.
_ANSWERS: Mapping[Cause, type[errors.ServiceUnavailable]] = {
    Cause.LOST_CONNECTION: errors.DatabaseUnavailable,
    Cause.NOT_READY: errors.DatabaseUnavailable,
    Cause.NO_FREE_CONNECTION: errors.DatabaseUnavailable,
    Cause.TIMEOUT: errors.DatabaseBusy,
    Cause.FULL: errors.DatabaseUnusable,
    Cause.DAMAGED: errors.DatabaseUnusable,
    Cause.REFUSED: errors.DatabaseUnusable,
    Cause.SCHEMA: errors.DatabaseNotMigrated,
}

# Remedies in the log.
_REMEDIES = {Cause.SCHEMA: ' (run "placement-manage db sync")'}

# Temporary causes; for the others an operator has to act.
_TEMPORARY = RETRIED | {Cause.NO_FREE_CONNECTION, Cause.TIMEOUT}


def retry(
    transaction: Callable[[], Result],
    name: str,
    attempts: int,
    recorder: Recorder | None = None,
) -> Result:
    """Run a transaction, and retry it after a conflict or a lost connection; return its result.

    `name` is for the log, `attempts` the maximum number of attempts. A `recorder` counts failed
    attempts.

    :raises errors.TooManyConflicts: the last attempt ended in a conflict
    :raises errors.DuplicateKey: one key was a duplicate in `SAME_DUPLICATES` attempts
    :raises errors.ServiceUnavailable: the database failed for one of the `causes`
    :raises errors.DatabaseFailed: the database failed for another one: a defect of this service
    :raises errors.BadRequest: the database cannot store a value
    :raises sqlalchemy.exc.DBAPIError: a statement is invalid, an error of the driver or oslo.db
    """
    deadline = time.monotonic() + MAX_RETRY_SECONDS
    duplicates: collections.Counter[str] = collections.Counter()
    for attempt in range(attempts):
        try:
            return transaction()
        except failures.DATABASE_ERRORS as error:
            cause, failure = failures.cause_of(error), error
        if failures.is_duplicate(failure):
            duplicates[failures.message_of(failure)] += 1
        is_lasting = SAME_DUPLICATES in duplicates.values()
        is_late = time.monotonic() > deadline and (attempt > 0 or cause is not Cause.CONFLICT)
        if cause not in RETRIED or is_lasting or is_late:
            break
        LOG.debug('Attempt %d at %s: %s', attempt + 1, name, failure)
        if attempt + 1 < attempts:
            _count(recorder, catalog.TRANSACTION_REPEATS, cause)
            backoff.sleep(attempt)
    _count(recorder, catalog.TRANSACTION_FAILURES, cause)
    if cause is not None:
        answer = _answer(cause, failure, name, attempt + 1)
        raise (errors.DuplicateKey() if is_lasting else answer) from failure
    if failures.is_of_database(failure):
        LOG.error('%s failed for an unknown reason', name, exc_info=failure)
        raise errors.DatabaseFailed from failure
    raise failure


def _count(recorder: Recorder | None, metric: catalog.Metric, cause: Cause | None) -> None:
    if recorder is not None:
        name = 'defect' if cause is None else cause.name.lower()
        recorder.add(metric, (name,))


def _answer(cause: Cause, failure: Exception, name: str, attempts: int) -> errors.PlacementError:
    """Return the error for the client; the reason goes to the log."""
    if cause is Cause.VALUE:
        return errors.BadRequest('A value is beyond what the database can hold.')
    level = logging.WARNING if cause in _TEMPORARY else logging.ERROR
    LOG.log(
        level,
        '%s failed after %d attempt(s), %s: %s',
        name,
        attempts,
        cause.value + _REMEDIES.get(cause, ''),
        failures.message_of(failure),
    )
    if cause is Cause.CONFLICT:
        return errors.TooManyConflicts(retries=attempts - 1)
    return _ANSWERS[cause]()
