# SPDX-License-Identifier: Apache-2.0
"""Membership of providers in aggregates (specification: aggregates).

An aggregate is only a uuid, so there is no object of its own for it.
"""

from collections.abc import Sequence

from placement import errors
from placement.context import RequestContext
from placement.db.changes import Part
from placement.db.mode import Mode
from placement.db.statements import aggregates as statements
from placement.db.statements import associations, providers
from placement.db.transaction import in_transaction
from placement.objects.resource_provider import ResourceProvider


@in_transaction(Mode.READ)
def list_by_provider(context: RequestContext, provider: ResourceProvider) -> list[str]:
    """The uuids of the aggregates that a provider is a member of."""
    return list(statements.list_by_provider(context.connection, provider.id))


@in_transaction(Mode.WRITE)
def replace(
    context: RequestContext,
    provider: ResourceProvider,
    uuids: Sequence[str],
    generation: int | None,
) -> None:
    """Make a provider a member of exactly these aggregates.

    Without a generation, the generation is neither compared nor incremented, as at the versions
    before clients sent it. The row of the provider is changed nevertheless, so that concurrent
    changes on other nodes of a cluster conflict.

    :raises errors.ResourceProviderChanged: the generation of the provider is another one
    """
    connection = context.connection
    row = provider.lock()
    if generation is None:
        providers.touch(connection, row)
    else:
        provider.check_generation(generation, errors.ResourceProviderChanged)
    present = statements.list_by_provider(connection, provider.id).values()
    wanted = statements.ensure(connection, uuids).values()
    associations.replace(connection, statements.MEMBER, provider.id, present, wanted)
    if generation is None:
        context.changes.provider([provider.id], Part.AGGREGATES)
    else:
        provider.increment_generation(Part.AGGREGATES)
