# SPDX-License-Identifier: Apache-2.0
"""A claim, and the rules by which claims may be written: pure functions of what was loaded."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
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

    `resources` are amounts by the uuid of the provider and the name of the class; without any the
    consumer is to have nothing. Any generation suits one that was not sent; a type that was not
    sent stays as it is.
    """

    consumer_uuid: str
    resources: Mapping[str, Resources]
    project_id: str
    user_id: str
    generation: int | NotSent | None
    consumer_type: str | NotSent

    @classmethod
    def from_bodies(cls, conf: ConfigOpts, bodies: Mapping[str, Any]) -> list[Claim]:
        """One claim for each consumer, in the order of validated bodies by uuid.

        A client that sends no owner means the incomplete one of the configuration.
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
        """True if the client declares its consumer new and asks for resources."""
        return self.generation is None and bool(self.resources)

    @property
    def owner(self) -> Owner:
        """The project, user and type that the consumer is to have."""
        consumer_type = None if self.consumer_type is NOT_SENT else self.consumer_type
        return Owner(self.project_id, self.user_id, consumer_type)


class ClaimedAmount(NamedTuple):
    """An amount of one class of one provider, for one consumer."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str
    amount: int


class Stock(NamedTuple):
    """One inventory: its capacity, the usage, and the part of that which the write gives back.

    `returned` is the usage of the consumers of the write before it.
    """

    capacity: Capacity
    used: int
    returned: int = 0


#: By the uuid of the provider and the name of the class.
Stocks = Mapping[tuple[str, str], Stock]


def amounts(claims: Sequence[Claim]) -> Iterator[ClaimedAmount]:
    """Every amount of some claims, in their order."""
    for claim in claims:
        for provider_uuid, resources in claim.resources.items():
            for resource_class, amount in resources.items():
                yield ClaimedAmount(claim.consumer_uuid, provider_uuid, resource_class, amount)


def named_providers(claims: Sequence[Claim]) -> list[str]:
    """The uuids of the providers that claims name, each once."""
    return list(dict.fromkeys(uuid for claim in claims for uuid in claim.resources))


def check_size(claims: Sequence[Claim]) -> None:
    """Raise `errors.BadRequest` for more amounts than one request may write."""
    count = sum(1 for _ in amounts(claims))
    if count > MAX_AMOUNTS:
        raise errors.BadRequest(
            f'A request may write at most {MAX_AMOUNTS} amounts; this one has {count}.'
        )


def check_generations(claims: Sequence[Claim], stored: Mapping[str, int]) -> None:
    """Raise `errors.ConsumerGenerationConflict` for the first generation that is stale.

    `stored` are those of the consumers that exist, by uuid. A claim with the generation None
    says that its consumer does not exist.
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


def check_providers(claims: Sequence[Claim], known: Collection[str]) -> None:
    """Raise `errors.UnknownAllocationProvider` for the first provider that is not `known`."""
    for uuid in named_providers(claims):
        if uuid not in known:
            raise errors.UnknownAllocationProvider(uuid=uuid)


def check_fit(claims: Sequence[Claim], classes: Sequence[str], stocks: Stocks) -> None:
    """Raise `errors.UnableToAllocate` for the first amount that does not fit.

    A provider that has none of the `classes` of the write comes first; `classes` are in the order
    in which the error names them. Amounts are taken one after the other, so that those of one
    provider and class are judged by their sum.
    """
    stocked = {uuid for uuid, resource_class in stocks if resource_class in set(classes)}
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
    """Raise `errors.CapacityExceeded` unless an inventory can have so much used.

    One that is over capacity may stay so, as long as the write does not make it worse.
    """
    capacity, used_before = stock.capacity, stock.used
    resource_class, uuid = amount.resource_class, amount.provider_uuid
    if not capacity.allows_total(used_after, used_before=used_before):
        LOG.warning(
            'Over capacity for %s on resource provider %s: %d would be used of %s, now %d.',
            resource_class,
            uuid,
            used_after,
            capacity.capacity,
            used_before,
        )
        raise errors.CapacityExceeded(resource_class=resource_class, uuid=uuid)
    if not capacity.allows_total(used_after):
        LOG.warning(
            '%s on resource provider %s stays over capacity, but no more than before: '
            '%d of %s, formerly %d.',
            resource_class,
            uuid,
            used_after,
            capacity.capacity,
            used_before,
        )
