# SPDX-License-Identifier: Apache-2.0
"""The history as a sink: rows for the changes of a request, written before its COMMIT.

The changed parts of providers are read back here, after all other statements of the transaction;
allocations come with the changes.
"""

import json
from collections.abc import Iterator, Mapping

from oslo_context.context import RequestContext

from placement.db.changes import (
    Changes,
    ConsumerChange,
    NameChange,
    Part,
    ProviderChange,
    Resources,
)
from placement.db.engine import failures
from placement.db.engine.causes import RETRIED, Cause
from placement.db.rows import Connection
from placement.db.statements.owners import OwnerNames
from placement_insight.caller_id import storable
from placement_insight.history import statements
from placement_insight.history.keeper import ChangeHistory
from placement_insight.history.statements import (
    ChangeOrigin,
    ChangeRow,
    ProviderState,
    SubjectKind,
)

# Maximum number of attempts at a transaction after lost connections: a statement that is too long
# for the server looks like a lost connection each time. Conflicts have a maximum of their own.
ATTEMPTS = 3

# The project and the user of consumers.
Owner = tuple[str | None, str | None]

_PROVIDER, _CONSUMER = str(SubjectKind.PROVIDER), str(SubjectKind.CONSUMER)
# Encodes to ASCII: names may have characters that the column refuses.
_JSON = json.JSONEncoder(separators=(',', ':'))


class HistorySink:
    """Writes the changes of one request, again in each attempt at its transaction."""

    def __init__(self, history: ChangeHistory, context: RequestContext, action: str) -> None:
        self._history = history
        self._context = context
        self._action = action
        self._attempts_failed = 0
        self._is_off = False
        # The state of the last attempt. `_is_at_work` is True while its own statements run, and
        # stays so after their failure.
        self._is_at_work = False
        self._has_changes = False
        self._rows = 0

    def write(self, connection: Connection, changes: Changes) -> None:
        """Write a row for each change, unless the history is paused or has given up.

        A defect is logged, and leaves this request without rows.

        :raises DATABASE_ERRORS: a statement failed; `gives_up` decides about a retry without rows
        """
        self._rows, self._has_changes = 0, _has_rows(changes)
        self._is_off = self._is_off or self._history.is_paused
        if self._is_off or not self._has_changes:
            return
        self._is_at_work = True
        try:
            rows = list(_rows(connection, changes))
            statements.insert(connection, self._origin(), rows)
            self._rows = len(rows)
        except failures.DATABASE_ERRORS:
            raise
        except Exception:
            self._is_off = True
            self._history.unexpected()
        self._is_at_work = False

    def gives_up(self, failure: Exception) -> bool:
        """True if the failed transaction is to be retried without rows of the history.

        Only failures of the history's own statements count, and of a COMMIT after them.
        """
        is_at_work, rows = self._is_at_work, self._rows
        self._is_at_work, self._rows = False, 0
        if self._is_off or not (is_at_work or rows):
            return False
        cause = failures.cause_of(failure)
        if cause in RETRIED:
            self._attempts_failed += is_at_work
            attempts = self._history.attempts
            attempts = attempts if cause is Cause.CONFLICT else min(ATTEMPTS, attempts)
            if self._attempts_failed < attempts:
                return False
        self._is_off = True
        self._history.failed(cause, failure)
        return True

    def committed(self) -> None:
        """Count the rows, or the change that was committed without any."""
        if self._rows:
            self._history.written(self._rows)
        elif self._is_off and self._has_changes:
            self._history.missed()

    def _origin(self) -> ChangeOrigin:
        context = self._context
        return ChangeOrigin(
            context.request_id,
            context.global_request_id,
            storable(context.user_id),
            storable(context.user_name),
            storable(context.project_id),
            self._action,
        )


def _is_kept(change: ProviderChange) -> bool:
    """True if the change gets a row; a change of related rows alone gets none."""
    return change.allocations is not None or bool(change.parts & ~Part.RELATED)


def _has_rows(changes: Changes) -> bool:
    return bool(changes.consumers or changes.names or changes.former_providers) or any(
        map(_is_kept, changes.providers.values())
    )


def _rows(connection: Connection, changes: Changes) -> Iterator[ChangeRow]:
    """Yield a row for each consumer, provider, former provider and name, in this order."""
    consumers = _consumers(connection, changes)
    yield from consumers
    # The row of a provider has an owner only if all changed consumers have the same one.
    owners_of_all = {(row.project_id, row.user_id) for row in consumers}
    owner = owners_of_all.pop() if len(owners_of_all) == 1 else (None, None)
    yield from _providers(connection, changes, owner)
    yield from (ChangeRow(_PROVIDER, former.uuid) for former in changes.former_providers)
    yield from map(_name, changes.names)


def _consumers(connection: Connection, changes: Changes) -> list[ChangeRow]:
    """Return the rows of consumers; owner's names that a write does not set are looked up."""
    lacking = {
        change.stored
        for change in changes.consumers
        if change.stored is not None and None in change.given
    }
    stored = statements.names_of_owners(connection, lacking) if lacking else {}
    rows = []
    for change in changes.consumers:
        names = stored.get(change.stored, OwnerNames()) if change.stored else OwnerNames()
        kept = (given or known for given, known in zip(change.given, names, strict=True))
        rows.append(_consumer(change, OwnerNames(*kept)))
    return rows


def _consumer(change: ConsumerChange, owner: OwnerNames) -> ChangeRow:
    state = None
    if change.allocations:
        allocations = _described(change.allocations)
        state = _JSON.encode({'allocations': allocations, 'consumer_type': owner.consumer_type})
    return ChangeRow(_CONSUMER, change.uuid, owner.project, owner.user, change.generation, state)


def _providers(connection: Connection, changes: Changes, owner: Owner) -> Iterator[ChangeRow]:
    kept = {
        provider_id: change
        for provider_id, change in changes.providers.items()
        if _is_kept(change)
    }
    # The others changed in allocations only, which the changes have in full.
    unread = {
        provider_id: change.parts
        for provider_id, change in kept.items()
        if change.parts is not Part.NOTHING or change.uuid is None
    }
    states = statements.read_states(connection, unread) if unread else {}
    for provider_id, change in kept.items():
        current = states.get(provider_id)
        # A provider that was deleted by hand has neither; allocations of it can be released.
        if change.uuid is not None or current is not None:
            yield _provider(change, current, owner)


def _provider(change: ProviderChange, current: ProviderState | None, owner: Owner) -> ChangeRow:
    """Return the row of a provider, with its state and the owner of its consumers."""
    uuid, generation, state = change.uuid, change.generation, {}
    if current is not None:
        uuid, state = current.uuid, current.state
        if change.parts is not Part.NOTHING:
            generation = current.generation
    if change.allocations is None:
        return ChangeRow(_PROVIDER, uuid, None, None, generation, _JSON.encode(state))
    state['allocations'] = _described(change.allocations)
    return ChangeRow(_PROVIDER, uuid, *owner, generation, _JSON.encode(state))


def _described(allocations: Mapping[str, Resources]) -> dict[str, object]:
    return {uuid: {'resources': amounts} for uuid, amounts in allocations.items()}


def _name(change: NameChange) -> ChangeRow:
    state: dict[str, object] = {'name': change.name, **change.details}
    if change.former_name is not None:
        state['former_name'] = change.former_name
    if change.is_deleted:
        state['deleted'] = True
    return ChangeRow(str(change.kind), state=_JSON.encode(state))
