# SPDX-License-Identifier: Apache-2.0
"""The change feed as a sink of transactions: appends and prunes entries."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import sqlalchemy as sa

from placement.conf import ConfigOpts
from placement.db.changes import Changes, NameKind, Part
from placement.db.engine.database import Database
from placement.db.schema.own_tables import NO_PROVIDER
from placement.feed import commit_outcome
from placement.feed.change_feed import ChangeFeed
from placement.feed.entries import NewEntry, insert_entries

# Number of writes of a process between two attempts to prune.
WRITES_BETWEEN = 1_000


def entries_of(changes: Changes) -> list[NewEntry]:
    """Return the feed's entries for recorded changes, former uuids first."""
    former = [
        NewEntry(provider.id, deleted_uuid=provider.uuid) for provider in changes.former_providers
    ]
    changed = [
        NewEntry(
            provider_id,
            allocations_only=change.parts is Part.NOTHING and change.allocations is not None,
        )
        for provider_id, change in sorted(changes.providers.items())
    ]
    return former + changed


class FeedSink:
    """Appends the entries of one attempt at a transaction; prunes the feed if `is_due()`."""

    def __init__(self, is_due: Callable[[], bool], max_ids: int) -> None:
        self._is_due = is_due
        self._max_ids = max_ids
        self._mark = commit_outcome.Mark()

    def write(self, connection: sa.Connection, changes: Changes) -> None:
        """Append an entry for each changed provider; without any, one that marks the commit.

        The mark also tells workers to read promises again.
        """
        entries = entries_of(changes)
        is_read = any(change.kind is NameKind.PROMISE for change in changes.names)
        if not entries and not is_read and connection.dialect.name == 'sqlite':
            # SQLite needs no mark: no reply can be lost between a process and its file.
            return
        entries = entries or [NewEntry(NO_PROVIDER, allocations_only=True)]
        self._mark.entry_id = insert_entries(connection, self._mark.token, entries)
        if self._is_due():
            ChangeFeed(connection).prune(self._max_ids)

    def gives_up(self, _failure: Exception) -> bool:
        """Return False: a change must not commit without its entries."""
        return False

    def committed(self) -> None:
        """Do nothing."""

    def has_committed(self, engine: sa.Engine) -> bool:
        """True if the transaction has committed; see `commit_outcome.has_committed`."""
        return commit_outcome.has_committed(engine, self._mark)


class Feed:
    """The first sink of every database: creates the `FeedSink` of each attempt.

    Entries stay for an hour, unless the feed has more than `max_ids` ids; with 0 their age does
    not matter. The newest `BLOCK` ids (`feed.position`) always stay.
    """

    def __init__(self, max_ids: int = 0) -> None:
        self._max_ids = max_ids
        # Starts at random, so that processes that write little prune as well.
        self._writes = itertools.count(random.randrange(WRITES_BETWEEN))

    def __call__(self) -> FeedSink:
        return FeedSink(self._is_due, self._max_ids)

    def _is_due(self) -> bool:
        return next(self._writes) % WRITES_BETWEEN == 0


def open_database(conf: ConfigOpts) -> Database:
    """Return the database that a configuration names, with the feed as its first sink.

    :raises Exception: see `Database.from_conf`
    """
    return Database.from_conf(conf, Feed(conf.placement.change_feed_max_ids))
