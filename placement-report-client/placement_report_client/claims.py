# SPDX-License-Identifier: Apache-2.0
"""Claims, moves and releases of a scheduler.

While an instance moves, its migration is a separate consumer: the migration holds the allocations
on the source, and the instance those on the destination.  Every step is one write
(specification: allocations, "POST /allocations").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from placement_report_client import allocations, errors
from placement_report_client.allocations import Allocations, Consumer
from placement_report_client.candidates import Candidate
from placement_report_client.session import Request, Session

MIGRATION = 'MIGRATION'


def claim(session: Session, consumer: Consumer, candidate: Candidate) -> None:
    """Claim a candidate for a new consumer.

    :raises errors.Conflict: the consumer has allocations already
    :raises errors.Gone: a provider of the candidate was deleted
    :raises errors.NoCapacity: other claims have taken the capacity
    """
    wanted = Allocations(consumer, candidate.amounts, mappings=candidate.mappings)
    allocations.write(session, wanted)


def claim_any(session: Session, consumer: Consumer, candidates: Iterable[Candidate]) -> Candidate:
    """Claim the first candidate that still fits for a new consumer; that candidate.

    :raises errors.Conflict: the consumer has allocations already
    :raises errors.NoCapacity: none fits any more
    """
    reason: errors.ClientError | None = None
    for candidate in candidates:
        try:
            claim(session, consumer, candidate)
        except (errors.NoCapacity, errors.Gone) as error:
            reason = error
        else:
            return candidate
    raise errors.NoCapacity('no candidate can be claimed any more') from reason


def move(session: Session, instance: str, migration: str, candidate: Candidate) -> None:
    """Give the instance's allocations to the migration, and the candidate to the instance.

    :raises errors.Conflict: the migration has allocations, or the instance is being written
    :raises errors.Gone: the instance has no allocations, or a provider was deleted
    :raises errors.NoCapacity: other claims have taken the capacity
    """
    source = allocations.get(session, instance)
    owner = dataclasses.replace(source.consumer, uuid=migration, type=MIGRATION)
    allocations.write(
        session,
        Allocations(owner, source.amounts),
        dataclasses.replace(source, amounts=candidate.amounts, mappings=candidate.mappings),
    )


def revert(session: Session, instance: str, migration: str) -> None:
    """Give the migration's allocations back to the instance, and release the destination.

    :raises errors.Conflict: one of the two is being written
    :raises errors.Gone: one of the two has no allocations
    """
    source = allocations.get(session, migration)
    destination = allocations.get(session, instance)
    allocations.write(session, source.with_amounts({}), destination.with_amounts(source.amounts))


def release(session: Session, consumer: str) -> bool:
    """Remove all allocations of the consumer; whether it had any.

    False after a retry may mean that the first request, whose answer was lost, removed them.  What
    is claimed for the consumer between the two requests is removed by the second.

    :raises errors.Conflict: concurrent writes prevented it at every attempt
    """
    try:
        session.send(Request('DELETE', allocations.path_of(consumer)))
    except errors.Gone:
        return False
    return True
