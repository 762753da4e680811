# SPDX-License-Identifier: Apache-2.0
"""Moving inventory that is in use, in one transaction (specification: reshaper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.objects import generations, inventory
from placement.objects.claim import transaction
from placement.objects.claim.claim import Claim
from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider


@db.writer
def reshape(
    context: RequestContext,
    inventories: Mapping[str, tuple[int, InventoryList]],
    claims: Sequence[Claim],
) -> None:
    """Let providers have exactly these inventories, and consumers what the claims say.

    `inventories` are keyed by the uuid of the provider, each with the generation that the client
    read. In between every provider has the old and the new, so that what is in use can move.
    Raises, in this order, `errors.ReshapeProviderNotFound`,
    `errors.ResourceProviderGenerationConflict`, what a write of claims raises, and
    `errors.InventoryInUse`.
    """
    locked = transaction.lock(context, claims, also=inventories)
    reshaped = [
        (_provider(context, locked.providers.rows, uuid, generation), wanted)
        for uuid, (generation, wanted) in inventories.items()
    ]
    transaction.check(locked)
    gaining = [(provider, wanted) for provider, wanted in reshaped if wanted.objects]
    inventory.write(context, gaining, keep_others=True)
    transaction.write(context, locked)
    inventory.write(context, reshaped, keep_others=False)


def _provider(
    context: RequestContext, locked: Mapping[str, db.Row], uuid: str, generation: int
) -> ResourceProvider:
    row = locked.get(uuid)
    if row is None:
        reason = errors.ResourceProviderNotFound(uuid=uuid)
        raise errors.ReshapeProviderNotFound(uuid=uuid, reason=reason)
    if row.generation != generation:
        generations.log_provider_conflict(uuid, row.generation, generation)
        raise errors.ResourceProviderGenerationConflict(
            f'resource provider generation conflict for provider {uuid}: '
            f'actual: {row.generation}, given: {generation}'
        )
    return ResourceProvider.from_row(context, row)
