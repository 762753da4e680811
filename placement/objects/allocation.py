# SPDX-License-Identifier: Apache-2.0
"""What consumers have of providers (specification: allocations); `objects.claim` writes it."""

from __future__ import annotations

from collections.abc import Sequence

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import allocations as statements
from placement.objects.consumer import Consumer
from placement.objects.resource_provider import ResourceProvider


@db.reader
def list_by_consumer(
    context: RequestContext, uuid: str
) -> tuple[Sequence[db.Row], Consumer | None]:
    """The rows of what a consumer has, and the consumer; None when it has nothing."""
    rows = statements.list_by_consumer(context.connection, uuid)
    return rows, Consumer.from_row(context, rows[0]) if rows else None


@db.reader
def list_by_provider(context: RequestContext, provider: ResourceProvider) -> Sequence[db.Row]:
    """The rows of what consumers have of a provider."""
    return statements.list_by_provider(context.connection, provider.id)
