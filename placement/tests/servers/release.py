# SPDX-License-Identifier: Apache-2.0
"""The files of a release, made as `make release` makes them."""

import configparser
import pathlib
import shutil
import subprocess
import sys

from placement.tests.servers.installation import REPOSITORY

CLIENTS = ('osc-placement-insight', 'placement-report-client')

#: The files of a repository that a release is made from, beside what `make` makes of the others.
NEEDED = (
    'tools/release.py',
    'tools/release_files.py',
    'etc/containers/Containerfile',
    'etc/containers/Containerfile.distribution',
    'setup.cfg',
    *(f'{client}/setup.cfg' for client in CLIENTS),
)

#: In place of two targets that take minutes: a page, and what was built before.
MAKEFILE = """
docs:
\tmkdir -p doc/build/html && echo page > doc/build/html/index.html
dist:
\trm -rf dist && cp -r ../built dist
"""
IGNORED = 'built/\ndist/\ndoc/\n__pycache__/\n'


def tracked_files() -> set[str]:
    """The paths of the repository that git knows and that have not just been removed."""
    git = ['git', '-C', str(REPOSITORY), 'ls-files', '-z']
    listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout
    names = listed.rstrip('\0').split('\0')
    return {name for name in names if REPOSITORY.joinpath(name).exists()}


def copied(directory: pathlib.Path, prefix: str) -> pathlib.Path:
    """Copy what git knows below a prefix."""
    copy = directory / 'source'
    for name in tracked_files():
        if name.startswith(prefix):
            copy.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, copy / name)
    return copy


def archive_of(directory: pathlib.Path) -> pathlib.Path:
    """Build the source archive of the service in a directory, from what git knows."""
    build = 'from setuptools import build_meta; build_meta.build_sdist("..")'
    command = [sys.executable, '-W', 'ignore', '-c', build]
    subprocess.run(command, cwd=copied(directory, ''), check=True, capture_output=True)
    (path,) = directory.glob('*.tar.gz')
    return path


def wheel_of(source: pathlib.Path, directory: pathlib.Path) -> pathlib.Path:
    """Build a wheel in a directory, which has no other."""
    pip = [sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--no-build-isolation']
    subprocess.run([*pip, str(source)], cwd=directory, check=True)
    (path,) = directory.glob('*.whl')
    return path


def our_version() -> str:
    """The number in setup.cfg."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(REPOSITORY / 'setup.cfg')
    return setup['metadata']['version']


class Release:
    """A small repository that is released; its `make dist` takes what was built before."""

    def __init__(self, directory: pathlib.Path, *built: pathlib.Path) -> None:
        self.path = directory / 'repository'
        self.dist = self.path / 'dist'
        (directory / 'built').mkdir()
        for path in built:
            shutil.copy(path, directory / 'built')
        for name in NEEDED:
            self.path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, self.path / name)
        self.path.joinpath('Makefile').write_text(MAKEFILE)
        self.path.joinpath('.gitignore').write_text(IGNORED)
        self.git('init', '--quiet')
        self.git('config', 'user.name', 'Test')
        self.git('config', 'user.email', 'test@example.org')
        self.commit()

    def git(self, *arguments: str) -> str:
        """Run git in the repository; what it prints."""
        command = ['git', *arguments]
        done = subprocess.run(
            command, cwd=self.path, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def commit(self) -> None:
        """Commit all that has changed."""
        self.git('add', '.')
        self.git('commit', '--quiet', '--message', 'tests: change')

    def make(self, version: str) -> str:
        """Release a version: an empty text, or what the tool prints when it fails."""
        command = [sys.executable, 'tools/release.py', version]
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True)
        return done.stderr if done.returncode else ''

    @property
    def tags(self) -> list[str]:
        """All tags."""
        return self.git('tag').split()
