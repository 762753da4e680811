# SPDX-License-Identifier: Apache-2.0
"""The changes of one request, noted while its transaction runs and written before its COMMIT.

Objects note what they change. The state afterwards is read when all is done, except for
allocations, which the claim says.
"""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from placement.db.engine import failures
from placement.db.engine.causes import RETRIED, Cause
from placement.db.schema.own_tables import EXTERNAL_ID_LENGTH
from placement.db.schema.tables import utcnow
from placement.insight.history import statements as change_history
from placement.insight.history.statements import (
    ChangeOrigin,
    ChangeRow,
    Part,
    ProviderState,
    SubjectKind,
)

if TYPE_CHECKING:
    import sqlalchemy as sa

    from placement.context import RequestContext
    from placement.insight.history.keeper import ChangeHistory

Answered = TypeVar('Answered')

# Attempts at a transaction whose rows could not be written for want of a server. A statement that
# is too long for it looks like a lost connection, however often it is sent; a conflict passes.
ATTEMPTS = 3

_PROVIDER, _CONSUMER = str(SubjectKind.PROVIDER), str(SubjectKind.CONSUMER)
# In ASCII, because names may have characters that no column takes.
_JSON = json.JSONEncoder(separators=(',', ':'))


class ConsumerState(NamedTuple):
    """A consumer after a change; without allocations it is not there any more.

    `allocations` are amounts by the uuid of the provider and the name of the class. The owner is
    the last one that the consumer had.
    """

    uuid: str
    project_id: str | None = None
    user_id: str | None = None
    generation: int | None = None
    consumer_type: str | None = None
    allocations: Mapping[str, Mapping[str, int]] = MappingProxyType({})


@dataclasses.dataclass(slots=True)
class _Provider:
    # What has to be read.
    parts: Part = Part.NOTHING
    # Of one of which only allocations change; what is not known of it is read.
    uuid: str | None = None
    generation: int | None = None
    allocations: dict[str, Any] | None = None


class ChangeRecorder:
    """Notes what one request changes, once for each attempt at its transaction."""

    def __init__(self, history: ChangeHistory, context: RequestContext, action: str) -> None:
        self._history = history
        self._context = context
        self._action = action
        self._is_off = False
        self._attempts_failed = 0

    def begin(self) -> None:
        """Forget what was noted: a transaction begins."""
        self._providers: dict[int, _Provider] = collections.defaultdict(_Provider)
        self._consumers: list[ConsumerState] = []
        # Rows that are complete: of names, and of providers that were deleted.
        self._complete: list[ChangeRow] = []
        self._rows = 0
        self._is_at_work = False

    def providers(self, provider_ids: Iterable[int], parts: Part) -> None:
        """Note that parts of providers, which are locked or new, have changed."""
        for provider_id in provider_ids:
            self._providers[provider_id].parts |= parts

    def complete(self, row: ChangeRow) -> None:
        """Note a row that is complete: of a name, or of a provider that was deleted."""
        self._complete.append(row)

    def consumer(self, state: ConsumerState) -> None:
        """Note that the allocations of a consumer were written."""
        self._consumers.append(state)

    def allocations(
        self,
        provider_id: int,
        uuid: str | None,
        generation: int | None,
        resources: Mapping[str, Mapping[str, int]],
    ) -> None:
        """Note what consumers have of a provider from now on, by their uuids.

        `generation` is that of the provider if it is incremented, and `uuid` may be unknown.
        """
        noted = self._providers[provider_id]
        noted.uuid, noted.generation = uuid, generation
        noted.allocations = {
            consumer: {'resources': amounts} for consumer, amounts in resources.items()
        }

    def attempt(self, work: Callable[[], Answered], otherwise: Answered) -> Answered:
        """Run `work` for the history; return `otherwise` if recording is off.

        Raises what the database raises, for which `does_without` then blames the history. A defect
        is logged, and the history of this request is not written.
        """
        self._is_off = self._is_off or self._history.is_paused
        if self._is_off:
            return otherwise
        self._is_at_work = True
        try:
            result = work()
        except failures.DATABASE_ERRORS:
            raise
        except Exception:
            self._is_off = True
            self._history.unexpected()
            result = otherwise
        self._is_at_work = False
        return result

    # What the transaction calls

    def write(self, connection: sa.Connection) -> None:
        """Write what was noted; the transaction has done everything else.

        Raises what the database raises.
        """
        if self._has_changes:
            self._rows = self.attempt(lambda: self._write(connection), 0)

    @property
    def _has_changes(self) -> bool:
        return bool(self._providers or self._consumers or self._complete)

    def _write(self, connection: sa.Connection) -> int:
        """Write what was noted; how many rows it is."""
        changes = [*map(_consumer_change, self._consumers)]
        if self._providers:
            changes += self._provider_changes(connection)
        changes += self._complete
        change_history.insert(connection, self._origin(), changes)
        return len(changes)

    def does_without(self, failure: Exception) -> bool:
        """Decide if the transaction, which has failed, is repeated without its rows."""
        cause = failures.cause_of(failure)
        if self._is_off or not (self._is_at_work or self._rows):
            return False
        if cause in RETRIED:
            self._attempts_failed += self._is_at_work
            attempts = self._context.database.attempts
            if cause is not Cause.CONFLICT:
                attempts = min(ATTEMPTS, attempts)
            if self._attempts_failed < attempts:
                return False
        self._is_off = True
        self._history.failed(cause, failure)
        return True

    def committed(self) -> None:
        """Count what was written, or was not; the transaction has been committed."""
        if self._rows:
            self._history.written(self._rows)
        elif self._is_off and self._has_changes:
            self._history.missed()

    # What is written: a row for each consumer, provider and name that was noted, in this order.

    def _origin(self) -> ChangeOrigin:
        """Where the request comes from."""
        context = self._context
        return ChangeOrigin(
            utcnow(),
            context.request_id,
            context.global_request_id,
            _plain(context.user_id),
            _plain(context.user_name),
            _plain(context.project_id),
            self._action,
        )

    def _provider_changes(self, connection: sa.Connection) -> Iterator[ChangeRow]:
        owners = {(consumer.project_id, consumer.user_id) for consumer in self._consumers}
        owner = owners.pop() if len(owners) == 1 else (None, None)
        unread = {
            provider_id: noted.parts
            for provider_id, noted in self._providers.items()
            if noted.parts is not Part.NOTHING or noted.uuid is None
        }
        states = change_history.read_states(connection, unread) if unread else {}
        for provider_id, noted in self._providers.items():
            yield _provider_change(noted, states.get(provider_id), owner)


