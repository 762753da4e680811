# SPDX-License-Identifier: Apache-2.0
"""The ids of custom resource classes, which are never reused, and a row for each of them.

An inventory that is written for a class during its deletion would otherwise belong to the next
class with the same id.
"""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db.schema.own_tables import class_ids
from placement.db.schema.tables import resource_classes

# The smallest id of a custom class, above the ids of standard classes (specification: data_model,
# "Resource class ids").
FIRST_CUSTOM_ID = 10000

_HIGHEST = sa.select(
    sa.select(sa.func.max(resource_classes.c.id)).scalar_subquery(),
    sa.select(sa.func.max(class_ids.c.id)).scalar_subquery(),
)
_IS_NAMED = class_ids.c.id.in_(sa.bindparam('ids', expanding=True))
_CHANGE = sa.update(class_ids).where(_IS_NAMED).values(changes=class_ids.c.changes + 1)


def take(connection: sa.Connection) -> int:
    """Return an id that no class has or had."""
    highest = [row_id or 0 for row_id in connection.execute(_HIGHEST).one()]
    new_id = max(FIRST_CUSTOM_ID, *(row_id + 1 for row_id in highest))
    connection.execute(sa.insert(class_ids), {'id': new_id, 'changes': 0})
    return new_id


def change(connection: sa.Connection, ids: Collection[int]) -> None:
    """Change the rows of the ids of custom classes.

    Locks exclude only transactions of the same node of a Galera cluster. Between nodes, one of two
    transactions that change the same row is refused at COMMIT. So a transaction that deletes or
    renames a class, and one that first writes an inventory of it, both change its row here.
    """
    custom = {row_id for row_id in ids if row_id >= FIRST_CUSTOM_ID}
    if not custom:
        return
    if connection.execute(_CHANGE, {'ids': sorted(custom)}).rowcount == len(custom):
        return
    # Ids that upstream assigned, or this service before it had the table.
    statement = sa.select(class_ids.c.id).where(_IS_NAMED)
    known = connection.scalars(statement, {'ids': sorted(custom)}).all()
    rows = [{'id': row_id, 'changes': 1} for row_id in sorted(custom.difference(known))]
    connection.execute(sa.insert(class_ids), rows)
