# SPDX-License-Identifier: Apache-2.0
"""The claim and the release that come most often, each as one statement where the server takes it.

The claim is that of one new consumer for standard classes of one provider, the release that of a
consumer which has something of one provider. The statements, and the order of their locks, are
those of the other writes; what is not as expected is left to those.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from placement.context import RequestContext
from placement.db.engine import compound
from placement.db.statements import allocations, consumers
from placement.db.statements import providers as provider_statements
from placement.db.statements.names import STANDARD_CLASS_IDS
from placement.feed.change_feed import ChangeFeed
from placement.objects.claim.claim import Claim, amounts, named_providers
from placement.schemas.common import MAX_INT


class Unusual(Exception):
    """A claim cannot be written at once; its transaction has to roll back."""


class Released(enum.Enum):
    """What of a consumer is deleted."""

    NOTHING = enum.auto()
    # Itself, but none of its allocations.
    CONSUMER = enum.auto()
    EVERYTHING = enum.auto()


def is_possible(context: RequestContext, claims: Sequence[Claim]) -> bool:
    """Whether `write_claim` may be tried: the server takes it, and the claim is of that kind."""
    return (
        compound.is_supported(context.database.engine.dialect)
        and len(claims) == len(named_providers(claims)) == 1
        and claims[0].is_of_new_consumer
        and _are_usual(claims[0])
    )


def _are_usual(claim: Claim) -> bool:
    """Whether the amounts of a claim are few, of standard classes, and not too large for it."""
    wanted = list(amounts([claim]))
    return len(wanted) <= allocations.MAX_OPTIMISTIC_AMOUNTS and all(
        one.resource_class in STANDARD_CLASS_IDS and one.amount <= MAX_INT for one in wanted
    )


def write_claim(
    context: RequestContext, claim: Claim, provider_id: int, rows: Sequence[Mapping[str, Any]]
) -> bool:
    """Make the consumer of a claim, lock its provider, insert its allocations, tell the feed.

    `rows` are the allocations, all of one provider, which `is_possible` allows. Returns False
    where they may not fit: then all is done but the last two steps. Raises `Unusual` where the
    provider, or what the owner names, is not there, and `db.statements.consumers.ConsumerExists`
    where the consumer is; the transaction is over then.
    """
    connection = context.connection
    (provider_uuid,) = claim.resources
    feed = ChangeFeed(connection)
    steps = [
        consumers.insertion(claim.consumer_uuid, claim.owner),
        provider_statements.increment(provider_id, provider_uuid),
        allocations.optimistic_insertion(rows),
        feed.step(provider_id),
    ]
    with consumers.expected_new():
        outcome = compound.execute(connection, steps)
    if outcome.done == len(steps):
        feed.recorded(outcome.inserted_id)
        return True
    if outcome.done == 1:
        # The provider was deleted, or has another id by now.
        context.database.id_cache.forget(claim.resources)
    if outcome.done < 2:
        raise Unusual
    allocations.delete_inserted(connection, rows)
    return False


def release(context: RequestContext, consumer_uuid: str) -> Released:
    """Delete a consumer and its allocations, and tell the feed, as far as all is as expected."""
    connection = context.connection
    feed = ChangeFeed(connection)
    steps = [
        consumers.deletion(consumer_uuid),
        feed.step_of_consumer(consumer_uuid),
        allocations.deletion(consumer_uuid),
    ]
    outcome = compound.execute(connection, steps)
    if outcome.done == len(steps):
        feed.recorded(outcome.inserted_id)
        return Released.EVERYTHING
    return Released.CONSUMER if outcome.done else Released.NOTHING
