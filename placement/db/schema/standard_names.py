# SPDX-License-Identifier: Apache-2.0
"""Inserts the standard traits and resource classes that a database lacks.

At start, in `placement-manage db sync`, and whenever a running worker finds some missing, because
its database was recreated or restored. Nothing is ever deleted or renamed (specification:
data_model, "Synchronisation at start-up").
"""

import logging
from collections.abc import Callable, Collection

import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.changes import Changes, NameChange, NameKind
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.statements import names

LOG = logging.getLogger(__name__)

# Maximum number of attempts while other processes insert as well. The second attempt usually finds
# everything inserted, unless the others have another release of os-traits.
ATTEMPTS = 5


Names = Collection[str]


def sync(database: Database) -> None:
    """Insert the standard traits and resource classes that are missing.

    It takes two statements if nothing is missing.

    :raises Exception: the database has no tables, so the service must not start
    """
    _insert_missing(database, NameKind.TRAIT, missing_traits, names.insert_traits)
    _insert_missing(database, NameKind.RESOURCE_CLASS, missing_resource_classes, _insert_classes)


def missing_traits(connection: sa.Connection) -> Names:
    """Return the names of the missing traits, in the same order in every process."""
    return _missing(connection, names.TRAIT, names.standard_traits())


def missing_resource_classes(connection: sa.Connection) -> Names:
    """Return the names of the missing classes."""
    return _missing(connection, names.RESOURCE_CLASS, names.STANDARD_CLASS_IDS)


def _missing(connection: sa.Connection, column: sa.Column[str], standard: Names) -> Names:
    is_standard = ~column.startswith('CUSTOM_', autoescape=True)
    present = set(connection.scalars(sa.select(column).where(is_standard)))
    return sorted(name for name in standard if name not in present)


def _insert_classes(connection: sa.Connection, missing: Names) -> None:
    names.insert_classes(connection, [names.STANDARD_CLASS_IDS[name] for name in missing])


def _insert_missing(
    database: Database,
    kind: NameKind,
    find_missing: Callable[[sa.Connection], Names],
    insert: Callable[[sa.Connection, Names], object],
) -> None:
    """Insert the missing rows in one transaction, unless another process inserts them first."""
    for _ in range(ATTEMPTS):
        with database.begin(Mode.READ) as connection:
            if not find_missing(connection):
                return
        try:
            changes = Changes()
            with database.begin(Mode.WRITE, changes=changes) as connection:
                # Read again, because another process may have inserted them meanwhile.
                missing = find_missing(connection)
                if missing:
                    insert(connection, missing)
                for name in missing:
                    changes.name(NameChange(kind, name))
            return
        except (db_errors.DBDuplicateEntry, db_errors.DBDeadlock) as error:
            LOG.debug('Another process inserts standard names as well: %s', error)
    LOG.warning('Concurrent inserts of standard names; some of them may be missing.')
