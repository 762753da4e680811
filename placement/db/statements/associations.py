# SPDX-License-Identifier: Apache-2.0
"""SQL statements that associate a provider with traits, or with aggregates."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa


def replace(
    connection: sa.Connection,
    member_id: sa.Column[Any],
    provider_id: int,
    present: Collection[int],
    wanted: Collection[int],
) -> None:
    """Associate a provider with the wanted members of a table, in place of the present ones.

    `member_id` is the column of the table of associations that is not the id of the provider.
    """
    table = member_id.table
    surplus, missing = set(present) - set(wanted), set(wanted) - set(present)
    if surplus:
        of_provider = table.c.resource_provider_id == provider_id
        connection.execute(sa.delete(table).where(of_provider, member_id.in_(surplus)))
    if missing:
        rows = [{'resource_provider_id': provider_id, member_id.name: i} for i in sorted(missing)]
        connection.execute(sa.insert(table), rows)
