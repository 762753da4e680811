# SPDX-License-Identifier: Apache-2.0
"""The health check of load balancers."""

import json
import pathlib
from collections.abc import Iterator
from functools import partial

import pytest
from oslo_config import cfg

from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.engine.readiness import check_ready
from placement.db.schema import migration, standard_names
from placement.middleware import libraries
from placement.tests.opened import database_on
from placement.tests.unit.middleware.samples import Inner, ask


@pytest.fixture
def database(tmp_path: pathlib.Path) -> Iterator[Database]:
    database = database_on(create_engine(f'sqlite:///{tmp_path}/placement.sqlite'))
    migration.sync(database.engine)
    standard_names.sync(database)
    yield database
    database.dispose()


SCHEMA = 'The schema of the database is not that of this release. Run "placement-manage db sync".'


@pytest.mark.parametrize(
    'statement',
    [
        'ALTER TABLE resource_classes RENAME TO lost',
        'DROP TABLE placement_alembic_version',
        'DROP TABLE alembic_version',
        "UPDATE alembic_version SET version_num = 'b4ed3a175331'",
        'DELETE FROM placement_alembic_version',
        "UPDATE placement_alembic_version SET version_num = '7b1e94d05c3a'",
    ],
)
def test_healthcheck_is_200_while_the_database_has_the_schema_of_this_release(
    conf: cfg.ConfigOpts, database: Database, statement: str
) -> None:
    application = libraries.with_healthcheck(Inner(), conf, partial(check_ready, database))
    assert ask(application, '/healthcheck', Accept='text/plain').text == 'The database answers.'
    with database.engine.begin() as connection:
        connection.exec_driver_sql(statement)

    answer = ask(application, '/healthcheck', Accept='application/json')
    assert answer.status_int == 503
    assert json.loads(answer.body)['reasons'] == [SCHEMA]
    assert ask(application, '/healthcheck', method='HEAD').status_int == 503


@pytest.mark.parametrize('revision', ['c40d9e2a715b', 'that of a later release'])
def test_healthcheck_is_200_where_only_questions_below_insight_lack_tables(
    conf: cfg.ConfigOpts, database: Database, revision: str
) -> None:
    application = libraries.with_healthcheck(Inner(), conf, partial(check_ready, database))
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            f"UPDATE placement_alembic_version SET version_num = '{revision}'"
        )

    assert ask(application, '/healthcheck').status_int == 200


def test_healthcheck_does_not_tell_errors_to_strangers(
    conf: cfg.ConfigOpts,
) -> None:
    def fail() -> None:
        raise RuntimeError('secret')

    application = libraries.with_healthcheck(Inner(), conf, fail)

    answer = ask(application, '/healthcheck', Accept='application/json')
    assert answer.status_int == 503
    assert json.loads(answer.body)['reasons'] == ['The database does not answer.']


def test_healthcheck_needs_the_replica(
    conf: cfg.ConfigOpts, database: Database, tmp_path: pathlib.Path
) -> None:
    replica = create_engine(f'sqlite:///{tmp_path}/replica.sqlite')
    both = database_on(database.engine, replica)
    application = libraries.with_healthcheck(Inner(), conf, partial(check_ready, both))

    assert ask(application, '/healthcheck').status_int == 503
    migration.sync(replica)
    assert ask(application, '/healthcheck').status_int == 200
    replica.dispose()


def test_healthcheck_combines_with_disable_by_file(
    conf: cfg.ConfigOpts, database: Database, tmp_path: pathlib.Path
) -> None:
    conf.set_override('backends', ['disable_by_file'], 'healthcheck')
    conf.set_override('disable_by_file_path', str(tmp_path / 'out'), 'healthcheck')
    application = libraries.with_healthcheck(Inner(), conf, partial(check_ready, database))

    assert ask(application, '/healthcheck').status_int == 200
    tmp_path.joinpath('out').touch()
    assert ask(application, '/healthcheck').status_int == 503
    tmp_path.joinpath('out').unlink()
    with database.engine.begin() as connection:
        connection.exec_driver_sql('DROP TABLE resource_classes')
    assert ask(application, '/healthcheck').status_int == 503
