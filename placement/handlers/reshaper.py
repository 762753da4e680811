# SPDX-License-Identifier: Apache-2.0
"""Moving inventory that is in use (specification: reshaper)."""

from placement import errors
from placement.http.reply import NO_CONTENT, Reply
from placement.http.request import Request
from placement.objects.allocation import AllocationList
from placement.objects.claim import Claim
from placement.objects.inventory import InventoryList


def reshape(request: Request) -> Reply:
    """Replace the inventories of providers and the allocations of consumers, all or nothing."""
    body = request.validated_body('reshaper.reshape')
    inventories = {
        provider_uuid: (
            part['resource_provider_generation'],
            InventoryList.from_bodies(request.context, part['inventories']),
        )
        for provider_uuid, part in body['inventories'].items()
    }
    wanted = Claim.from_bodies(request.service.conf, body['allocations'])
    with (
        errors.reported_as(
            errors.BadRequest, errors.ResourceClassNotFound, prefix='malformed reshaper data: '
        ),
        errors.reported_as(errors.InventoryInUse, prefix='update conflict: '),
    ):
        AllocationList.reshape(request.context, inventories, wanted)
    return NO_CONTENT
