# SPDX-License-Identifier: Apache-2.0
"""Statements that are compiled once do what they do with `Connection.execute`."""

import datetime
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_errors

from placement.db.engine import commit_outcome
from placement.db.engine.precompiled import Precompiled

MOMENT = datetime.datetime(2026, 11, 22, 20, 50)

events = sa.Table(
    'events',
    sa.MetaData(),
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('at', sa.DateTime),
    sa.Column('is_over', sa.Boolean),
    sa.Column('changed_at', sa.DateTime, onupdate=lambda: MOMENT),
)
INSERT = sa.insert(events).values(
    {name: sa.bindparam(name) for name in ('id', 'at', 'is_over', 'changed_at')}
)
EVENT = {'id': 3, 'at': MOMENT, 'is_over': True, 'changed_at': None}


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction of a database with a table of events."""
    with engine.begin() as connection:
        events.create(connection)
        yield connection


def test_values_are_stored_as_the_types_of_their_columns(connection: sa.Connection) -> None:
    result = Precompiled(INSERT).execute(connection, EVENT)

    assert (result.rowcount, result.lastrowid) == (1, 3)
    assert connection.execute(sa.select(events)).all() == [(3, MOMENT, True, None)]


def test_each_execution_has_values_of_its_own(connection: sa.Connection) -> None:
    insert = Precompiled(INSERT)
    insert.execute(connection, EVENT)
    insert.execute(connection, EVENT | {'id': 4, 'is_over': False})

    rows = connection.execute(sa.select(events.c.id, events.c.is_over)).all()
    assert rows == [(3, True), (4, False)]


def test_values_within_the_statement_are_sent(connection: sa.Connection) -> None:
    connection.execute(INSERT, EVENT)
    values = {events.c.id: events.c.id + 10, events.c.changed_at: sa.bindparam('now')}
    update = sa.update(events).where(events.c.id == sa.bindparam('of_id')).values(values)

    result = Precompiled(update).execute(connection, {'of_id': 3, 'now': MOMENT})

    assert result.rowcount == 1
    rows = connection.execute(sa.select(events.c.id, events.c.changed_at)).all()
    assert rows == [(13, MOMENT)]


def test_returned_rows_can_be_read(connection: sa.Connection) -> None:
    connection.execute(INSERT, EVENT)
    delete = sa.delete(events).where(events.c.at == sa.bindparam('when')).returning(events.c.id)

    assert Precompiled(delete).execute(connection, {'when': MOMENT}).scalars().all() == [3]


def test_errors_are_those_of_other_statements(connection: sa.Connection) -> None:
    insert = Precompiled(INSERT)
    insert.execute(connection, EVENT)
    with pytest.raises(db_errors.DBDuplicateEntry):
        insert.execute(connection, EVENT)


def test_the_mark_of_a_commit_knows_of_a_write(
    engine: sa.Engine, connection: sa.Connection
) -> None:
    commit_outcome.note_writes(engine)
    with commit_outcome.marked(connection) as mark:
        Precompiled(INSERT).execute(connection, EVENT)
        assert mark.has_written


def test_text_that_is_sent_as_it_is_wants_no_mark(
    engine: sa.Engine, connection: sa.Connection
) -> None:
    commit_outcome.note_writes(engine)
    with commit_outcome.marked(connection) as mark:
        connection.execute(sa.text('UPDATE events SET is_over = true'))
        assert not mark.has_written


def test_defaults_of_columns_are_refused(connection: sa.Connection) -> None:
    update = Precompiled(sa.update(events).values(is_over=sa.bindparam('over')))
    with pytest.raises(ValueError, match='default of a column'):
        update.execute(connection, {'over': True})


def test_lists_are_refused(connection: sa.Connection) -> None:
    ids: sa.BindParameter[int] = sa.bindparam('ids', expanding=True)
    delete = Precompiled(sa.delete(events).where(events.c.id.in_(ids)))
    with pytest.raises(ValueError, match='a parameter is a list'):
        delete.execute(connection, {'ids': [1, 2]})
