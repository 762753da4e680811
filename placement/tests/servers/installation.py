# SPDX-License-Identifier: Apache-2.0
"""Environments that hold the service as an operator would install it."""

import contextlib
import fcntl
import functools
import getpass
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import pytest

from placement.tests.functional.fixtures import applications

REPOSITORY = applications.repository_path('.').resolve()
CONSTRAINTS = REPOSITORY / 'constraints.txt'

# What a package is made from.
SOURCES = (
    'placement', 'placement_insight', 'bin', 'setup.cfg', 'setup.py', 'pyproject.toml',
    'README.rst', 'LICENSE',
)  # fmt: skip

# In the complete run, a test that cannot run fails instead of being skipped.
MAY_NOT_SKIP = bool(os.environ.get('PLACEMENT_TEST_EVERYTHING'))

needs_root = pytest.mark.skipif(
    os.getuid() != 0 and not MAY_NOT_SKIP, reason='only root can create the name spaces'
)

# The Python that the mod_wsgi of Debian is built for.
SYSTEM_PYTHON = '/usr/bin/python3'


def cache() -> pathlib.Path:
    """Where environments are kept from one run to the next.

    Not in a home directory: what a web server runs as another user must be able to get there.
    """
    path = pathlib.Path(tempfile.gettempdir(), f'placement-test-servers-{getpass.getuser()}')
    path.mkdir(mode=0o755, exist_ok=True)
    owner = path.stat().st_uid
    assert owner == os.getuid(), f'{path} belongs to somebody else'
    return path


@contextlib.contextmanager
def directory() -> Iterator[pathlib.Path]:
    """A directory where any user can read, as a web server has to; pytest's own are private."""
    with tempfile.TemporaryDirectory(prefix='server-', dir=cache()) as name:
        path = pathlib.Path(name)
        path.chmod(0o755)
        yield path


def install_system_packages(*names: str) -> None:
    """Have these packages of Debian, which takes the rights of root if one of them is missing."""
    # apt-get fails where another one is running.
    with _locked(cache() / 'apt'):
        missing = [name for name in names if not _is_installed(name)]
        if missing:
            environ = os.environ | {'DEBIAN_FRONTEND': 'noninteractive'}
            for arguments in (
                ['update', '-q'],
                ['install', '-q', '-y', '--no-install-recommends', *missing],
            ):
                subprocess.run(['apt-get', *arguments], check=True, env=environ)


def _is_installed(name: str) -> bool:
    query = ['dpkg-query', '--show', '--showformat=${db:Status-Status}', name]
    return subprocess.run(query, capture_output=True, text=True).stdout == 'installed'


@functools.cache
def service_environment(name: str, python: str, *requirements: str) -> pathlib.Path:
    """A virtual environment with the service as it is now, and with these requirements."""
    with source() as package:
        # Before it is installed, which leaves files there that the next run would not have.
        digest = _digest(pathlib.Path(package))
        path = environment(name, python, *requirements, package=package)
        # Another run of tests may be using it: it is installed anew only where sources changed.
        with _locked(path):
            installed = path / 'sources'
            if not installed.exists() or installed.read_text() != digest:
                pip(path, '--no-build-isolation', '--no-deps', '--force-reinstall', package)
                installed.write_text(digest)
    return path


def environment(
    name: str, python: str, *requirements: str, package: str | None = None
) -> pathlib.Path:
    """A virtual environment with these requirements and those of a package.

    A cached one, if there is. The libraries are those that the other tests run with.
    """
    pins = [CONSTRAINTS.read_text()]
    if package:
        pins.append((REPOSITORY / 'setup.cfg').read_text())
    wanted = [python, *requirements, *pins]
    digest = hashlib.sha256('\0'.join(wanted).encode()).hexdigest()[:12]
    path = cache() / f'{name}-{digest}'
    with _locked(path):
        if not (path / 'ready').exists():
            subprocess.run([python, '-m', 'venv', '--clear', str(path)], check=True)
            pip(path, 'setuptools', 'wheel', *requirements)
            if package:
                pip(path, '--no-build-isolation', package)
            (path / 'ready').touch()
    return path


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    """Keep other runs of tests from installing in the same environment."""
    with path.with_suffix('.lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _digest(directory: pathlib.Path) -> str:
    """A digest of all files below a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob('*')):
        if path.is_file():
            digest.update(f'{path.relative_to(directory)}\0'.encode() + path.read_bytes())
    return digest.hexdigest()


def pip(environment: pathlib.Path, *arguments: str) -> None:
    """Install something, quietly."""
    quiet = ['--quiet', '--quiet', '--disable-pip-version-check']
    constraint = ['--constraint', str(CONSTRAINTS)]
    install = [str(environment / 'bin' / 'pip'), 'install', *quiet, *constraint, *arguments]
    subprocess.run(install, check=True)


def copy_sources(directory: pathlib.Path) -> None:
    """Copy the repository, without what `.dockerignore` leaves out."""
    lines = (REPOSITORY / '.dockerignore').read_text().splitlines()
    names = [line.rpartition('/')[2] for line in lines if line and not line.startswith('#')]
    shutil.copytree(REPOSITORY, directory, ignore=shutil.ignore_patterns(*names), symlinks=True)


@contextlib.contextmanager
def source() -> Iterator[str]:
    """A copy of the sources, so that nothing is left behind in the repository."""
    with tempfile.TemporaryDirectory(prefix='placement-source-') as copy:
        for name in SOURCES:
            origin = REPOSITORY / name
            if origin.is_dir():
                ignored = shutil.ignore_patterns('__pycache__')
                shutil.copytree(origin, pathlib.Path(copy, name), ignore=ignored)
            else:
                shutil.copy(origin, copy)
        yield copy
