# SPDX-License-Identifier: Apache-2.0
"""Checks of what is installed: drivers, clients, and whether two distributions are mixed."""

from __future__ import annotations

import csv
import importlib
import pathlib
from collections.abc import Iterable
from importlib import metadata

import placement
from placement.conf import DISTRIBUTION
from placement.db.engine import diagnosis
from placement.doctor.deployment import Deployment
from placement.doctor.result import Result, failure, ok

# What to install for the backends that the extras of this distribution are named for.
_EXTRAS = {'mysql': 'mysql', 'mariadb': 'mysql', 'postgresql': 'postgresql'}


def check_driver(deployment: Deployment) -> Result:
    """Import the driver that the URL of the database names."""
    name = 'database driver'
    url = deployment.conf.placement_database.connection
    try:
        reason = diagnosis.missing_driver(url)
    except diagnosis.ERRORS as error:
        return failure(
            name,
            f'[placement_database] connection is no URL of a database: {error}',
            'Write it as mysql+pymysql://USER:PASSWORD@HOST/placement.',
        )
    scheme = url.partition(':')[0]
    if reason is not None:
        extra = _EXTRAS.get(scheme.partition('+')[0])
        package = f"'{DISTRIBUTION}[{extra}]'" if extra else 'the driver'
        return failure(name, f'{scheme} cannot be used: {reason}', f'Run pip install {package}.')
    return ok(name, f'{scheme} can be imported.')


def check_keystone_middleware(deployment: Deployment) -> Result | None:
    """Import the library that validates tokens."""
    if deployment.conf.api.auth_strategy != 'keystone':
        return None
    return _import('keystonemiddleware', 'keystonemiddleware.auth_token', 'keystonemiddleware')


def check_memcached_client(deployment: Deployment) -> Result | None:
    """Import the client of memcached, which is needed where servers are configured."""
    conf = deployment.conf
    if conf.api.auth_strategy != 'keystone' or not conf.keystone_authtoken.memcached_servers:
        return None
    return _import('memcached client', 'memcache', f"'{DISTRIBUTION}[memcached]'")


def _import(name: str, module: str, package: str) -> Result:
    try:
        importlib.import_module(module)
    except ImportError as error:
        return failure(
            name,
            f'Requests with a token fail: the module {module} cannot be imported ({error}).',
            f'Run pip install {package}.',
        )
    return ok(name, f'The module {module} can be imported.')


def check_distributions(_deployment: Deployment) -> Result:
    """Look for files of another distribution in the package, and for files that are missing."""
    name = 'installed distribution'
    package = pathlib.Path(placement.__file__).parent
    found = sorted(owners(package))
    if len(found) > 1:
        return failure(
            name,
            f'{" and ".join(found)} are installed in the same place, {package}.',
            f'Uninstall both, remove {package}, and install {DISTRIBUTION}.',
        )
    if not found:
        return ok(name, f'No distribution has installed {package}: it runs from its sources.')
    odd, missing = compare(package, owners(package)[found[0]])
    if odd or missing:
        differences = [
            *([f'has {_count(odd)} that are not of {found[0]}'] if odd else []),
            *([f'lacks {_count(missing)} that {found[0]} installed'] if missing else []),
        ]
        return failure(
            name,
            f'{package} {", and ".join(differences)}: two distributions were mixed.',
            f'Uninstall {found[0]}, remove {package}, and install {DISTRIBUTION}.',
        )
    return ok(name, f'{found[0]} in {package}.')


Files = set[pathlib.Path]


def owners(package: pathlib.Path) -> dict[str, Files]:
    """The modules that distributions have installed in a directory, by name and version."""
    found: dict[str, Files] = {}
    for distribution in metadata.distributions():
        modules = {
            path
            for file in _files(distribution)
            if file.suffix == '.py' and file.parts[0] == package.name
            for path in [pathlib.Path(str(distribution.locate_file(file)))]
            if path.is_relative_to(package)
        }
        if modules:
            found[f'{distribution.name} {distribution.version}'] = modules
    return found


def _files(distribution: metadata.Distribution) -> Iterable[pathlib.PurePath]:
    """The files that a distribution has installed, as paths below its directory.

    From Python 3.12 on `files` leaves out those that are not there any more, which are the ones
    looked for, so the record itself is read where there is one.
    """
    record = distribution.read_text('RECORD')
    if record is None:
        return distribution.files or ()
    return [pathlib.PurePosixPath(row[0]) for row in csv.reader(record.splitlines()) if row]


def compare(package: pathlib.Path, installed: Files) -> tuple[Files, Files]:
    """The modules in a directory that were not installed, and the installed ones not there."""
    present = set(package.rglob('*.py'))
    return present - installed, installed - present


def _count(files: Files) -> str:
    return f'{len(files)} module(s), such as {min(files).name},'
