# SPDX-License-Identifier: Apache-2.0
"""Run tests with interpreters and servers of other suites of Debian, and record what passed.

    python -m placement.tests.platforms [--upstream PYTHON] [--no-record] [platform...]

Suites are laid below the user's cache, or where PLACEMENT_TEST_PLATFORMS says, which takes root.
"""

import argparse
import contextlib
import datetime
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from placement.tests.platforms import programs, record
from placement.tests.platforms.suites import Suite, environ

SUITES = {
    'trixie': Suite(
        'trixie',
        (
            'ca-certificates', 'curl', 'git', 'make', 'mariadb-client-core', 'mariadb-server-core',
            'python3', 'python3-venv',
        ),
    ),
    'sid': Suite(
        'sid',
        (
            'ca-certificates', 'curl', 'git', 'make', 'mysql-server-core', 'pgbouncer',
            'postgresql', 'python3', 'python3-venv',
        ),
    ),
}  # fmt: skip

FUNCTIONAL = 'placement/tests/functional'
INSIGHT = 'placement_insight/tests/functional'

#: What depends neither on the database nor on its driver.
OF_ANY_DATABASE = [
    f'--ignore={FUNCTIONAL}/test_{name}.py' for name in ('gabbi_coverage', 'input_size', 'openapi')
]

#: Options of pytest: two processes, long files first.
SHARED_OUT = ('-q', '-n', '2', '--dist', 'loadfile', '--no-loadscope-reorder')

#: Seconds for one run of tests.
TIMEOUT = 3 * 3600

MYSQL, POSTGRESQL = 'PLACEMENT_TEST_MARIADB_URL', 'PLACEMENT_TEST_POSTGRESQL_URL'


class Tests(NamedTuple):
    """A group of tests: its name, and the options and variables of its runs."""

    name: str
    options: Sequence[str]
    environ: Mapping[str, str]


class Running(NamedTuple):
    """A platform that is there: its versions, its tests, and how to run pytest."""

    versions: str
    tests: Sequence[Tests]
    pytest: Callable[[Sequence[str], Mapping[str, str]], None]


def functional(url: str, insight: str) -> list[Tests]:
    """The functional tests on a server: gabbi files, lost commits, and all others."""
    variables = {'PLACEMENT_TEST_DATABASE_URL': url, 'PLACEMENT_TEST_INSIGHT': insight}
    lost, gabbi = f'{FUNCTIONAL}/test_lost_commits.py', f'{FUNCTIONAL}/test_gabbi.py'
    others = [f'--ignore={lost}', f'--ignore={gabbi}', *OF_ANY_DATABASE, FUNCTIONAL, INSIGHT]
    return [
        Tests('lost replies to COMMIT', ['-q', lost], variables),
        Tests('gabbi files', ['-q', gabbi], variables),
        Tests('functional', [*SHARED_OUT, *others], variables),
    ]


def upgrade(variable: str, url: str, upstream: str) -> Tests:
    """Upgrade from upstream, and the way back."""
    word = 'mariadb' if variable == MYSQL else 'postgresql'
    return Tests(
        'upgrade from upstream, and back',
        ['-q', '-k', word, 'placement/tests/databases/test_upgrade.py'],
        {variable: url, 'PLACEMENT_TEST_UPSTREAM_PYTHON': upstream},
    )


def pytest_here(options: Sequence[str], variables: Mapping[str, str]) -> None:
    """Run tests with the interpreter of this command."""
    command = [sys.executable, '-m', 'pytest', *options]
    subprocess.run(
        command, cwd=record.REPOSITORY, env=os.environ | variables, timeout=TIMEOUT, check=False
    )


@contextlib.contextmanager
def interpreter(suite: str, _upstream: str) -> Iterator[Running]:
    """The interpreter of a suite, with SQLite."""
    of = SUITES[suite]
    of.lay()
    place = programs.checkout(of, record.REPOSITORY, commit())
    python = f'{place}/.venv/bin/python'

    def run(options: Sequence[str], variables: Mapping[str, str]) -> None:
        given = [f'{name}={value}' for name, value in variables.items()]
        command = ['env', f'--chdir={place}', *given, python, '-m', 'pytest', *options]
        subprocess.run(of.command(command), env=environ(), timeout=TIMEOUT, check=False)

    versions = of.run([python, '-c', VERSIONS]).strip()
    tests = [
        Tests('unit', [*SHARED_OUT, 'placement/tests/unit', 'placement_insight/tests/unit'], {}),
        Tests('functional', [*SHARED_OUT, FUNCTIONAL, INSIGHT], {}),
        Tests('clients', ['-q', 'osc-placement-insight', 'placement-report-client'], {}),
    ]
    yield Running(f'{versions}, {suite}', tests, run)


VERSIONS = (
    'import platform, sqlite3; '
    'print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")'
)


@contextlib.contextmanager
def mariadb(suite: str, upstream: str) -> Iterator[Running]:
    """MariaDB of a suite, which refuses what a snapshot of a transaction overlooks."""
    yield from _server('MariaDB', programs.MariadbInSuite, suite, MYSQL, upstream)


@contextlib.contextmanager
def mysql(suite: str, upstream: str) -> Iterator[Running]:
    """MySQL of a suite."""
    yield from _server('MySQL', programs.MysqlInSuite, suite, MYSQL, upstream)


