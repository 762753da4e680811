# SPDX-License-Identifier: Apache-2.0
"""From rows to a `Snapshot`, kept by a worker and brought up to date before each search.

A fixed number of statements loads everything; after that a search costs one small statement that
reads the change feed, and only providers that changed are read again.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db import changes
from placement.db.api import Database
from placement.db.tables import (
    allocations,
    inventories,
    placement_aggregates,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.search.provider import InventoryRow, ProviderRow
from placement.search.snapshot import Snapshot

LOG = logging.getLogger(__name__)

# No transaction lives longer than this, in seconds: an id of the feed that has not appeared by
# then never will.
LONGEST_TRANSACTION = 120

# When more providers than this changed at once, reading everything costs less.
MOST_RELOADED = 500


def load_providers(
    connection: sa.Connection, ids: Collection[int] | None = None
) -> Iterator[ProviderRow]:
    """Rows of all providers, or of those among `ids` that exist, in five statements."""
    found = _inventories(connection, ids)
    with_traits = _grouped(
        connection,
        sa.select(resource_provider_traits.c.resource_provider_id, traits.c.name).join(
            traits, traits.c.id == resource_provider_traits.c.trait_id
        ),
        resource_provider_traits.c.resource_provider_id,
        ids,
    )
    with_aggregates = _grouped(
        connection,
        sa.select(
            resource_provider_aggregates.c.resource_provider_id, placement_aggregates.c.uuid
        ).join(
            placement_aggregates,
            placement_aggregates.c.id == resource_provider_aggregates.c.aggregate_id,
        ),
        resource_provider_aggregates.c.resource_provider_id,
        ids,
    )
    columns = resource_providers.c
    statement = sa.select(
        columns.id, columns.uuid, columns.parent_provider_id, columns.root_provider_id
    )
    for provider_id, uuid, parent_id, root_id in connection.execute(
        _among(statement, columns.id, ids)
    ):
        yield ProviderRow(
            provider_id,
            uuid,
            parent_id,
            root_id,
            found.get(provider_id, {}),
            with_traits.get(provider_id, ()),
            with_aggregates.get(provider_id, ()),
        )


def _among(
    statement: sa.Select[*tuple[Any, ...]],
    column: sa.Column[int],
    ids: Collection[int] | None,
) -> sa.Select[*tuple[Any, ...]]:
    return statement if ids is None else statement.where(column.in_(ids))


def _grouped(
    connection: sa.Connection,
    statement: sa.Select[*tuple[Any, ...]],
    column: sa.Column[int],
    ids: Collection[int] | None,
) -> dict[int, list[str]]:
    """Names by provider, from a statement of two columns."""
    grouped: dict[int, list[str]] = {}
    for provider_id, name in connection.execute(_among(statement, column, ids)):
        grouped.setdefault(provider_id, []).append(name)
    return grouped


def _inventories(
    connection: sa.Connection, ids: Collection[int] | None
) -> dict[int, dict[str, InventoryRow]]:
    """Inventories by provider and class, with what is used of them."""
    used = _used(connection, ids)
    columns = inventories.c
    statement = sa.select(
        columns.resource_provider_id,
        columns.resource_class_id,
        resource_classes.c.name,
        columns.total,
        columns.reserved,
        columns.min_unit,
        columns.max_unit,
        columns.step_size,
        columns.allocation_ratio,
    ).join(resource_classes, resource_classes.c.id == columns.resource_class_id)
    found: dict[int, dict[str, InventoryRow]] = {}
    rows = connection.execute(_among(statement, columns.resource_provider_id, ids))
    for provider_id, class_id, name, *members in rows:
        inventory = InventoryRow._make((*members, used.get((provider_id, class_id), 0)))
        found.setdefault(provider_id, {})[name] = inventory
    return found


def _used(connection: sa.Connection, ids: Collection[int] | None) -> dict[tuple[int, int], int]:
    """Sums of allocations by provider and class."""
    columns = allocations.c
    statement = sa.select(
        columns.resource_provider_id,
        columns.resource_class_id,
        sa.cast(sa.func.sum(columns.used), sa.BigInteger),
    ).group_by(columns.resource_provider_id, columns.resource_class_id)
    rows = connection.execute(_among(statement, columns.resource_provider_id, ids))
    return {(provider_id, class_id): used for provider_id, class_id, used in rows}


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """How far the feed was read: the last entry, and the gaps before it that may yet be filled.

    `gaps` are ids that were given to transactions which may still be running, with the time at
    which they were first missed.
    """

    last: int
    gaps: Mapping[int, float]

    @classmethod
    def at(cls, ids: Sequence[int], now: float) -> Position:
        """After the last of some ids, the first of which has nothing running below it."""
        if not ids:
            return cls(0, {})
        return cls(ids[0], {}).after(ids[1:], now)

    def after(self, ids: Iterable[int], now: float) -> Position:
        """The position when these entries were read as well, in the order of their ids."""
        last, gaps = self.last, dict(self.gaps)
        for entry_id in ids:
            if entry_id < last:
                gaps.pop(entry_id, None)
            else:
                gaps.update((gap, now) for gap in range(last + 1, entry_id))
                last = entry_id
        return Position(last, gaps)

    def without_gaps_before(self, oldest: float) -> Position:
        """The position without what no running transaction can fill any more."""
        if all(since >= oldest for since in self.gaps.values()):
            return self
        return Position(self.last, {i: since for i, since in self.gaps.items() if since >= oldest})


class State(NamedTuple):
    """A snapshot, and the position of the feed at the same moment."""

    snapshot: Snapshot
    position: Position


class SnapshotKeeper:
    """The snapshot of one worker, which all of its threads share.

    `current` returns a snapshot that has all that was committed before it was called. One thread
    at a time brings it up to date; what was handed out before stays as it is.
    """

    def __init__(
        self,
        database: Database,
        is_cached: bool = True,
        audit_interval: float = 300,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._is_cached = is_cached
        self._audit_interval = audit_interval
        self._clock = clock
        self._lock = threading.Lock()
        self._state: State | None = None
        self._audited_at = clock()

    def current(self) -> Snapshot:
        """The cloud as it is now."""
        if not self._is_cached:
            with self._database.consistent_reader() as connection:
                return Snapshot.of(load_providers(connection))
        with self._lock:
            state = self._state
            if state is None or self._is_audit_due() or self._has_news(state.position):
                # Assigned whole, and only when all of it was read: a failure on the way changes
                # nothing, so that the next search reads the same news again.
                state = self._state = self._refreshed(state)
            return state.snapshot

    def _has_news(self, position: Position) -> bool:
        """Whether anything was written down since: the one statement of most searches."""
        with self._database.fresh_reader() as connection:
            entries = changes.list_since(connection, position.last, position.gaps.keys())
        return entries is None or bool(entries)

    def _is_audit_due(self) -> bool:
        return self._clock() - self._audited_at >= self._audit_interval

    def _refreshed(self, state: State | None) -> State:
        with self._database.consistent_reader() as connection:
            if state is None:
                return self._loaded(connection)
            state = self._caught_up(connection, state)
            return self._audited(connection, state) if self._is_audit_due() else state

    def _caught_up(self, connection: sa.Connection, state: State) -> State:
        """The state after everything that was written down since."""
        now = self._clock()
        position = state.position.without_gaps_before(now - LONGEST_TRANSACTION)
        entries = changes.list_since(connection, position.last, position.gaps.keys())
        if entries is None:
            LOG.info('The change feed was pruned beyond what was read; loading everything.')
            return self._loaded(connection)
        touched = {provider_id for _entry_id, provider_id in entries}
        if len(touched) > MOST_RELOADED:
            return self._loaded(connection)
        position = position.after((entry_id for entry_id, _provider_id in entries), now)
        if not touched:
            return State(state.snapshot, position)
        rows = list(load_providers(connection, touched))
        removed = touched - {row.id for row in rows}
        return State(state.snapshot.with_changes(rows, removed), position)

    def _loaded(self, connection: sa.Connection) -> State:
        """Everything anew, with the feed read to where it stands."""
        window = datetime.timedelta(seconds=LONGEST_TRANSACTION)
        position = Position.at(changes.list_recent(connection, window), self._clock())
        state = State(Snapshot.of(load_providers(connection)), position)
        self._audited_at = self._clock()
        return state

    def _audited(self, connection: sa.Connection, state: State) -> State:
        """The state, or everything anew when it does not say what the tables say."""
        if figures_of(state.snapshot) != figures_in(connection):
            LOG.warning(
                'The snapshot for candidate searches differs from the database: something writes '
                'that does not feed changes, such as another service during an upgrade. '
                'Loading everything.'
            )
            return self._loaded(connection)
        self._audited_at = self._clock()
        return state


Figures = tuple[int, ...]

# Sums are weighed by provider, so that what merely moves from one to the other is noticed. The
# modulus keeps sums over millions of rows within 64 bits.
WEIGHTS = 997


def figures_of(snapshot: Snapshot) -> Figures:
    """Counts and sums of a snapshot, to be compared with those of the database."""
    totals: collections.Counter[str] = collections.Counter()
    for provider in snapshot:
        weight = provider.id % WEIGHTS + 1
        totals['providers'] += weight
        totals['roots'] += provider.root_id % WEIGHTS
        totals['traits'] += weight * len(provider.traits)
        totals['aggregates'] += weight * len(provider.aggregates)
        for _name, capacity, used in provider.inventories:
            totals['inventories'] += weight
            totals['totals'] += weight * (capacity.total - capacity.reserved)
            totals['used'] += weight * used
    return tuple(totals[name] for name in FIGURES)


FIGURES = ('providers', 'roots', 'traits', 'aggregates', 'inventories', 'totals', 'used')


def figures_in(connection: sa.Connection) -> Figures:
    """Counts and sums of the tables, in the order of `FIGURES`."""
    columns = resource_providers.c
    of_traits = resource_provider_traits.c.resource_provider_id
    of_aggregates = resource_provider_aggregates.c.resource_provider_id
    of_inventories = inventories.c.resource_provider_id
    available = inventories.c.total - inventories.c.reserved
    # Allocations of a class that a provider has no inventory of cannot be searched for.
    searchable = sa.exists().where(
        inventories.c.resource_provider_id == allocations.c.resource_provider_id,
        inventories.c.resource_class_id == allocations.c.resource_class_id,
    )
    root_id = sa.func.coalesce(columns.root_provider_id, columns.id)
    sums = (
        sa.select(_sum(_weight(columns.id))),
        sa.select(_sum(root_id % WEIGHTS)),
        sa.select(_sum(_weight(of_traits))),
        sa.select(_sum(_weight(of_aggregates))),
        sa.select(_sum(_weight(of_inventories))),
        sa.select(_sum(_weight(of_inventories) * available)),
        sa.select(_sum(_weight(allocations.c.resource_provider_id) * allocations.c.used)).where(
            searchable
        ),
    )
    row = connection.execute(sa.select(*[one.scalar_subquery() for one in sums])).one()
    return tuple(int(figure) for figure in row)


def _weight(column: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    return sa.cast(column % WEIGHTS + 1, sa.BigInteger)


def _sum(expression: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    return sa.func.coalesce(sa.func.sum(expression), 0)
