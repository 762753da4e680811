# SPDX-License-Identifier: Apache-2.0
"""Claims, and the rules for writing them, as pure functions over loaded values."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from placement import errors
from placement.conf import ConfigOpts
from placement.db.statements.owners import Owner
from placement.objects.base import log_conflict
from placement.schemas.allocation import MAX_AMOUNTS
from placement.schemas.common import NOT_SENT, NotSent
from placement.search.model.capacity import Capacity

LOG = logging.getLogger(__name__)

Resources = Mapping[str, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """A claim: the full set of allocations requested for one consumer.

    `resources` are amounts by uuid of the provider and name of the class; empty ones release
    everything. A generation of NOT_SENT matches any; a type of NOT_SENT keeps the stored one.
    """

    consumer_uuid: str
    resources: Mapping[str, Resources]
    project_id: str
    user_id: str
    generation: int | NotSent | None
    consumer_type: str | NotSent

    @classmethod
    def from_bodies(cls, conf: ConfigOpts, bodies: Mapping[str, Any]) -> list[Claim]:
        """One claim for each consumer, from validated bodies by uuid, in their order.

        Bodies without an owner get the incomplete owner of the configuration.
        """
        project = conf.placement.incomplete_consumer_project_id
        user = conf.placement.incomplete_consumer_user_id
        return [
            cls(
                consumer_uuid=uuid,
                resources={
                    provider_uuid: allocation['resources']
                    for provider_uuid, allocation in body['allocations'].items()
                },
                project_id=project if body['project_id'] is NOT_SENT else body['project_id'],
                user_id=user if body['user_id'] is NOT_SENT else body['user_id'],
                generation=body['consumer_generation'],
                consumer_type=body['consumer_type'],
            )
            for uuid, body in bodies.items()
        ]

    @property
    def is_of_new_consumer(self) -> bool:
        """True if the client declares the consumer new, and claims resources."""
        return self.generation is None and bool(self.resources)

    @property
    def owner(self) -> Owner:
        """The new project, user and type of the consumer."""
        consumer_type = None if self.consumer_type is NOT_SENT else self.consumer_type
        return Owner(self.project_id, self.user_id, consumer_type)


class ClaimedAmount(NamedTuple):
    """An amount of one class of one provider, for one consumer."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str
    amount: int


class Stock(NamedTuple):
    """Capacity and usage of one inventory, and how much of the usage this write releases."""

    capacity: Capacity
    used: int
    # The usage by the consumers of the write, before it.
    returned: int = 0


#: By uuid of the provider and name of the class.
Stocks = Mapping[tuple[str, str], Stock]


def amounts(claims: Sequence[Claim]) -> Iterator[ClaimedAmount]:
    """Every amount of some claims, in their order."""
    for claim in claims:
        for provider_uuid, resources in claim.resources.items():
            for resource_class, amount in resources.items():
                yield ClaimedAmount(claim.consumer_uuid, provider_uuid, resource_class, amount)


def named_providers(claims: Sequence[Claim]) -> list[str]:
    """The distinct uuids of the providers in claims."""
    return list(dict.fromkeys(uuid for claim in claims for uuid in claim.resources))


def check_size(claims: Sequence[Claim]) -> None:
    """Raise `errors.BadRequest` for more amounts than one request may write."""
    count = sum(1 for _ in amounts(claims))
    if count > MAX_AMOUNTS:
        raise errors.BadRequest(
            f'A request may write at most {MAX_AMOUNTS} amounts; this one has {count}.'
        )


def check_generations(claims: Sequence[Claim], stored: Mapping[str, int]) -> None:
    """Raise `errors.ConsumerGenerationConflict` for the first stale generation.

    `stored` holds the generations of existing consumers by uuid. The generation None in a claim
    means that its consumer must not exist.
    """
    for claim in claims:
        given = claim.generation
        if given is NOT_SENT:
            continue
        recorded = stored.get(claim.consumer_uuid)
        if given != recorded:
            log_conflict('consumer', claim.consumer_uuid, recorded, given)
            expected = 'null' if recorded is None else recorded
            raise errors.ConsumerGenerationConflict(expected=expected, given=given)


def check_providers(claims: Sequence[Claim], known: Set[str]) -> None:
    """Raise `errors.UnknownAllocationProvider` for the first provider that is not `known`."""
    for uuid in named_providers(claims):
        if uuid not in known:
            raise errors.UnknownAllocationProvider(uuid=uuid)


def check_fit(claims: Sequence[Claim], classes: Sequence[str], stocks: Stocks) -> None:
    """Raise `errors.UnableToAllocate` for the first amount that does not fit.

    A provider with none of the `classes` of the write is reported first; `classes` are in the
    order of the message. Amounts are added up, so that several amounts of one provider and class
    are checked by their sum.
    """
    asked = frozenset(classes)
    stocked = {uuid for uuid, resource_class in stocks if resource_class in asked}
    lacking = [uuid for uuid in named_providers(claims) if uuid not in stocked]
    if lacking:
        raise errors.InventoryMissing(classes=', '.join(classes), uuid=', '.join(lacking))
    used: dict[tuple[str, str], int] = {}
    for amount in amounts(claims):
        key = amount.provider_uuid, amount.resource_class
        stock = stocks.get(key)
        if stock is None:
            raise errors.InventoryMissing(classes=amount.resource_class, uuid=amount.provider_uuid)
        _check_units(amount, stock.capacity)
        used[key] = used.get(key, stock.used - stock.returned) + amount.amount
        _check_total(amount, stock, used[key])


def _check_units(amount: ClaimedAmount, capacity: Capacity) -> None:
    """Raise `errors.InventoryConstraintsViolated` for an amount that the units do not allow."""
    if capacity.unit_refusal(amount.amount) is None:
        return
    LOG.warning(
        'Allocation of %d %s on resource provider %s violates min_unit %d, max_unit %d '
        'or step_size %d.',
        amount.amount,
        amount.resource_class,
        amount.provider_uuid,
        capacity.min_unit,
        capacity.max_unit,
        capacity.step_size,
    )
    raise errors.InventoryConstraintsViolated(
        resource_class=amount.resource_class, uuid=amount.provider_uuid
    )


def _check_total(amount: ClaimedAmount, stock: Stock, used_after: int) -> None:
    """Raise `errors.CapacityExceeded` if the write exceeds the capacity of an inventory.

    An inventory that is over capacity already may stay so, if its usage does not increase.
    """
    capacity, used_before = stock.capacity, stock.used
    resource_class, uuid = amount.resource_class, amount.provider_uuid
    facts = (resource_class, uuid, used_after, capacity.capacity, used_before)
    if not capacity.allows_total(used_after, used_before=used_before):
        LOG.warning(
            'Over capacity for %s on resource provider %s: %d would be used of %s, now %d.', *facts
        )
        raise errors.CapacityExceeded(resource_class=resource_class, uuid=uuid)
    if not capacity.allows_total(used_after):
        LOG.warning(
            '%s on resource provider %s stays over capacity, but no more than before: '
            '%d of %s, formerly %d.',
            *facts,
        )
