# SPDX-License-Identifier: Apache-2.0
"""Reads and writes allocations of consumers (specification: allocations)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from placement_report_client import errors
from placement_report_client.microversions import NEWEST, Feature, Microversion
from placement_report_client.names import quoted
from placement_report_client.session import Request, Session

NEEDS = frozenset({Feature.CONSUMER_GENERATIONS})

# A refused claim on a deleted provider leaves a consumer without allocations in upstream's
# database. Further claims for it are refused with this detail until they send the generation 0.
EXPECTS_GENERATION_0 = 'consumer generation conflict - expected 0 but got None'

# The type that the service shows for a consumer which was written without one.
WITHOUT_TYPE = 'unknown'

#: Amounts by resource class, by uuid of the provider.
Amounts = Mapping[str, Mapping[str, int]]


@dataclasses.dataclass(frozen=True)
class Consumer:
    """A consumer and its owner.

    Without a type it keeps the one it has.  A service without consumer types is sent none.
    """

    uuid: str
    project_id: str
    user_id: str
    type: str | None = 'INSTANCE'


@dataclasses.dataclass(frozen=True)
class Allocations:
    """All allocations of a consumer.

    ``generation`` is the consumer generation that was read, None for a new consumer. It guards the
    next write.
    """

    consumer: Consumer
    amounts: Amounts
    generation: int | None = None
    mappings: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def with_amounts(self, amounts: Amounts) -> Allocations:
        """A copy with other amounts, and without mappings."""
        return dataclasses.replace(self, amounts=amounts, mappings={})

    def body(self, version: Microversion) -> dict[str, Any]:
        """The body of a request at this version."""
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
    """The amounts in allocations as the API shows them."""
    return {provider: entry['resources'] for provider, entry in shown.items()}


def find(session: Session, consumer: str) -> Allocations | None:
    """The allocations of the consumer; None when it has none."""
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
    """The allocations of the consumer.

    :raises errors.Gone: it has none
    """
    found = find(session, consumer)
    if found is None:
        raise errors.Gone(f'consumer {consumer} has no allocations')
    return found


def change(session: Session, consumer: str, edit: Callable[[Allocations], Allocations]) -> None:
    """Replace the allocations of the consumer by what ``edit`` returns for them.

    After a concurrent write to the same consumer ``edit`` is called with the new allocations;
    when it returns them unchanged, nothing is sent.

    :raises errors.Conflict: concurrent writes to the consumer prevented it at every attempt
    :raises errors.Gone: the consumer has no allocations, or a provider does not exist
    :raises errors.NoCapacity: the new allocations do not fit
    :raises errors.Unreachable: the outcome is unknown
    """

    def attempt() -> None:
        present = get(session, consumer)
        wanted = edit(present)
        if wanted != present:
            # After a lost answer, equal allocations may be another client's equal change. Both
            # changes have to be applied, so they do not count as the own write.
            write(session, wanted, accept_same=False)

    session.retry(attempt, errors.Conflict)


def write(session: Session, *wanted: Allocations, accept_same: bool = True) -> None:
    """Replace the allocations of these consumers, all or none, in one request.

    It is retried when the answer is lost, because generations let only one of the requests
    succeed, and when concurrent claims on the same provider prevented it.  After a lost answer,
    ``accept_same`` takes equal allocations of the same project and user for the own write.

    :raises errors.Conflict: another client wrote one of the consumers
    :raises errors.Gone: a provider does not exist
    :raises errors.NoCapacity: the allocations do not fit
    :raises errors.Unreachable: the outcome is unknown
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
            if error.may_be_processed:
                lost = error
        except errors.Conflict as error:
            if _was_done(session, wanted, error, lost, accept_same):
                return
            if EXPECTS_GENERATION_0 in error.message:
                wanted = tuple(_with_generation_0(one) for one in wanted)
            problem = error
        session.back_off(attempt, problem)
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
        # `write` retries by itself, after finding out if the request was done.
        repeated_after=(),
        at_most=_at_most(wanted),
        conflict=errors.NoCapacity,
    )


def _at_most(wanted: tuple[Allocations, ...]) -> Microversion:
    """The newest version to write them at.

    From 1.38 on the API requires a type, so a consumer without one is written at the version
    before.
    """
    without_type = any(allocations.consumer.type is None for allocations in wanted)
    return Feature.CONSUMER_TYPES.since.before() if without_type else NEWEST


def _was_done(
    session: Session,
    wanted: tuple[Allocations, ...],
    conflict: errors.Conflict,
    lost: errors.Unreachable | None,
    accept_same: bool,
) -> bool:
    """Return True if a lost attempt has succeeded, which explains the present conflict.

    False if the conflict is about a provider, so that the write can be retried.

    :raises errors.Conflict: no attempt was lost, and another client has written a consumer
    :raises errors.Unreachable: an attempt was lost, and a consumer has changed since
    """
    present = [find(session, one.consumer.uuid) for one in wanted]
    pairs = list(zip(wanted, present, strict=True))
    if lost and accept_same:
        version = min(session.version(), _at_most(wanted))
        if all(_is_same(one, now, version) for one, now in pairs):
            return True
    for one, now in pairs:
        if (one.generation or None) != (now.generation if now else None):
            if lost:
                raise lost from conflict
            raise conflict
    # The consumers are unchanged: the conflict was about a provider that many clients claim on.
    return False


def _with_generation_0(new: Allocations) -> Allocations:
    return dataclasses.replace(new, generation=new.generation or 0)


def _is_same(wanted: Allocations, present: Allocations | None, version: Microversion) -> bool:
    """Compare the present allocations with those sent at this version, by any client."""
    if present is None:
        return not wanted.amounts
    # Not compared: a generation only counts writes, and the service does not show mappings.
    alike = dataclasses.replace(present, generation=wanted.generation, mappings=wanted.mappings)
    return alike.body(version) == wanted.body(version)
