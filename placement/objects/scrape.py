# SPDX-License-Identifier: Apache-2.0
"""What the metrics ask the database for, beside the snapshot."""

from __future__ import annotations

from collections.abc import Mapping

from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import providers
from placement.feed.change_feed import ChangeFeed


@db.reader
def count_feed_entries(context: RequestContext) -> int:
    """How many entries the change feed has."""
    return ChangeFeed(context.connection).count()


@db.reader
def list_provider_names(context: RequestContext) -> Mapping[int, str]:
    """The name of every provider by its id."""
    return providers.list_names_by_id(context.connection)
