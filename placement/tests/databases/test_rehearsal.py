# SPDX-License-Identifier: Apache-2.0
"""A rehearsal beside upstream with a dump of each engine: what it finds, and what it does not."""

import pathlib

import pytest

from placement.tests.databases.conftest import SERVERS
from placement.tests.databases.test_upgrade import UPSTREAM, manage, serving
from placement.tests.functional.fixtures import databases
from placement.tests.functional.rehearsing import (
    NODE,
    alter_copy_of_ours,
    build,
    check_planted,
    dump,
    log_of,
    rehearse,
    row,
)
from tools.rehearse import __main__ as rehearsal
from tools.rehearse import schema

pytestmark = pytest.mark.parametrize('database', SERVERS, indirect=True)


@pytest.fixture
def dumped(database: databases.Database, tmp_path: pathlib.Path) -> pathlib.Path:
    """The dump of a cloud of upstream with an odd row."""
    assert manage(UPSTREAM, database.url, 'db', 'sync') == 0
    with serving(UPSTREAM, database.url) as client:
        build(client, database.url)
    path = tmp_path / 'placement.sql'
    dump(database.url, path)
    return path


def test_rehearsal_takes_no_known_difference_for_another(
    dumped: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = rehearse(dumped, UPSTREAM)

    print(report)
    assert status == 0
    assert row(report, 'answers: with another difference') == '0'
    assert row(report, 'back on upstream: with a difference') == '0'
    assert row(report, 'back on upstream: read again') != '0'
    assert row(report, 'changes in the log') == '1'
    assert 'Prefixes of traits' in report
    assert 'Line breaks and zero bytes' in report
    assert 'consumers whose uuid has capital letters' in report
    assert schema.remedy_of('consumers whose uuid has capital letters') in report
    assert 'placement-manage db sync of this service' in report
    assert 'placement-manage db sync of upstream' in report

    # Half of the dump is refused, wherever it ends.
    text = dumped.read_text()
    dumped.write_text(text[: len(text) // 2])
    assert rehearsal.main([f'--dump={dumped}', f'--log={log_of(dumped)}', '--upstream=']) == 2
    assert 'is truncated' in capsys.readouterr().err


def test_rehearsal_finds_planted_differences(
    dumped: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter_copy_of_ours(monkeypatch)
    status, report = rehearse(dumped, UPSTREAM)

    print(report)
    assert status == 1
    check_planted(report)
    # Upstream does not find on the copy of the other what it found before.
    back = report.partition('Schema there and back')[2]
    assert f'GET /resource_providers/{NODE}/inventories' in back
