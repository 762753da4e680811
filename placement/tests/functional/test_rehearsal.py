# SPDX-License-Identifier: Apache-2.0
"""A rehearsal with this service in the place of upstream: nothing differs but what is planted."""

import pathlib
import re
import sys

import pytest

from placement.tests.functional.fixtures import applications, databases
from placement.tests.functional.rehearsing import (
    READS,
    alter_copy_of_ours,
    build,
    check_planted,
    dump,
    rehearse,
    row,
)
from tools.rehearse import __main__ as rehearsal
from tools.rehearse import services


@pytest.fixture
def dumped(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The dump of a cloud, in a file of SQLite."""
    monkeypatch.delenv(databases.VARIABLE, raising=False)
    database = databases.create_empty('')
    databases.migrate(database.url)
    with applications.serving(database.url) as client:
        build(client, database.url)
    path = tmp_path / 'placement.sql'
    dump(database.url, path)
    database.drop()
    return path


def test_rehearsal_finds_planted_differences(
    dumped: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_upstream(python: str, url: str) -> services.Program:
        return services.find_program('upstream', python, url)

    monkeypatch.setattr(rehearsal, 'find_upstream', find_upstream)
    alter_copy_of_ours(monkeypatch)
    status, report = rehearse(dumped, sys.executable)

    assert status == 1
    check_planted(report)
    answers = {kind: int(row(report, f'answers: {kind}')) for kind in (
        'the same', 'with another difference', 'with a known difference', 'upstream failed',
    )}  # fmt: skip
    assert sum(answers.values()) == answers['the same'] + answers['with another difference']
    assert sum(answers.values()) == len(READS)
    assert 3 <= answers['with another difference'] < len(READS) - 5


@pytest.mark.parametrize(
    ('dump_text', 'python', 'message'),
    [
        ('SELECT 1;', sys.executable, 'is no dump of a database'),
        ('BEGIN TRANSACTION;\nCREATE TABLE resource_providers (id', '', 'is truncated'),
        (None, sys.executable, 'has this service, 20.*, and not upstream'),
        (None, '/nowhere/python', '/nowhere/python does not run'),
        (None, '/bin/false', '/bin/false has no openstack-placement'),
    ],
)
def test_what_cannot_be_rehearsed_is_one_line(
    dump_text: str | None,
    python: str,
    message: str,
    dumped: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if dump_text is not None:
        dumped.write_text(dump_text)
    log = dumped.with_name('access.log')
    log.write_text('x [-] "GET /traits?token=sEcReT HTTP/1.1" 200 9 "-" "-"\n')
    to = dumped.with_name('report')
    arguments = [f'--dump={dumped}', f'--log={log}', f'--upstream={python}', f'--to={to}']
    assert rehearsal.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('rehearse: ')
    assert re.search(message, line)
    assert not [*to.parent.glob('report*')]
