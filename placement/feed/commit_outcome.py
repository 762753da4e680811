# SPDX-License-Identifier: Apache-2.0
"""The outcome of a transaction, when the reply to its COMMIT was lost.

Each transaction that writes leaves an entry in the change feed, whose id is known before the
COMMIT. When the reply is lost, somebody else tries to insert an entry with the same id. The
database lets only one of the two have it, and makes the second wait until the first has ended, be
it on another node of a cluster. So there is no third case: the entry is that of the transaction,
which has committed, or it is the other one, and the transaction cannot commit any more.
"""

import contextlib
import itertools
import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from placement import errors
from placement.db.engine import backoff, failures
from placement.db.schema.own_tables import NO_PROVIDER, change_feed
from placement.db.schema.tables import utcnow

LOG = logging.getLogger(__name__)

# Seconds after which it is left open whether a transaction committed. A server that was killed
# comes back sooner; clients do not wait much longer.
MAX_SECONDS = 20

_KEY = 'placement_commit_mark'
_INSERT = sa.insert(change_feed)
_INSERT_RETURNING = _INSERT.returning(change_feed.c.id)
# Locked, so that reading it ends with a COMMIT that waits for a standby, as that of the entry did:
# a primary that crashed and started again shows entries that no standby has.
_TOKEN = (
    sa.select(change_feed.c.token)
    .where(change_feed.c.id == sa.bindparam('entry_id'))
    .with_for_update()
)
_LOWEST = sa.select(sa.func.min(change_feed.c.id))


class Mark:
    """A mark that one transaction leaves in the change feed: its token, and the id of an entry."""

    def __init__(self) -> None:
        self.token = secrets.randbits(63)
        self.entry_id: int | None = None
        # Whether a statement of the transaction has changed anything.
        self.has_written = False


@contextlib.contextmanager
def marked(connection: sa.Connection, mark: Mark) -> Iterator[None]:
    """Give the transaction that a connection begins a mark, until that has ended."""
    # Kept, because a connection that was lost has none any more.
    info = connection.info
    info[_KEY] = mark
    try:
        yield
    finally:
        info.pop(_KEY, None)


def note_writes(engine: sa.Engine) -> None:
    """Note in marks that their transactions have changed something."""

    @sa.event.listens_for(engine, 'before_cursor_execute')
    def note(
        connection: sa.Connection,
        _cursor: Any,
        _statement: str,
        _parameters: Any,
        context: Any,
        _is_many: bool,
    ) -> None:
        if context.isinsert or context.isupdate or context.isdelete:
            mark = connection.info.get(_KEY)
            if mark is not None:
                mark.has_written = True


def mark_of(connection: sa.Connection) -> Mark:
    """Return the mark of the open transaction; of one without it, a mark that nobody looks at."""
    mark: Mark | None = connection.info.get(_KEY)
    return mark or Mark()


def insert_entries(
    connection: sa.Connection,
    provider_ids: Sequence[int],
    allocations_only: bool,
    deleted_uuids: Sequence[str | None] | None = None,
) -> None:
    """Insert entries into the change feed that carry the token of the open transaction.

    `deleted_uuids` has the former uuid of each provider that was deleted, or has another uuid
    now, and None for the others; without it, there are only others.
    """
    mark = mark_of(connection)
    common = {'at': utcnow(), 'allocations_only': allocations_only, 'token': mark.token}
    uuids = deleted_uuids or [None] * len(provider_ids)
    rows = [
        {'provider_id': provider_id, 'deleted_uuid': uuid, **common}
        for provider_id, uuid in zip(provider_ids, uuids, strict=True)
    ]
    returns_ids = connection.dialect.name == 'postgresql'
    result = connection.execute(_INSERT_RETURNING if returns_ids else _INSERT, rows)
    if returns_ids:
        mark.entry_id = result.scalars().all()[0]
    elif connection.dialect.name != 'sqlite':
        # That of the first row, which the server sends with its reply.
        mark.entry_id = result.lastrowid


def leave(connection: sa.Connection, mark: Mark) -> None:
    """Leave an entry about no provider where a transaction has written and recorded nothing."""
    if mark.has_written and mark.entry_id is None:
        insert_entries(connection, [NO_PROVIDER], allocations_only=True)


def has_committed(engine: sa.Engine, mark: Mark) -> bool:
    """Return whether the transaction with a mark has committed; if not, it never will.

    Raises `errors.OutcomeUnknown` when the database does not say so in time.
    """
    if mark.entry_id is None:
        # It has written nothing.
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
    """Return whether the entry has this token; where there is none, it becomes another one."""
    with engine.begin() as connection:
        row = connection.execute(_TOKEN, {'entry_id': entry_id}).one_or_none()
        if row is not None:
            return bool(row[0] == token)
        lowest = connection.scalar(_LOWEST)
        if lowest is not None and lowest > entry_id:
            # It may have been there, and pruned since.
            raise errors.OutcomeUnknown()
        # Waits for the transaction, and fails when it has committed: then ask once more.
        other = {'id': entry_id, 'provider_id': NO_PROVIDER, 'token': secrets.randbits(63)}
        common = {'at': utcnow(), 'allocations_only': True, 'deleted_uuid': None}
        connection.execute(_INSERT, {**other, **common})
    return False
