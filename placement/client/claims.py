# SPDX-License-Identifier: Apache-2.0
"""Claim, move, confirm, revert, release: what a scheduler does with candidates.

While an instance moves, its migration is a consumer of its own: it holds the source, and the
instance the destination.  Every step is one write (specification: allocations, "POST
/allocations").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from placement.client import allocations, errors
from placement.client.allocations import Allocations, Consumer
from placement.client.candidates import Candidate
from placement.client.session import Request, Session

MIGRATION = 'MIGRATION'


def claim(session: Session, consumer: Consumer, candidate: Candidate) -> None:
    """Take what the candidate offers, for a consumer that has nothing yet.

    :raises errors.Conflict: the consumer has something already
    :raises errors.Gone: a provider of the candidate is not there any more
    :raises errors.NoCapacity: others have taken it meanwhile
    """
    wanted = Allocations(consumer, candidate.amounts, mappings=candidate.mappings)
    allocations.write(session, wanted)


def claim_any(session: Session, consumer: Consumer, candidates: Iterable[Candidate]) -> Candidate:
    """Take the first candidate that can still be had; that candidate.

    :raises errors.Conflict: the consumer has something already
    :raises errors.NoCapacity: none can be had
    """
    reason: errors.ClientError | None = None
    for candidate in candidates:
        try:
            claim(session, consumer, candidate)
        except (errors.NoCapacity, errors.Gone) as error:
            reason = error
        else:
            return candidate
    raise errors.NoCapacity('none of the candidates can be had') from reason


def move(session: Session, instance: str, migration: str, candidate: Candidate) -> None:
    """Give the migration what the instance has, and the instance what the candidate offers.

    :raises errors.Conflict: the migration has something already, or somebody writes the instance
    :raises errors.Gone: the instance has nothing, or a provider is not there any more
    :raises errors.NoCapacity: others have taken it meanwhile
    """
    source = allocations.get(session, instance)
    owner = dataclasses.replace(source.consumer, uuid=migration, type=MIGRATION)
    allocations.write(
        session,
        Allocations(owner, source.amounts),
        dataclasses.replace(source, amounts=candidate.amounts, mappings=candidate.mappings),
    )


def revert(session: Session, instance: str, migration: str) -> None:
    """Give the instance back what its migration has, and release the destination.

    :raises errors.Conflict: somebody writes one of the two
    :raises errors.Gone: one of the two has nothing
    """
    source = allocations.get(session, migration)
    destination = allocations.get(session, instance)
    allocations.write(session, source.with_amounts({}), destination.with_amounts(source.amounts))


def release(session: Session, consumer: str) -> bool:
    """Have the consumer use nothing; whether there was something left to release.

    There is not when the answer to a first request was lost, and so it does not tell who did it.
    What is claimed for the consumer between two requests goes with the second.

    :raises errors.Conflict: others were in the way again and again
    """
    try:
        session.send(Request('DELETE', allocations.path_of(consumer)))
    except errors.Gone:
        return False
    return True