def note_providers(context: RequestContext, provider_ids: Iterable[int], changed: Part) -> None:
    """Note the changed parts of providers, locked or new, if there is a history."""
    if context.change_recorder is not None:
        context.change_recorder.providers(provider_ids, changed)


def note_deleted_provider(context: RequestContext, uuid: str) -> None:
    """Note that a provider was deleted, if there is a history."""
    if context.change_recorder is not None:
        context.change_recorder.complete(ChangeRow(_PROVIDER, uuid))


def note_name(context: RequestContext, kind: SubjectKind, state: Mapping[str, Any]) -> None:
    """Note the new state of a resource class or a trait, if there is a history."""
    if context.change_recorder is not None:
        context.change_recorder.complete(ChangeRow(str(kind), state=_JSON.encode(state)))


def _provider_change(
    noted: _Provider, current: ProviderState | None, owner: tuple[str | None, str | None]
) -> ChangeRow:
    """A provider as it was noted, with its state and the owner of its consumers."""
    uuid, generation, state = noted.uuid, noted.generation, {}
    if current is not None:
        uuid, state = current.uuid, current.state
        if noted.parts is not Part.NOTHING:
            generation = current.generation
    if noted.allocations is None:
        return ChangeRow(_PROVIDER, uuid, None, None, generation, _JSON.encode(state))
    state['allocations'] = noted.allocations
    return ChangeRow(_PROVIDER, uuid, *owner, generation, _JSON.encode(state))


def _consumer_change(consumer: ConsumerState) -> ChangeRow:
    uuid, project_id, user_id, generation, consumer_type, held = consumer
    state = None
    if held:
        allocations = {provider: {'resources': amounts} for provider, amounts in held.items()}
        state = _JSON.encode({'allocations': allocations, 'consumer_type': consumer_type})
    return ChangeRow(_CONSUMER, uuid, project_id, user_id, generation, state)


def _plain(text: str | None) -> str | None:
    """Escape characters that a column of some character set does not take."""
    if text is None or (len(text) <= EXTERNAL_ID_LENGTH and text.isascii()):
        return text
    return text.encode('ascii', 'backslashreplace').decode()[:EXTERNAL_ID_LENGTH]
