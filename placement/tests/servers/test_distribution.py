# SPDX-License-Identifier: Apache-2.0
"""The source archive and the wheel, as deployers get them, and their place among distributions.

Upstream is `openstack-placement` as well: in one environment pip replaces it by this service and
this service by it, and leaves no file of the one among those of the other. Upgrades stay with
this service, whose number is a date.
"""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping

import pytest

from placement import conf
from placement.tests.servers import installation
from placement.tests.servers.release import CLIENTS, copied, our_version, tracked_files

UPSTREAM = f'{conf.DISTRIBUTION}==16.0.0'
NEXT_OF_UPSTREAM = '17.0.0'


def test_the_files_of_a_release_have_the_same_bytes_whoever_builds_them() -> None:
    build = 'from setuptools import build_meta as b; b.build_sdist(".."); b.build_wheel("..")'
    tool = installation.REPOSITORY / 'tools' / 'release_files.py'
    sums = []
    for umask in (0o022, 0o077):
        with tempfile.TemporaryDirectory(prefix='placement-release-') as name:
            directory = pathlib.Path(name)
            source = copied(directory, 'placement-report-client/') / 'placement-report-client'
            (directory / 'release').mkdir()
            subprocess.run(
                [sys.executable, '-W', 'ignore', '-c', build.replace('..', '../../release')],
                cwd=source, check=True, capture_output=True, umask=umask,
                env={**os.environ, 'SOURCE_DATE_EPOCH': '1700000000'},
            )  # fmt: skip
            subprocess.run(
                [sys.executable, str(tool), str(directory / 'release')],
                check=True, env={**os.environ, 'SOURCE_DATE_EPOCH': '1700000000'},
            )  # fmt: skip
            sums.append((directory / 'release' / 'SHA256SUMS').read_text())
    assert len(sums[0].splitlines()) == 2
    assert sums[0] == sums[1]


#: What is for contributors, and the distributions of their own.
NOT_IN_THE_ARCHIVE = ('.ci/', 'osc-placement-insight/', 'placement-report-client/')


def test_the_source_archive_has_every_file_of_the_service(archive: pathlib.Path) -> None:
    top = f'openstack_placement-{our_version()}'
    assert archive.name == f'{top}.tar.gz'
    with tarfile.open(archive) as opened:
        names = {name.removeprefix(f'{top}/') for name in opened.getnames()}

    wanted = {name for name in tracked_files() if not name.startswith(NOT_IN_THE_ARCHIVE)}
    assert wanted - names == set()
    assert [name for name in names if name.startswith(NOT_IN_THE_ARCHIVE)] == []


#: The fixtures that other projects import, and the packages around them.
FIXTURES = {
    f'placement/tests/{name}.py'
    for name in (
        '__init__',
        'fixtures',
        'functional/__init__',
        'functional/fixtures/__init__',
        'functional/fixtures/capture',
        'functional/fixtures/placement',
    )
}


def test_the_wheel_has_the_commands_and_every_module_but_no_test(wheel: pathlib.Path) -> None:
    assert wheel.name == f'openstack_placement-{our_version()}-py3-none-any.whl'
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    pattern = re.compile(r'placement(_insight(?!/gabbits/|/tests/))?/.*\.(py|ini|mako|yaml)$')
    modules = {name for name in tracked_files() if pattern.match(name)}

    tests = {name for name in modules if name.startswith('placement/tests/')}
    assert {name for name in names if name.startswith('placement/tests/')} == FIXTURES
    assert modules - tests - names == set()
    assert f'openstack_placement-{our_version()}.data/scripts/placement-api' in names


@pytest.mark.parametrize('name', CLIENTS)
def test_the_wheel_of_a_client_has_every_module_and_no_test(
    name: str, client_wheels: Mapping[str, pathlib.Path]
) -> None:
    wheel = client_wheels[name]
    files = {path.removeprefix(f'{name}/') for path in tracked_files()}
    package = name.replace('-', '_')
    modules = {path for path in files if re.match(rf'{package}/.*\.py$', path)}
    tests = {path for path in modules if '/tests/' in path}
    with zipfile.ZipFile(wheel) as opened:
        packed = {path for path in opened.namelist() if '.dist-info/' not in path}

    assert tests
    assert packed == modules - tests