@contextlib.contextmanager
def postgresql(suite: str, upstream: str) -> Iterator[Running]:
    """PostgreSQL of a suite."""
    yield from _server('PostgreSQL', programs.PostgresqlInSuite, suite, POSTGRESQL, upstream)


def _server(
    name: str, kind: type[programs.InSuite], suite: str, variable: str, upstream: str
) -> Iterator[Running]:
    of = SUITES[suite]
    of.lay()
    with programs.started(kind, of) as server:
        url = server.url('')
        tests = [*functional(url, 'on'), upgrade(variable, url, upstream)]
        yield Running(f'{name} {programs.server_version(url)}, {suite}', tests, pytest_here)


def behind_pgbouncer(mode: str, options: str) -> 'Start':
    """PostgreSQL behind pgbouncer, both of a suite."""

    @contextlib.contextmanager
    def start(suite: str, _upstream: str) -> Iterator[Running]:
        of = SUITES[suite]
        of.lay()
        with (
            programs.started(programs.PostgresqlInSuite, of) as server,
            programs.pooled(of, server.url(''), mode, options) as url,
        ):
            version = programs.version_of(of.run([of.program('pgbouncer'), '--version']))
            said = ', '.join(filter(None, (mode, options.replace(' ', ''))))
            variables = {'PLACEMENT_TEST_POOLER': mode}
            tests = [
                Tests(name, arguments, {**given, **variables})
                for name, arguments, given in functional(url, 'off')
            ]
            behind = f'PostgreSQL {programs.server_version(url)} behind pgbouncer {version}'
            yield Running(f'{behind} ({said}), {suite}', tests, pytest_here)

    return start


Start = Callable[[str, str], contextlib.AbstractContextManager[Running]]

#: Each platform: the suite that has it, and what starts it.
PLATFORMS: dict[str, tuple[str, Start]] = {
    'python-3.13': ('trixie', interpreter),
    'python-3.14': ('sid', interpreter),
    'mariadb-11.8': ('trixie', mariadb),
    'mysql-9': ('sid', mysql),
    'postgresql-18': ('sid', postgresql),
    'pgbouncer-transaction': ('sid', behind_pgbouncer('transaction', '')),
    'pgbouncer-unprepared': (
        'sid', behind_pgbouncer('transaction', 'max_prepared_statements = 0')
    ),
    'pgbouncer-session': ('sid', behind_pgbouncer('session', '')),
}  # fmt: skip


def commit() -> str:
    """The commit that is checked out."""
    return programs.git('rev-parse', '--short=10', 'HEAD', at=record.REPOSITORY)


def changed() -> str:
    """The differences from that commit, except for files that this command writes."""
    written = [f':!{path.relative_to(record.REPOSITORY)}' for path in (record.FILE, record.PAGE)]
    return programs.git('status', '--porcelain', '--', '.', *written, at=record.REPOSITORY)


def counts(report: pathlib.Path) -> tuple[int, int, int]:
    """The numbers of passed, failed and skipped tests in a report of pytest."""
    suites = ElementTree.parse(report).getroot().findall('testsuite')
    total, failures, errors, skipped = (
        sum(int(suite.attrib[name]) for suite in suites)
        for name in ('tests', 'failures', 'errors', 'skipped')
    )
    return total - failures - errors - skipped, failures + errors, skipped


def run(name: str, upstream: str, only: str, is_recorded: bool) -> int:
    """Run the tests of a platform and record them; how many failed."""
    suite, start = PLATFORMS[name]
    failures, begun_at = 0, commit()
    with start(suite, upstream) as running, tempfile.TemporaryDirectory() as directory:
        for number, tests in enumerate(running.tests):
            if only not in tests.name:
                continue
            print(f'==> {running.versions}: {tests.name}', flush=True)
            report = pathlib.Path(directory, f'{number}.xml')
            running.pytest([*tests.options, f'--junitxml={report}'], tests.environ)
            passed, failed, skipped = counts(report)
            failures += failed
            ran = record.Run(
                name, running.versions, tests.name,
                datetime.datetime.now(datetime.UTC).date().isoformat(), begun_at,
                f'make platforms PLATFORMS={name}', passed, failed, skipped,
            )  # fmt: skip
            print(f'    {passed} passed, {failed} failed, {skipped} skipped', flush=True)
            if is_recorded:
                record.write(ran, list(PLATFORMS))
    return failures


def main() -> int:
    """Run what is named, or everything; 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('platform', nargs='*', help=f'one of {", ".join(PLATFORMS)}')
    parser.add_argument('--upstream', default='', help='the Python of upstream')
    parser.add_argument('--only', default='', help='tests whose name has this')
    parser.add_argument('--no-record', action='store_true', help='write nothing down')
    given = parser.parse_args()
    if unknown := set(given.platform) - PLATFORMS.keys():
        parser.error(f'no platform: {", ".join(sorted(unknown))}')
    if not given.no_record and changed():
        parser.error(f'commit first: the record names a commit.\n{changed()}')
    failed = [
        run(name, given.upstream, given.only, not given.no_record)
        for name in given.platform or PLATFORMS
    ]
    return int(any(failed))


if __name__ == '__main__':
    sys.exit(main())
