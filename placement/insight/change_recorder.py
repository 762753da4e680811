# SPDX-License-Identifier: Apache-2.0
"""What one request changes, noted while its transaction runs and written before its COMMIT.

Objects note what they change. The state afterwards is read when all is done, except for
allocations, which the claim says.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from placement.db.engine import failures
from placement.db.engine.causes import RETRIED
from placement.db.schema.own_tables import EXTERNAL_ID_LENGTH
from placement.db.schema.tables import utcnow
from placement.db.statements import change_history
from placement.db.statements.change_history import Change, GenerationOf, Kind, Origin
from placement.insight import provider_states
from placement.insight.provider_states import Part, ProviderState

if TYPE_CHECKING:
    import sqlalchemy as sa

    from placement.context import RequestContext
    from placement.insight.change_history import ChangeHistory

Result = TypeVar('Result')

# Attempts at a transaction whose rows could not be written because of something that passes. A
# statement that is too long for the server looks like a lost connection, however often it is sent.
ATTEMPTS = 3

_PROVIDER, _CONSUMER = str(Kind.PROVIDER), str(Kind.CONSUMER)
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
    generation: int | GenerationOf | None = None
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
        self._providers: dict[int, _Provider] = {}
        self._consumers: list[ConsumerState] = []
        # Rows that are complete: of names, and of providers that were deleted.
        self._complete: list[Change] = []
        self._rows = 0
        self._is_at_work = False

    def provider(self, provider_id: int, parts: Part) -> None:
        """Note that something of a provider, which is locked or new, has changed."""
        self._noted(provider_id).parts |= parts

    def deleted_provider(self, uuid: str) -> None:
        """Note that a provider was deleted."""
        self._complete.append(Change(_PROVIDER, uuid))

    def consumer(self, state: ConsumerState) -> None:
        """Note that the allocations of a consumer were written."""
        self._consumers.append(state)

    def allocations(
        self,
        provider_id: int,
        uuid: str | None,
        generation: int | GenerationOf | None,
        resources: Mapping[str, Mapping[str, int]],
    ) -> None:
        """Note what consumers have of a provider from now on, by their uuids.

        `generation` is that of the provider if it is incremented, and `uuid` may be unknown.
        """
        noted = self._noted(provider_id)
        noted.uuid, noted.generation = uuid, generation
        noted.allocations = {one: {'resources': amounts} for one, amounts in resources.items()}

    def name(self, kind: Kind, state: Mapping[str, Any]) -> None:
        """Note that a resource class or a trait was made, renamed or deleted."""
        self._complete.append(Change(str(kind), state=_JSON.encode(state)))

    def _noted(self, provider_id: int) -> _Provider:
        noted = self._providers.get(provider_id)
        if noted is None:
            noted = self._providers[provider_id] = _Provider()
        return noted

    def attempt(self, work: Callable[[], Result], otherwise: Result) -> Result:
        """What work for the history alone returns; `otherwise` while that is not written.

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
        """Whether the transaction, which has failed, is to be repeated without its rows."""
        cause = failures.cause_of(failure)
        if self._is_off or not (self._is_at_work or self._rows):
            return False
        if cause in RETRIED:
            self._attempts_failed += self._is_at_work
            if self._attempts_failed < min(ATTEMPTS, self._context.database.attempts):
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

    def _origin(self) -> Origin:
        """Where the request comes from."""
        context = self._context
        return Origin(
            utcnow(),
            context.request_id,
            context.global_request_id,
            _plain(context.user_id),
            _plain(context.user_name),
            _plain(context.project_id),
            self._action,
        )

    def _provider_changes(self, connection: sa.Connection) -> Iterator[Change]:
        owners = {(one.project_id, one.user_id) for one in self._consumers}
        owner = owners.pop() if len(owners) == 1 else (None, None)
        unread = {
            provider_id: noted.parts
            for provider_id, noted in self._providers.items()
            if noted.parts is not Part.NOTHING or noted.uuid is None
        }
        found = provider_states.read(connection, unread) if unread else {}
        for provider_id, noted in self._providers.items():
            yield _provider_change(noted, found.get(provider_id), owner)


def note_providers(context: RequestContext, provider_ids: Iterable[int], changed: Part) -> None:
    """Let the history, if there is one, tell what changed of providers, locked or new."""
    if context.change_recorder is not None:
        for provider_id in provider_ids:
            context.change_recorder.provider(provider_id, changed)


def note_deleted_provider(context: RequestContext, uuid: str) -> None:
    """Let the history, if there is one, tell that a provider was deleted."""
    if context.change_recorder is not None:
        context.change_recorder.deleted_provider(uuid)


def note_name(context: RequestContext, kind: Kind, state: Mapping[str, Any]) -> None:
    """Let the history, if there is one, tell what became of a resource class or a trait."""
    if context.change_recorder is not None:
        context.change_recorder.name(kind, state)


def _provider_change(
    noted: _Provider, found: ProviderState | None, owner: tuple[str | None, str | None]
) -> Change:
    """A provider as it was noted, with what was found of it, and who owns its consumers."""
    uuid, generation, state = noted.uuid, noted.generation, {}
    if found is not None:
        uuid, state = found.uuid, found.state
        if noted.parts is not Part.NOTHING:
            generation = found.generation
    if noted.allocations is None:
        return Change(_PROVIDER, uuid, None, None, generation, _JSON.encode(state))
    state['allocations'] = noted.allocations
    return Change(_PROVIDER, uuid, *owner, generation, _JSON.encode(state))


def _consumer_change(one: ConsumerState) -> Change:
    state = None
    if one.allocations:
        allocations = {uuid: {'resources': found} for uuid, found in one.allocations.items()}
        state = _JSON.encode({'allocations': allocations, 'consumer_type': one.consumer_type})
    return Change(_CONSUMER, one.uuid, one.project_id, one.user_id, one.generation, state)


def _plain(text: str | None) -> str | None:
    """What fits into a column of any character set."""
    if text is None or (len(text) <= EXTERNAL_ID_LENGTH and text.isascii()):
        return text
    return text.encode('ascii', 'backslashreplace').decode()[:EXTERNAL_ID_LENGTH]
