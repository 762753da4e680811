# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers: read, and written as they were read (specification: allocations)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from placement.client import errors
from placement.client.microversions import NEWEST, Feature, Microversion
from placement.client.names import quoted
from placement.client.session import Request, Session

NEEDS = frozenset({Feature.CONSUMER_GENERATIONS})

# In the released service a claim of a provider that is gone leaves a consumer behind that nobody
# can see and that was never written. This is how it says so; it wants to be sent the 0.
NEVER_WRITTEN = 'consumer generation conflict - expected 0 but got None'

# What the service says of a consumer that was written without a type.
WITHOUT_TYPE = 'unknown'

#: How much of which resource class, by provider.
Amounts = Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True)
class Consumer:
    """Who uses resources.

    Without a type it keeps the one it has.  A service that knows no types is not told any.
    """

    uuid: str
    project_id: str
    user_id: str
    type: str | None = 'INSTANCE'


@dataclasses.dataclass(frozen=True)
class Allocations:
    """All that a consumer uses.

    ``generation`` is that of the consumer as it was read, None when there was no such consumer;
    it is meant to be sent back, nothing else.
    """

    consumer: Consumer
    amounts: Amounts
    generation: int | None = None
    mappings: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def with_amounts(self, amounts: Amounts) -> Allocations:
        """The same with other amounts, on other providers."""
        return dataclasses.replace(self, amounts=amounts, mappings={})

    def body(self, version: Microversion) -> dict[str, Any]:
        """What is sent at this version."""
        body: dict[str, Any] = {
            'allocations': {
                provider: {'resources': dict(resources)}
                for provider, resources in self.amounts.items()
            },
            'project_id': self.consumer.project_id,
            'user_id': self.consumer.user_id,
            'consumer_generation': self.generation,
        }
        if self.mappings and version >= Feature.MAPPINGS.since:
            body['mappings'] = {
                suffix: list(providers) for suffix, providers in self.mappings.items()
            }
        if version >= Feature.CONSUMER_TYPES.since:
            body['consumer_type'] = self.consumer.type
        return body


def parse_amounts(shown: Mapping[str, Mapping[str, Any]]) -> Amounts:
    """The amounts in what the API shows."""
    return {provider: entry['resources'] for provider, entry in shown.items()}


def find(session: Session, consumer: str) -> Allocations | None:
    """What the consumer uses; None when it uses nothing."""
    shown = session.send(Request('GET', path_of(consumer), NEEDS)).body()
    if not shown['allocations']:
        return None
    kind = shown.get('consumer_type', WITHOUT_TYPE)
    return Allocations(
        Consumer(
            consumer,
            shown['project_id'],
            shown['user_id'],
            None if kind == WITHOUT_TYPE else kind,
        ),
        parse_amounts(shown['allocations']),
        shown['consumer_generation'],
    )


def get(session: Session, consumer: str) -> Allocations:
    """What the consumer uses.

    :raises errors.Gone: it uses nothing
    """
    found = find(session, consumer)
    if found is None:
        raise errors.Gone(f'consumer {consumer} has no allocations')
    return found


def change(session: Session, consumer: str, edit: Callable[[Allocations], Allocations]) -> None:
    """Replace what the consumer uses by what ``edit`` makes of it.

    When somebody else writes the same consumer meanwhile, ``edit`` is given what there is then;
    when it returns what it was given, nothing is sent.

    :raises errors.Conflict: others have written the consumer again and again
    :raises errors.Gone: it uses nothing, or a provider is not there
    :raises errors.NoCapacity: it does not fit
    :raises errors.Unreachable: it is not known what has become of it
    """

    def attempt() -> None:
        present = get(session, consumer)
        wanted = edit(present)
        if wanted != present:
            # Others may have come to the same result by a change of their own, and then both
            # are wanted: what is there does not tell who has written it.
            write(session, wanted, same_will_do=False)

    session.persist(attempt, errors.Conflict)


def write(session: Session, *wanted: Allocations, same_will_do: bool = True) -> None:
    """Replace what these consumers use, all or nothing, in one request.

    It is repeated when the answer is lost, because the generations let only one of the requests
    succeed, and when the service was too busy with others who claim from the same provider.
    After a lost answer, finding what is wanted, of the same project and user, is enough if
    ``same_will_do``.

    :raises errors.Conflict: one of the consumers was written by somebody else
    :raises errors.Gone: a provider is not there
    :raises errors.NoCapacity: it does not fit
    :raises errors.Unreachable: it is not known what has become of it
    """
    lost: errors.Unreachable | None = None
    attempt = 0
    while True:
        problem: errors.ClientError
        try:
            session.send(_request(wanted))
            return
        except errors.Unreachable as error:
            problem = error
            if error.may_be_done:
                lost = error
        except errors.Conflict as error:
            if _is_settled(session, wanted, error, lost, same_will_do):
                return
            if NEVER_WRITTEN in error.message:
                wanted = tuple(_as_never_written(one) for one in wanted)
            problem = error
        session.pause(attempt, problem)
        attempt += 1


def path_of(consumer: str) -> str:
    """The path of the consumer's allocations."""
    return f'/allocations/{quoted(consumer)}'


def _request(wanted: tuple[Allocations, ...]) -> Request:
    """One request for one consumer or for several."""

    def body(version: Microversion) -> dict[str, Any]:
        bodies = {one.consumer.uuid: one.body(version) for one in wanted}
        return bodies if len(wanted) > 1 else bodies[wanted[0].consumer.uuid]

    alone = wanted[0] if len(wanted) == 1 else None
    return Request(
        'PUT' if alone else 'POST',
        path_of(alone.consumer.uuid) if alone else '/allocations',
        NEEDS,
        body,
        # Whoever writes has to look first what has become of it.
        repeated_after=(),
        at_most=_at_most(wanted),
        conflict=errors.NoCapacity,
    )


def _at_most(wanted: tuple[Allocations, ...]) -> Microversion:
    """The newest version to write them at.

    Since the API has types, it demands one; a consumer without is written as it was before.
    """
    without_type = any(allocations.consumer.type is None for allocations in wanted)
    return Feature.CONSUMER_TYPES.since.before() if without_type else NEWEST


def _is_settled(
    session: Session,
    wanted: tuple[Allocations, ...],
    conflict: errors.Conflict,
    lost: errors.Unreachable | None,
    same_will_do: bool,
) -> bool:
    """Whether a request that met a conflict has been done, by one whose answer was lost.

    :raises errors.Conflict: it has not, and will not be, because somebody was faster
    :raises errors.Unreachable: it may have been, and somebody has written a consumer since
    """
    present = [find(session, one.consumer.uuid) for one in wanted]
    pairs = list(zip(wanted, present, strict=True))
    if lost and same_will_do:
        version = min(session.version(), _at_most(wanted))
        if all(_is_same(one, now, version) for one, now in pairs):
            return True
    for one, now in pairs:
        if (one.generation or None) != (now.generation if now else None):
            if lost:
                raise lost from conflict
            raise conflict
    # The consumers are as they were: it was about a provider that many claim from.
    return False


def _as_never_written(new: Allocations) -> Allocations:
    return dataclasses.replace(new, generation=new.generation or 0)


def _is_same(wanted: Allocations, present: Allocations | None, version: Microversion) -> bool:
    """Whether what is there is what was sent at this version, whoever has sent it."""
    if present is None:
        return not wanted.amounts
    # Neither says who has written it: a generation only counts, and mappings are not shown.
    alike = dataclasses.replace(present, generation=wanted.generation, mappings=wanted.mappings)
    return alike.body(version) == wanted.body(version)
