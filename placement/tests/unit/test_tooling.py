# SPDX-License-Identifier: Apache-2.0
"""The Makefile, tox, pre-commit and .ci/run agree with each other."""

import configparser
import contextlib
import os
import pty
import re
import subprocess
import sys

import pytest
import yaml
from packaging.version import Version

from placement import conf
from placement.tests.functional.fixtures import applications

REPOSITORY = applications.repository_path('.').resolve()
MAKEFILE = (REPOSITORY / 'Makefile').read_text()

#: Targets that prepare or clean the working tree, for which tox has commands of its own.
WITHOUT_ENVIRONMENT = {'help', 'clean', 'hooks'}


def make_targets() -> set[str]:
    (declared,) = re.findall(r'^\.PHONY: (.+)$', MAKEFILE, re.MULTILINE)
    return set(declared.split())


@pytest.fixture(scope='module')
def tox() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(REPOSITORY / 'tox.ini')
    return parser


def environments(tox: configparser.ConfigParser) -> dict[str, configparser.SectionProxy]:
    return {name: tox[name] for name in tox.sections() if name.startswith('testenv')}


def test_help_lists_every_make_target() -> None:
    described = set(re.findall(r'make ([a-z-]+)(?=[ ,])', MAKEFILE.partition('\nserve:')[0]))
    assert described | {'help'} == make_targets()


def test_tox_has_an_environment_for_every_make_target(tox: configparser.ConfigParser) -> None:
    named = [environment['description'] for environment in environments(tox).values()]
    found = {target for text in named for target in re.findall(r'\(make ([a-z-]+)\)', text)}
    assert found == make_targets() - WITHOUT_ENVIRONMENT


def test_every_tox_environment_runs_one_command(tox: configparser.ConfigParser) -> None:
    commands = {
        name: environment['commands'].strip().splitlines()
        for name, environment in environments(tox).items()
    }
    assert {name: lines for name, lines in commands.items() if len(lines) != 1} == {}


def test_tox_runs_the_tests_on_every_python_of_the_classifiers(
    tox: configparser.ConfigParser,
) -> None:
    """The newest, on which they have not all been seen to pass, is not among the classifiers."""
    versions = re.findall(r':: Python :: (3\.\d+)', (REPOSITORY / 'setup.cfg').read_text())
    (numbers,) = re.findall(r'py3\{([\d,]+)\}', tox['tox']['envlist'])

    assert [*versions, '3.14'] == [f'3.{number}' for number in numbers.split(',')]


def test_pre_commit_runs_the_tools_of_make_lint() -> None:
    config = yaml.safe_load((REPOSITORY / '.pre-commit-config.yaml').read_text())
    hooks = {hook['name'] for repository in config['repos'] for hook in repository['hooks']}
    lint = MAKEFILE.partition('\nlint:')[2].partition('\n\n')[0]
    assert hooks == set(re.findall(r'\$\(BIN\)/(ruff \w+|mypy)', lint))


def test_ci_runs_every_test_target() -> None:
    script = (REPOSITORY / '.ci' / 'run').read_text()
    targets = {target for target in make_targets() if target.startswith('test')} | {'docs', 'dist'}
    assert set(re.findall(r'[a-z]+(?:-[a-z]+)*', script)) >= targets


def test_make_serve_passes_port_and_configuration_on() -> None:
    def command(*variables: str) -> str:
        make = [
            'make',
            '--no-print-directory',
            '--dry-run',
            '--assume-old=.venv/.ready',
            'serve',
            *variables,
        ]
        printed = subprocess.run(make, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        return ' '.join(printed.stdout.partition('exec ')[2].replace('\\\n', ' ').split())

    alone = (
        'env -u OS_PLACEMENT_CONFIG_DIR -u OS_PLACEMENT_DATABASE__CONNECTION '
        '.venv/bin/placement-serve --state-dir state'
    )
    assert command() == alone
    assert command('PORT=1', 'CONFIG=a.conf') == f"{alone} --port '1' --config-file 'a.conf'"


def on_a_terminal(command: list[str]) -> tuple[int, str]:
    """The exit status of a command, and what it writes to its terminal."""
    main, terminal = pty.openpty()
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=terminal, stderr=terminal)
    os.close(terminal)
    written = b''
    with contextlib.suppress(OSError):
        while piece := os.read(main, 4096):
            written += piece
    os.close(main)
    return process.wait(), written.decode()


def test_pip_shows_progress_on_a_terminal_alone() -> None:
    command = [sys.executable, 'tools/pip_install.py', '--no-index', '--dry-run', 'PyYAML']

    silent = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert (silent.returncode, silent.stdout) == (0, '')
    status, written = on_a_terminal(command)
    assert status == 0
    assert '    Requirement already satisfied: PyYAML' in written
    # The line is erased in the end.
    assert written.endswith('\r\x1b[K')


def test_a_failure_of_pip_is_told() -> None:
    status, written = on_a_terminal(
        [sys.executable, 'tools/pip_install.py', '--no-index', 'no-such-distribution']
    )
    assert status == 1
    assert 'ERROR: No matching distribution found for no-such-distribution' in written


def test_the_distribution_replaces_upstream(tox: configparser.ConfigParser) -> None:
    """It has upstream's name and a newer version than the one that the tests upgrade from."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(REPOSITORY / 'setup.cfg')
    (upstream,) = re.findall(r'openstack-placement==([\d.]+)', tox['testenv:upstream']['deps'])

    assert setup['metadata']['name'] == conf.DISTRIBUTION == 'openstack-placement'
    assert Version(setup['metadata']['version']) > Version(upstream)


#: What PyMySQL[rsa], psycopg[binary] and keystonemiddleware[memcache-encryption] add.
OF_EXTRAS_OF_LIBRARIES = {'cryptography', 'psycopg-binary'}


def pins(path: str, pattern: str) -> dict[str, str]:
    """Versions by the normalised name of the package."""
    found = re.findall(pattern, (REPOSITORY / path).read_text(), re.MULTILINE)
    return {re.sub(r'[-_.]+', '-', name).lower(): version for name, version in found}


def test_requirements_with_hashes_are_the_pins_of_the_tests() -> None:
    hashed = pins('etc/placement/requirements.txt', r'^([\w.-]+)==([^\s;\\]+)')
    tested = pins('constraints.txt', r'^([\w.-]+)==([^\s;]+)')
    assert hashed.items() <= tested.items()

    setup = configparser.ConfigParser(interpolation=None)
    setup.read(REPOSITORY / 'setup.cfg')
    extras = setup['options.extras_require']
    optional = [extras[name] for name in ('mysql', 'postgresql', 'memcached')]
    wanted = '\n'.join([setup['options']['install_requires'], *optional])
    names = {*re.findall(r'^([\w.-]+)', wanted, re.MULTILINE), *OF_EXTRAS_OF_LIBRARIES}
    assert {re.sub(r'[-_.]+', '-', name).lower() for name in names} <= hashed.keys()


def test_every_pinned_requirement_has_a_hash() -> None:
    text = (REPOSITORY / 'etc/placement/requirements.txt').read_text()
    requirements = re.split(r'^(?=[\w-]+==)', text, flags=re.MULTILINE)[1:]

    assert [one for one in requirements if '--hash=sha256:' not in one] == []
