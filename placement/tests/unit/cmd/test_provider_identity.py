# SPDX-License-Identifier: Apache-2.0
"""`placement-manage provider set-uuid`: its input, its messages, and the changed rows."""

import builtins
import functools
import sys
import uuid
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement import errors
from placement.db.engine.database import Database
from placement.db.schema import migration, own_tables
from placement.feed import change_feed, sink
from placement.objects import provider_identity
from placement.objects.resource_provider import ResourceProvider
from placement.tests.unit.cmd.conftest import Run
from placement.tests.unit.objects.cloud import Cloud, uuid_of

OLD, NEW = uuid_of('compute1'), uuid_of('new')


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function that runs the command with the words given, where nobody can be asked."""
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: False)
    return functools.partial(run, 'provider', 'set-uuid')


@pytest.fixture
def cloud(database: Database) -> Iterator[Cloud]:
    """A hypervisor and its neighbour."""
    cloud = Cloud(database)
    cloud.add('compute1')
    cloud.add('compute2')
    yield cloud
    database.dispose()


def name_of(cloud: Cloud, uuid: str) -> str:
    return ResourceProvider.get_by_uuid(cloud.context, uuid).name


def test_uuid_is_changed_after_the_remedy_of_nova_was_named(run: Run, cloud: Cloud) -> None:
    outcome = run(OLD, NEW.upper().replace('-', ''), '--yes')

    assert outcome.status == 0
    # It is stored in its canonical spelling.
    assert outcome.printed == (
        f'Resource provider compute1 has the uuid {NEW} now, and generation 1.\n'
    )
    for word in ('compute1', OLD, NEW, 'compute_id', 'state_path', 'stop nova-compute'):
        assert word in outcome.complained
    assert name_of(cloud, NEW) == 'compute1'


def test_names_do_not_reach_the_terminal_as_they_are(run: Run, cloud: Cloud) -> None:
    for name in ('ESC\x1b[2J', 'C1\x9b', 'right to left\u202e'):
        cloud.add(name)

        outcomes = [
            run(uuid_of(name), uuid_of('compute1'), '--yes'),
            run(OLD, uuid_of(name), '--yes'),
            run(uuid_of(name), str(uuid.uuid4()), '--yes'),
        ]

        shown = name.encode('unicode_escape').decode()
        assert [one.status for one in outcomes] == [1, 1, 0]
        for outcome in outcomes[1:]:
            said = outcome.printed + outcome.complained
            assert shown in said
            assert name not in said


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        ((NEW, uuid_of('newer')), f'No resource provider with uuid {NEW} found'),
        ((OLD, uuid_of('compute2')), 'Resource provider compute2 has the uuid'),
        ((OLD, OLD), f'Resource provider compute1 has the uuid {OLD} already.'),
        ((OLD, OLD.upper()), f'Resource provider compute1 has the uuid {OLD} already.'),
        ((OLD, 'compute1'), "'compute1' is not a uuid."),
        (('compute1', NEW), "'compute1' is not a uuid."),
        ((OLD, ''), "'' is not a uuid."),
        ((OLD, f'{NEW}\n'), 'is not a uuid.'),
    ],
)
def test_refusal_is_one_line_and_changes_nothing(
    run: Run, cloud: Cloud, words: tuple[str, str], reason: str
) -> None:
    before = cloud.everything()

    outcome = run(*words, '--yes')

    assert (outcome.status, outcome.printed) == (1, '')
    assert outcome.complained.startswith('Nothing was changed: ')
    assert reason in outcome.complained
    assert outcome.complained.count('\n') == 1
    assert cloud.everything() == before


@pytest.mark.parametrize(
    ('answer', 'is_confirmed'),
    [
        *((answer, True) for answer in ('y', 'YES', ' yes ')),
        *((answer, False) for answer in ('', 'n', 'yesterday', EOFError, KeyboardInterrupt, None)),
    ],
)
def test_change_is_made_when_it_is_confirmed(
    run: Run,
    cloud: Cloud,
    monkeypatch: pytest.MonkeyPatch,
    answer: str | type[BaseException] | None,
    is_confirmed: bool,
) -> None:
    """Answer the question; None stands for no terminal, where the change is refused."""

    def give() -> str:
        if isinstance(answer, str):
            return answer
        assert answer is not None
        raise answer

    monkeypatch.setattr(sys.stdin, 'isatty', lambda: answer is not None)
    monkeypatch.setattr(builtins, 'input', give)
    before = cloud.everything()
    outcome = run(OLD, NEW)

    if is_confirmed:
        assert outcome.status == 0
        assert name_of(cloud, NEW) == 'compute1'
        return
    reason = 'you did not confirm'
    if answer is None:
        reason = 'give --yes, because there is no terminal to ask at'
    assert (outcome.status, outcome.printed) == (1, '')
    assert outcome.complained.endswith(f'Nothing was changed: {reason}.\n')
    assert ('[y/N]' in outcome.complained) == (answer is not None)
    assert cloud.everything() == before


def test_unknown_outcome_is_not_told_as_nothing_changed(
    run: Run, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_reply(*_arguments: object) -> None:
        raise errors.OutcomeUnknown

    monkeypatch.setattr(provider_identity, 'set_uuid', lose_reply)
    outcome = run(OLD, NEW, '--yes')
    assert outcome.status == 1
    assert 'may have been made' in outcome.complained
    assert 'Nothing was changed' not in outcome.complained


def test_database_of_another_revision_is_refused(run: Run, engine: sa.Engine) -> None:
    with engine.connect():
        outcome = run(OLD, NEW, '--yes')
    assert outcome == (
        1,
        '',
        'Nothing was changed: The database has no tables. Run "placement-manage db sync".\n',
    )
    migration.sync(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE placement_alembic_version SET version_num = 'c40d9e2a715b'"
        )
    outcome = run(OLD, NEW, '--yes')
    assert outcome.status == 1
    assert 'c40d9e2a715b instead of' in outcome.complained


def test_feed_is_pruned_no_more_than_the_service_prunes_it(
    run: Run, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, 'WRITES_BETWEEN', 1)
    monkeypatch.setattr(change_feed, 'next_block', lambda entry_id: entry_id + 1)
    before = cloud.rows(own_tables.change_feed.c.id)
    assert run(OLD, NEW, '--yes').status == 0
    assert set(before) < set(cloud.rows(own_tables.change_feed.c.id))


def test_history_has_the_change_where_it_is_on(
    run: Run, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = own_tables.change_history.c
    run(OLD, NEW, '--yes')
    assert cloud.rows(table.uuid) == []
    monkeypatch.setenv('OS_HISTORY__ENABLED', 'true')
    run(NEW, OLD, '--yes')
    assert cloud.rows(table.uuid, table.state.is_(None)) == [(NEW,)]
    assert cloud.rows(table.uuid, table.generation == 2) == [(OLD,)]
    assert set(cloud.rows(table.action)) == {('resource_providers.set_uuid',)}
