# SPDX-License-Identifier: Apache-2.0
"""The support page lists the platforms that the tests ran on."""

import pathlib

import pytest

from placement.tests.platforms import record, suites
from placement.tests.platforms.__main__ import PLATFORMS, counts
from placement.tests.platforms.programs import clone_at, git, version_of

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests">
<testsuite name="pytest" errors="1" failures="2" skipped="3" tests="16"></testsuite>
</testsuites>
"""


def a_run(platform: str, tests: str, commit: str = 'c0ffee', failed: int = 0) -> record.Run:
    return record.Run(platform, f'{platform} 1', tests, '2026-11-28', commit, 'make', 7, failed, 1)


@pytest.fixture
def page(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A page without a table."""
    path = tmp_path / 'page.rst'
    path.write_text(f'before\n\n{record.BEGIN}\n{record.END}\nafter\n')
    monkeypatch.setattr(record, 'PAGE', path)
    monkeypatch.setattr(record, 'FILE', tmp_path / 'record.jsonl')
    return path


def test_the_page_has_the_table_of_what_ran() -> None:
    page = record.PAGE.read_text()
    assert page == record.with_table(page, record.read(), list(PLATFORMS))


def test_each_run_is_of_a_platform_that_there_is() -> None:
    runs = record.read()
    assert {run.platform for run in runs} <= PLATFORMS.keys()
    assert all(run.command.endswith(f'make platforms PLATFORMS={run.platform}') for run in runs)
    assert len({run.subject for run in runs}) == len(runs)
    assert all(run.passed > 0 for run in runs)


def test_a_later_run_takes_the_place_of_an_earlier_one(page: pathlib.Path) -> None:
    first, second, again = (
        a_run('mysql', 'functional', failed=2),
        a_run('python', 'unit'),
        a_run('mysql', 'functional', 'beef'),
    )
    for run in (first, second, again):
        record.write(run, ['python', 'mysql', 'mariadb', 'pgbouncer'])
    assert record.read() == [second, again]
    assert (
        page.read_text()
        == f"""before

{record.BEGIN}
========  ==========  ======  ======  =======  ==========  ==========
With      Tests       Passed  Failed  Skipped  On          Commit
========  ==========  ======  ======  =======  ==========  ==========
python 1  unit        7       0       1        2026-11-28  ``c0ffee``
mysql 1   functional  7       0       1        2026-11-28  ``beef``
========  ==========  ======  ======  =======  ==========  ==========

No run is recorded yet of ``mariadb``, ``pgbouncer``.

{record.END}
after
"""
    )


def test_runs_of_platforms_that_are_gone_go(page: pathlib.Path) -> None:
    record.write(a_run('python-3.1', 'unit'), ['python-3.1'])
    record.write(a_run('python', 'unit'), ['python'])
    assert record.read() == [a_run('python', 'unit')]
    assert 'python-3.1' not in page.read_text()


def test_reports_are_counted(tmp_path: pathlib.Path) -> None:
    report = tmp_path / 'report.xml'
    report.write_text(REPORT)
    assert counts(report) == (10, 3, 3)


def test_the_archive_is_that_of_the_machine() -> None:
    origins = [
        'https://packages.example.org/tools/ Example Example',
        'http://archive.example.org/debian-security/ Debian Debian-Security',
        'http://archive.example.org/debian/ Debian Debian',
        'http://other.example.org/debian/ Debian Debian',
    ]
    assert suites.archive(origins) == 'http://archive.example.org/debian/'
    assert suites.archive(origins[:2]) is None


@pytest.mark.parametrize(
    ('text', 'version'),
    [
        ('11.8.9-MariaDB-4 from Debian', '11.8.9'),
        ('9.7.4-2', '9.7.4'),
        ('PostgreSQL 18.6 (Debian 18.6-3) on x86_64', '18.6'),
        ('PgBouncer 1.26.1\nlibevent 2.1.12', '1.26.1'),
    ],
)
def test_servers_say_their_versions(text: str, version: str) -> None:
    assert version_of(text) == version


def test_a_clone_follows_the_commits_of_a_repository(tmp_path: pathlib.Path) -> None:
    repository, clone = tmp_path / 'repository', tmp_path / 'clone'
    repository.mkdir()
    git('init', '--quiet', at=repository)
    for text in ('first', 'second'):
        (repository / 'file').write_text(text)
        git('add', 'file', at=repository)
        author = ('-c', 'user.name=tester', '-c', 'user.email=tester@example.org')
        git(*author, 'commit', '--quiet', '--message', text, at=repository)

        clone_at(git('rev-parse', '--short=10', 'HEAD', at=repository), repository, clone)

        assert (clone / 'file').read_text() == text
