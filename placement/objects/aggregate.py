# SPDX-License-Identifier: Apache-2.0
"""Membership of providers in aggregates (specification: aggregates).

An aggregate is only a uuid, so there is no object of its own for it.
"""

from collections.abc import Sequence

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import aggregates as statements
from placement.db.statements import associations
from placement.insight.history.statements import Part
from placement.objects.resource_provider import ResourceProvider, record_changes


@db.reader
def list_by_provider(context: RequestContext, provider: ResourceProvider) -> list[str]:
    """The uuids of the aggregates that a provider is a member of."""
    return list(statements.list_by_provider(context.connection, provider.id))


@db.writer
def replace(
    context: RequestContext,
    provider: ResourceProvider,
    uuids: Sequence[str],
    generation: int | None,
) -> None:
    """Make a provider a member of exactly these aggregates.

    Without a generation none is compared, and none incremented: so it was before clients sent
    it. Raises `errors.ResourceProviderChanged`.
    """
    connection = context.connection
    if generation is None:
        provider.lock()
    else:
        provider.lock_at(generation, errors.ResourceProviderChanged)
    present = statements.list_by_provider(connection, provider.id).values()
    wanted = statements.ensure(connection, uuids).values()
    associations.replace(connection, statements.MEMBER, provider.id, present, wanted)
    if generation is None:
        record_changes(context, [provider.id], Part.AGGREGATES)
    else:
        provider.increment_generation(Part.AGGREGATES)
