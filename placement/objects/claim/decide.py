# SPDX-License-Identifier: Apache-2.0
"""Whether claims may be written: pure functions of what was read under the locks of the write."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from placement import errors
from placement.objects import generations as generation_log
from placement.objects.claim.claim import Amount, Claim, amounts, named_providers
from placement.schemas.allocation import MAX_AMOUNTS
from placement.schemas.not_sent import NOT_SENT
from placement.search.model.capacity import Capacity

LOG = logging.getLogger(__name__)


class Stock(NamedTuple):
    """One inventory: its capacity, what is `used` of it, and what of that the write gives back.

    `returned` is what the consumers of the write have of it before.
    """

    capacity: Capacity
    used: int
    returned: int = 0


#: By the uuid of the provider and the name of the class.
Stocks = Mapping[tuple[str, str], Stock]


def check_size(claims: Sequence[Claim]) -> None:
    """Raise `errors.BadRequest` for more amounts than one request may write."""
    found = sum(1 for _ in amounts(claims))
    if found > MAX_AMOUNTS:
        raise errors.BadRequest(
            f'A request may write at most {MAX_AMOUNTS} amounts; this one has {found}.'
        )


def check_generations(claims: Sequence[Claim], generations: Mapping[str, int]) -> None:
    """Raise `errors.ConsumerGenerationConflict` for the first generation that is stale.

    `generations` are those of the consumers that exist, by uuid. A claim with the generation None
    says that its consumer does not exist.
    """
    for claim in claims:
        given = claim.generation
        if given is NOT_SENT:
            continue
        recorded = generations.get(claim.consumer_uuid)
        if given != recorded:
            generation_log.log_consumer_conflict(claim.consumer_uuid, recorded, given)
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
    for one in amounts(claims):
        key = one.provider_uuid, one.resource_class
        stock = stocks.get(key)
        if stock is None:
            raise errors.InventoryMissing(classes=one.resource_class, uuid=one.provider_uuid)
        _check_units(one, stock.capacity)
        used[key] = used.get(key, stock.used - stock.returned) + one.amount
        _check_total(one, stock, used[key])


def _check_units(one: Amount, capacity: Capacity) -> None:
    """Raise `errors.InventoryConstraintsViolated` for an amount that the units do not allow."""
    if capacity.unit_refusal(one.amount) is None:
        return
    LOG.warning(
        'Allocation of %d %s on resource provider %s violates min_unit %d, max_unit %d '
        'or step_size %d.',
        one.amount,
        one.resource_class,
        one.provider_uuid,
        capacity.min_unit,
        capacity.max_unit,
        capacity.step_size,
    )
    raise errors.InventoryConstraintsViolated(
        resource_class=one.resource_class, uuid=one.provider_uuid
    )


def _check_total(one: Amount, stock: Stock, used_after: int) -> None:
    """Raise `errors.CapacityExceeded` unless an inventory can have so much used.

    One that is over capacity may stay so, as long as the write does not make it worse.
    """
    capacity, used_before = stock.capacity, stock.used
    if not capacity.allows_total(used_after, used_before=used_before):
        LOG.warning(
            'Over capacity for %s on resource provider %s: %d would be used of %s, now %d.',
            one.resource_class,
            one.provider_uuid,
            used_after,
            capacity.capacity,
            used_before,
        )
        raise errors.CapacityExceeded(resource_class=one.resource_class, uuid=one.provider_uuid)
    if not capacity.allows_total(used_after):
        LOG.warning(
            '%s on resource provider %s stays over capacity, but no more than before: '
            '%d of %s, formerly %d.',
            one.resource_class,
            one.provider_uuid,
            used_after,
            capacity.capacity,
            used_before,
        )
