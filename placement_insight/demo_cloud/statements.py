# SPDX-License-Identifier: Apache-2.0
"""SQL statements that date rows back."""

import datetime
from collections.abc import Mapping

import sqlalchemy as sa

from placement.db.schema.own_tables import change_history, promises
from placement.db.schema.tables import consumers
from placement.db.statements import clock

Ages = Mapping[str, int]


def date_back(connection: sa.Connection, requests: Ages, named: Ages, made: Ages) -> None:
    """Date rows of the history back by request id, promises by name, and consumers by uuid."""
    now = clock.read(connection)
    for key, time, seconds in (
        (change_history.c.request_id, change_history.c.at, requests),
        (promises.c.name, promises.c.set_at, named),
        (consumers.c.uuid, consumers.c.created_at, made),
    ):
        statement = sa.update(key.table).where(key == sa.bindparam('key'))
        connection.execute(
            statement.values({time: sa.bindparam('then')}),
            [
                {'key': one, 'then': now - datetime.timedelta(seconds=ago)}
                for one, ago in seconds.items()
            ],
        )
