# SPDX-License-Identifier: Apache-2.0
"""SQL statements that date rows back."""

import datetime
from collections.abc import Mapping

import sqlalchemy as sa

from placement.db.schema.own_tables import change_history, promises
from placement.db.schema.tables import consumers
from placement.db.statements import clock

Ages = Mapping[str, int]


def date_back_changes(connection: sa.Connection, seconds: Ages) -> None:
    """Date rows of the history back, by request id."""
    _date_back(connection, change_history.c.request_id, change_history.c.at, seconds)


def date_back_promises(connection: sa.Connection, seconds: Ages) -> None:
    """Date promises back, by name."""
    _date_back(connection, promises.c.name, promises.c.set_at, seconds)


def date_back_consumers(connection: sa.Connection, seconds: Ages) -> None:
    """Date the creation of consumers back, by uuid."""
    _date_back(connection, consumers.c.uuid, consumers.c.created_at, seconds)


def _date_back(
    connection: sa.Connection,
    key: sa.Column[str],
    time: sa.Column[datetime.datetime],
    seconds: Ages,
) -> None:
    now = clock.read(connection)
    statement = sa.update(key.table).where(key == sa.bindparam('key'))
    connection.execute(
        statement.values({time: sa.bindparam('then')}),
        [
            {'key': one, 'then': now - datetime.timedelta(seconds=ago)}
            for one, ago in seconds.items()
        ],
    )
