# SPDX-License-Identifier: Apache-2.0
"""The outcome of a transaction whose reply to COMMIT was lost.

Each transaction that writes inserts an entry into the change feed, whose id is known before the
COMMIT. When the reply is lost, a second transaction tries to insert an entry with the same id. The
database makes it wait until the first has ended, even on another node of a cluster, and admits
only one of them. So either the transaction has committed its entry, or the other entry exists and
the transaction cannot commit any more.
"""

import itertools
import logging
import secrets
import time

import sqlalchemy as sa

from placement import errors
from placement.db.engine import backoff, failures
from placement.db.schema.own_tables import NO_PROVIDER, change_feed
from placement.db.statements import clock

LOG = logging.getLogger(__name__)

# Seconds after which the outcome is reported as unknown. A killed server restarts sooner, and
# clients do not wait much longer.
MAX_SECONDS = 20

# Locks the row, so that the COMMIT waits for a standby: a primary that crashed and restarted shows
# entries that no standby has.
_TOKEN = (
    sa.select(change_feed.c.token)
    .where(change_feed.c.id == sa.bindparam('entry_id'))
    .with_for_update()
)
_INSERT = sa.insert(change_feed)
_LOWEST = sa.select(sa.func.min(change_feed.c.id))


class Mark:
    """The mark of one transaction in the change feed: its token, and the id of an entry."""

    def __init__(self) -> None:
        self.token = secrets.randbits(63)
        self.entry_id: int | None = None


def has_committed(engine: sa.Engine, mark: Mark) -> bool:
    """True if the transaction with a mark has committed. If False, it never will.

    :raises errors.OutcomeUnknown: the database does not answer in time
    """
    if mark.entry_id is None:
        # The transaction has written nothing.
        return False
    deadline = time.monotonic() + MAX_SECONDS
    for attempt in itertools.count():
        try:
            return _has_entry(engine, mark.entry_id, mark.token)
        except failures.DATABASE_ERRORS as error:
            failure = error
        if time.monotonic() > deadline:
            break
        LOG.debug('Attempt %d at the outcome of a COMMIT: %s', attempt + 1, failure)
        backoff.sleep(attempt)
    LOG.error(
        'The reply to a COMMIT was lost, and the database did not say within %d s whether it was '
        'done: %s',
        MAX_SECONDS,
        failures.message_of(failure),
    )
    raise errors.OutcomeUnknown() from failure


def _has_entry(engine: sa.Engine, entry_id: int, token: int) -> bool:
    """True if the entry has this token; inserts another entry if it is missing."""
    with engine.begin() as connection:
        row = connection.execute(_TOKEN, {'entry_id': entry_id}).one_or_none()
        if row is not None:
            return bool(row[0] == token)
        lowest = connection.scalar(_LOWEST)
        if lowest is not None and lowest > entry_id:
            # The entry may have been pruned.
            raise errors.OutcomeUnknown()
        # Waits for the transaction, and fails if it has committed: the caller then tries again.
        other = {'id': entry_id, 'provider_id': NO_PROVIDER, 'token': secrets.randbits(63)}
        common = {'allocations_only': True, 'deleted_uuid': None}
        dated = _INSERT.values(at=clock.earlier(connection, 0))
        connection.execute(dated, {**other, **common})
    return False
