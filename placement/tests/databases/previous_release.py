# SPDX-License-Identifier: Apache-2.0
"""The release before this one, or what comes next to it, as the interpreter that runs it."""

import configparser
import io
import os
import pathlib
import subprocess
import sysconfig
import tarfile
import venv

import pytest

REPOSITORY = pathlib.Path(__file__).parents[3]

#: A tag or commit to be taken in place of the one that is found.
CHOSEN = os.environ.get('PLACEMENT_TEST_PREVIOUS_RELEASE', '')

#: Where the tables are declared, and the steps that create them.
SCHEMA = 'placement/db/schema'


def revision() -> str:
    """The last release; before there is one, the oldest commit with the tables of this one.

    A clone may have few commits and no tags: then it is the oldest that the clone has.
    """
    if CHOSEN:
        return CHOSEN
    head = _git('rev-parse', 'HEAD')
    released = _git('tag', '--merged', 'HEAD', '--no-contains', 'HEAD', '--sort=-creatordate')
    if released:
        return released.split()[0]
    oldest = _git('log', '-1', '--format=%H', '--', SCHEMA)
    if oldest == head:
        # The tables have just changed: `db sync` of the new one comes first, then both serve them.
        oldest = _git('log', '-1', '--skip=1', '--format=%H')
    if not oldest:
        pytest.skip('this clone has one commit: there is no older one to compare with')
    return oldest


def install(directory: pathlib.Path) -> str:
    """Unpack it; the path of a Python that imports it, with the libraries of this one."""
    archive = subprocess.run(
        ['git', 'archive', revision(), *_packages(), 'setup.cfg'],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
    ).stdout
    source = directory / 'source'
    with tarfile.open(fileobj=io.BytesIO(archive)) as unpacked:
        unpacked.extractall(source, filter='data')
    _declare_entry_points(source)
    environment = directory / 'environment'
    venv.create(environment, with_pip=False)
    python = environment / 'bin' / 'python'
    variables = {'base': str(environment), 'platbase': str(environment)}
    packages = pathlib.Path(sysconfig.get_path('purelib', 'venv', variables))
    # Files .pth of the libraries are not read from there, so this release is not found.
    here = {sysconfig.get_path('purelib'), sysconfig.get_path('platlib')}
    packages.joinpath('previous.pth').write_text('\n'.join([str(source), *sorted(here)]))
    _check_import(python, source)
    return str(python)


def _declare_entry_points(source: pathlib.Path) -> None:
    """Write the metadata of the release, so that it does not find the extensions of this one."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(source / 'setup.cfg')
    name = setup['metadata']['name']
    directory = source / f'{name.replace("-", "_")}-0.dist-info'
    directory.mkdir()
    directory.joinpath('METADATA').write_text(f'Metadata-Version: 2.1\nName: {name}\nVersion: 0\n')
    groups = [f'[{group}]{lines}\n' for group, lines in setup['options.entry_points'].items()]
    directory.joinpath('entry_points.txt').write_text('\n'.join(groups))


def _packages() -> list[str]:
    """The packages of the release; before it had two, it had one."""
    listed = _git('ls-tree', '--name-only', revision(), 'placement', 'placement_insight')
    return listed.split()


def _check_import(python: pathlib.Path, source: pathlib.Path) -> None:
    """Assert that it is not this release that is imported."""
    command = [str(python), '-I', '-c', 'import placement; print(placement.__file__)']
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert pathlib.Path(found).is_relative_to(source), found


def _git(*arguments: str) -> str:
    return subprocess.run(
        ['git', *arguments], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.strip()
