# SPDX-License-Identifier: Apache-2.0
"""Conversions between the shapes of versions: upgrades of requests, downgrades of replies.

Each function is named for its effect on a shape, and is used by at least one `Microversion` of the
history. A downgrade drops or rearranges members. It never searches or reads the database.
"""

import collections
from collections.abc import Callable
from typing import Any

from placement.http.microversion import Downgrade, Upgrade
from placement.http.reply import CREATED, Reply
from placement.schemas.common import NOT_SENT

CONSUMER_COUNT = 'consumer_count'


def changing_body(change: Callable[[Any], Any]) -> Downgrade:
    """A downgrade that changes the body, if any."""

    def downgrade(reply: Reply) -> Reply:
        return reply if reply.body is None else reply.with_body(change(reply.body))

    return downgrade


# Upgrades


def unknown_before(*members: str) -> Upgrade:
    """An upgrade that adds members, NOT_SENT, which older versions do not have."""

    def upgrade(body: dict[str, Any]) -> dict[str, Any]:
        return dict.fromkeys(members, NOT_SENT) | body

    return upgrade


def for_each_consumer(upgrade: Upgrade) -> Upgrade:
    """The same upgrade for every consumer of a body."""

    def upgrade_all(body: dict[str, Any]) -> dict[str, Any]:
        return {consumer: upgrade(part) for consumer, part in body.items()}

    return upgrade_all


def for_each_reshaped_consumer(upgrade: Upgrade) -> Upgrade:
    """The same upgrade for every consumer of a reshape."""

    def upgrade_all(body: dict[str, Any]) -> dict[str, Any]:
        return body | {'allocations': for_each_consumer(upgrade)(body['allocations'])}

    return upgrade_all


def key_by_provider(body: dict[str, Any]) -> dict[str, Any]:
    """Allocations keyed by provider, from a list; the last of several entries for a provider."""
    allocations = {
        entry['resource_provider']['uuid']: {'resources': entry['resources']}
        for entry in body['allocations']
    }
    return body | {'allocations': allocations}


def name_aggregates(body: list[str]) -> dict[str, Any]:
    """Aggregates as a member, from a bare list, with a generation that is NOT_SENT."""
    return {'aggregates': body, 'resource_provider_generation': NOT_SENT}


# Downgrades


def without(*members: str) -> Downgrade:
    """A downgrade that drops members of the body."""

    def drop(body: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name not in members}

    return changing_body(drop)


def within(collection: str, downgrade: Downgrade) -> Downgrade:
    """A downgrade of every element of a list or object in the body."""

    def change(body: dict[str, Any]) -> dict[str, Any]:
        elements = body[collection]
        changed: Any
        if isinstance(elements, dict):
            changed = {key: downgrade(Reply(e)).body for key, e in elements.items()}
        else:
            changed = [downgrade(Reply(element)).body for element in elements]
        return body | {collection: changed}

    return changing_body(change)


def without_link(rel: str) -> Downgrade:
    """A downgrade that drops one link of a provider."""

    def drop(provider: dict[str, Any]) -> dict[str, Any]:
        return provider | {'links': [li for li in provider['links'] if li['rel'] != rel]}

    return changing_body(drop)


def created_without_body(reply: Reply) -> Reply:
    """A creation with status and location only."""
    return Reply(status=CREATED, location=reply.location)


def usages_of_all_types(body: dict[str, Any]) -> dict[str, Any]:
    """Usages summed over every type of consumer, without the number of consumers."""
    totals: collections.Counter[str] = collections.Counter()
    for usages in body['usages'].values():
        totals.update({name: used for name, used in usages.items() if name != CONSUMER_COUNT})
    return {'usages': dict(totals)}


def candidates_as_list(body: dict[str, Any]) -> dict[str, Any]:
    """Allocation requests whose allocations are a list of providers."""
    requests = [
        request
        | {
            'allocations': [
                {'resource_provider': {'uuid': uuid}, 'resources': allocation['resources']}
                for uuid, allocation in request['allocations'].items()
            ]
        }
        for request in body['allocation_requests']
    ]
    return body | {'allocation_requests': requests}