class Environment:
    """A virtual environment in which one distribution takes the place of the other."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        (self.site,) = path.glob('lib/python3*/site-packages')
        #: Every file that one of the distributions has ever recorded.
        self._recorded: set[pathlib.Path] = set()

    def run(self, command: str, *arguments: str, **environ: str) -> str:
        """Run a command of the environment, which has to succeed, and return its output."""
        done = subprocess.run(
            [self.path / 'bin' / command, *arguments],
            env=os.environ | environ,
            cwd=self.path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def check(self, version: str) -> None:
        """One distribution is there, with its files alone, and it works."""
        (distribution,) = (
            found
            for found in importlib.metadata.distributions(path=[str(self.site)])
            if 'placement' in found.name.lower()
        )
        assert (distribution.name, distribution.version) == (conf.DISTRIBUTION, version)
        self.check_files(distribution)
        self.run('pip', 'check')
        self.check_commands(version)
        wanted = self.run('pip', 'install', '--no-index', '--dry-run', f'{conf.DISTRIBUTION}>=1.0')
        assert 'Would install' not in wanted

    def check_files(self, distribution: importlib.metadata.Distribution) -> None:
        """Compare the files on the disk with those that the distribution recorded."""
        assert distribution.files is not None
        recorded = {
            pathlib.Path(os.path.normpath(self.site / file))
            for file in distribution.files
            if '__pycache__' not in file.parts
        }
        self._recorded |= recorded
        found = {path for path in self._recorded if path.exists()}
        for place in (self.site / 'placement', *self.site.glob('*placement*-info')):
            found |= {path for path in place.rglob('*') if path.is_file()}
        found |= set(self.path.glob('bin/placement-*'))
        assert {path for path in found if '__pycache__' not in path.parts} == recorded

    def check_commands(self, version: str) -> None:
        """The commands work on a database of their own."""
        assert self.run('placement-manage', '--version').strip() == version
        with tempfile.TemporaryDirectory() as directory:
            settings = {
                'OS_PLACEMENT_CONFIG_DIR': directory,
                'OS_PLACEMENT_DATABASE__CONNECTION': f'sqlite:///{directory}/placement.sqlite',
            }
            pathlib.Path(directory, 'placement.conf').touch()
            self.run('placement-manage', 'db', 'sync', **settings)
            self.run('placement-status', 'upgrade', 'check', **settings)
            loads = 'from placement.wsgi.api import application'
            self.run('python', '-c', loads, **settings, OS_API__AUTH_STRATEGY='noauth2')


def next_of_upstream(directory: pathlib.Path) -> None:
    """Write a wheel with the number that upstream has next, and nothing in it."""
    information = f'openstack_placement-{NEXT_OF_UPSTREAM}.dist-info'
    metadata = f'Metadata-Version: 2.1\nName: {conf.DISTRIBUTION}\nVersion: {NEXT_OF_UPSTREAM}\n'
    path = directory / f'openstack_placement-{NEXT_OF_UPSTREAM}-py3-none-any.whl'
    with zipfile.ZipFile(path, 'w') as wheel:
        wheel.writestr(f'{information}/METADATA', metadata)
        wheel.writestr(f'{information}/WHEEL', 'Wheel-Version: 1.0\nTag: py3-none-any\n')
        wheel.writestr(f'{information}/RECORD', '')


def test_pip_replaces_upstream_by_this_service_and_back(wheel: pathlib.Path) -> None:
    with installation.source() as package:
        path = installation.environment('replacement', sys.executable, UPSTREAM, package=package)
    environment = Environment(path)
    for wanted, version in (
        (UPSTREAM, '16.0.0'),
        (str(wheel), our_version()),
        (UPSTREAM, '16.0.0'),
        # What the next run begins with does not matter, what this one leaves behind does.
        (str(wheel), our_version()),
    ):
        installation.pip(path, wanted)
        environment.check(version)

    with tempfile.TemporaryDirectory() as directory:
        next_of_upstream(pathlib.Path(directory))
        offered = ['--no-index', '--find-links', directory, '--upgrade', '--no-deps']
        environment.run('pip', 'install', *offered, conf.DISTRIBUTION)
    assert environment.run('placement-manage', '--version').strip() == our_version()
