# SPDX-License-Identifier: Apache-2.0
"""The schema, its revisions, and bringing a database from one to the next."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command, script, util

from placement.db.engine.engines import create_engine
from placement.db.schema import migration, own_tables, revisions, tables
from placement.feed.change_feed import ChangeFeed
from placement.feed.position import Reload
from placement.tests.opened import database_on, record

HEAD = 'a082b8bb98d0'

# What a database has besides the upstream tables: two versions, and what is ours alone.
BESIDES = {'alembic_version', 'placement_alembic_version', *own_tables.metadata.tables}

# From the first to the last (specification: data_model, "Migrations").
REVISIONS = ['b4ed3a175331', '611cd6dffd7b', 'b5c396305c25', '422ece571366', HEAD]


def migrate_to(engine: sa.Engine, revision: str) -> None:
    with migration.migrating(engine) as connection:
        command.upgrade(migration.configuration(connection), revision)


def run(engine: sa.Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


def description(engine: sa.Engine) -> dict[str, list[str]]:
    """All that the database tells of each table, as texts to compare."""
    inspector = sa.inspect(engine)
    parts = (
        inspector.get_columns,
        inspector.get_indexes,
        inspector.get_unique_constraints,
        inspector.get_foreign_keys,
    )
    return {
        name: [
            str(inspector.get_pk_constraint(name)),
            *sorted(str(found) for part in parts for found in part(name)),
        ]
        for name in inspector.get_table_names()
    }


@pytest.mark.parametrize('revision', REVISIONS)
def test_every_revision_leads_to_the_schema_that_statements_use(
    engine: sa.Engine, revision: str
) -> None:
    """Compare the migrated schema with the declared tables."""
    declared = create_engine('sqlite://')
    tables.metadata.create_all(declared)
    expected = description(declared)
    declared.dispose()
    migrate_to(engine, revision)
    migration.sync(engine)

    assert revisions.version(engine) == HEAD
    migrated = description(engine)
    assert {name: migrated[name] for name in migrated.keys() - BESIDES} == expected


@pytest.mark.parametrize('chain', revisions.CHAINS)
def test_chain_names_the_newest_revision_of_its_scripts(chain: revisions.Chain) -> None:
    directory = script.ScriptDirectory.from_config(migration.configuration(chain=chain))
    assert directory.get_current_head() == chain.newest
    # That of upstream is complete; the other one names all that this release knows.
    known = {chain.newest, *chain.old, *chain.too_old}
    assert chain is revisions.UPSTREAM or known == {s.revision for s in directory.walk_revisions()}


def test_tables_of_a_later_release_are_left_alone(engine: sa.Engine) -> None:
    """Migrate a database with tables of a later release, whose workers may still run."""
    migration.sync(engine)
    run(engine, "UPDATE placement_alembic_version SET version_num = 'later'")
    run(engine, 'CREATE TABLE placement_later (id INTEGER)')
    before = description(engine)

    assert revisions.difference(revisions.versions(engine)) is None
    migration.sync(engine)

    assert description(engine) == before
    assert revisions.version(engine, revisions.OWN) == 'later'


def test_a_second_sync_only_reads_the_version(engine: sa.Engine, statements: list[str]) -> None:
    migration.sync(engine)
    del statements[:]
    migration.sync(engine)
    assert len(statements) <= 7
    assert all(s.startswith(('BEGIN', 'SELECT', 'PRAGMA')) for s in statements)
    assert 'BEGIN IMMEDIATE' not in statements


def test_consumers_survive_the_revision_that_gives_them_a_type(engine: sa.Engine) -> None:
    migrate_to(engine, REVISIONS[0])
    run(
        engine,
        "INSERT INTO consumers (uuid, project_id, user_id, generation) VALUES ('c', 1, 2, 7)",
    )
    migration.sync(engine)
    with engine.begin() as connection:
        consumer = connection.execute(sa.select(tables.consumers)).one()
    assert (consumer.uuid, consumer.project_id, consumer.user_id) == ('c', 1, 2)
    assert (consumer.generation, consumer.consumer_type_id) == (7, None)


@pytest.mark.parametrize(
    ('incomplete', 'reason', 'completion'),
    [
        (
            "INSERT INTO resource_providers (id, uuid) VALUES (3, 'p')",
            'root provider id',
            'UPDATE resource_providers SET root_provider_id = id',
        ),
        (
            (
                'INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id,'
                " used) VALUES (1, 'c', 0, 1)"
            ),
            'consumer record',
            "INSERT INTO consumers (uuid, project_id, user_id) VALUES ('c', 1, 1)",
        ),
    ],
)
def test_incomplete_rows_stop_the_migration(
    engine: sa.Engine, incomplete: str, reason: str, completion: str
) -> None:
    migrate_to(engine, REVISIONS[0])
    run(engine, incomplete)
    with pytest.raises(util.CommandError, match=f'{reason}.*online_data_migrations'):
        migration.sync(engine)
    assert revisions.version(engine) == REVISIONS[0]
    run(engine, completion)
    migration.sync(engine)
    assert revisions.version(engine) == HEAD


def test_a_failed_sync_leaves_nothing_behind(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade = command.upgrade

    def upgrade_and_fail(*args: Any) -> None:
        upgrade(*args)
        raise RuntimeError('out of power')

    monkeypatch.setattr(command, 'upgrade', upgrade_and_fail)
    with pytest.raises(RuntimeError):
        migration.sync(engine)
    assert sa.inspect(engine).get_table_names() == []


OWN_REVISION = '9d3f60c7e218'


def downgrade(engine: sa.Engine) -> None:
    with migration.migrating(engine) as connection:
        command.downgrade(migration.configuration(connection, revisions.OWN), 'base')
    assert not own_tables.metadata.tables.keys() & {*sa.inspect(engine).get_table_names()}
    assert revisions.version(engine) == HEAD


def lose_the_revision(engine: sa.Engine) -> None:
    """Drop the table of revisions, as a restore of a backup without it would."""
    run(engine, f'DROP TABLE {revisions.OWN.table}')


def lose_the_tables(engine: sa.Engine) -> None:
    """Drop the own tables, as a restore of a backup of the upstream tables would."""
    for table in own_tables.metadata.tables:
        run(engine, f'DROP TABLE {table}')


@pytest.mark.parametrize('lose', [downgrade, lose_the_revision, lose_the_tables])
def test_own_tables_are_made_anew(engine: sa.Engine, lose: Callable[[sa.Engine], None]) -> None:
    migration.sync(engine)
    record(database_on(engine), [8], allocations_only=True)
    with engine.connect() as connection:
        first = ChangeFeed(connection).position()
    lose(engine)

    migration.sync(engine)
    assert revisions.version(engine, revisions.OWN) == OWN_REVISION
    with engine.connect() as connection:
        feed = ChangeFeed(connection)
        # Another feed, although the ids are the same.
        assert first.read_on(feed.read(first)) is Reload.OTHER
        assert feed.count() == 1


def test_migrations_are_not_written_to_a_script() -> None:
    settings = migration.configuration()
    settings.set_main_option('sqlalchemy.url', 'sqlite://')
    with pytest.raises(util.CommandError, match='script'):
        command.upgrade(settings, 'head', sql=True)


def test_migrations_need_the_connection_of_our_commands() -> None:
    with pytest.raises(util.CommandError, match='placement-manage'):
        command.upgrade(migration.configuration(), 'head')


class MySQLConnection:
    """A connection that notes what is asked of it, and answers to GET_LOCK as it is told."""

    def __init__(self, answer: Callable[[], int | None]) -> None:
        self.answer = answer
        self.said: list[str] = []

    def scalar(self, statement: sa.Select[Any]) -> int | None:
        self.execute(statement)
        return self.answer()

    def execute(self, statement: sa.Select[Any]) -> None:
        self.said.append(str(statement).split('(')[0])

    def commit(self) -> None:
        self.said.append('COMMIT')

    def rollback(self) -> None:
        self.said.append('ROLLBACK')


def test_migration_on_mysql_releases_its_lock() -> None:
    connection: Any = MySQLConnection(lambda: 1)

    def migrate_and_fail() -> None:
        with migration.mysql_lock(connection):
            connection.said.append('migrate')
            raise RuntimeError('out of power')

    with pytest.raises(RuntimeError):
        migrate_and_fail()
    assert connection.said == [
        'SELECT get_lock',
        'COMMIT',
        'migrate',
        'ROLLBACK',
        'SELECT release_lock',
        'COMMIT',
    ]


def test_migration_on_mysql_fails_while_another_session_has_the_lock() -> None:
    connection: Any = MySQLConnection(lambda: 0)
    with pytest.raises(TimeoutError), migration.mysql_lock(connection):
        pytest.fail('The lock was not ours.')


def test_migration_runs_without_a_lock_where_the_cluster_refuses_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse() -> int | None:
        raise sa.exc.ProgrammingError('SELECT get_lock()', None, Exception('refused'))

    connection: Any = MySQLConnection(refuse)
    with migration.mysql_lock(connection):
        connection.said.append('migrate')
    assert connection.said == ['SELECT get_lock', 'COMMIT', 'migrate', 'ROLLBACK']
    assert 'without a lock' in caplog.text
