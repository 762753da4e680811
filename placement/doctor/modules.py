# SPDX-License-Identifier: Apache-2.0
"""Checks of installed modules: drivers, clients, and a mixture of two distributions."""

import csv
import importlib
import pathlib
from importlib import metadata

import placement
from placement.conf import DISTRIBUTION
from placement.db.engine import engines
from placement.doctor import connection
from placement.doctor.check import CheckResult, Deployment, failure, ok

ModulePaths = set[pathlib.Path]


def check_driver(deployment: Deployment) -> CheckResult:
    """Import the driver that the URL of the database names."""
    try:
        url = engines.check_driver(deployment.conf.placement_database.connection)
    except engines.MissingDriverError as error:
        return failure(error.reason, error.remedy)
    except connection.ERRORS as error:
        return failure(
            f'[placement_database] connection is no URL of a database: {error}',
            'Write it as mysql+pymysql://USER:PASSWORD@HOST/placement.',
        )
    return ok(f'{url.drivername} can be imported.')


def check_keystone_middleware(_deployment: Deployment) -> CheckResult:
    """Import the library that validates tokens."""
    return _import('keystonemiddleware.auth_token', 'keystonemiddleware')


def check_memcached_client(deployment: Deployment) -> CheckResult | None:
    """Import the client of memcached, which is needed if servers are configured."""
    if not deployment.conf.keystone_authtoken.memcached_servers:
        return None
    return _import('memcache', f"'{DISTRIBUTION}[memcached]'")


def _import(module: str, package: str) -> CheckResult:
    try:
        importlib.import_module(module)
    except ImportError as error:
        return failure(
            f'Requests with a token fail: the module {module} cannot be imported ({error}).',
            f'Run pip install {package}.',
        )
    return ok(f'The module {module} can be imported.')


def check_distributions(_deployment: Deployment) -> CheckResult:
    """Look for files of another distribution in the package, and for missing files."""
    package = pathlib.Path(placement.__file__).parent
    installed = owners(package)
    if not installed:
        return ok(f'No distribution has installed {package}: it runs from its sources.')
    names = sorted(installed)
    if len(names) > 1:
        return failure(
            f'{" and ".join(names)} are installed in the same place, {package}.',
            f'Uninstall both, remove {package}, and install {DISTRIBUTION}.',
        )
    present, own = set(package.rglob('*.py')), installed[names[0]]
    differences = [
        f'{words} {len(paths)} module(s), such as {min(paths).name}, that {suffix}'
        for words, paths, suffix in (
            ('has', present - own, f'are not of {names[0]}'),
            ('lacks', own - present, f'{names[0]} installed'),
        )
        if paths
    ]
    if differences:
        return failure(
            f'{package} {", and ".join(differences)}: two distributions were mixed.',
            f'Uninstall {names[0]}, remove {package}, and install {DISTRIBUTION}.',
        )
    return ok(f'{names[0]} in {package}.')


def owners(package: pathlib.Path) -> dict[str, ModulePaths]:
    """Return the modules that distributions installed in a directory, by name and version."""
    owned: dict[str, ModulePaths] = {}
    for distribution in metadata.distributions():
        # `files` leaves out missing files since Python 3.12, and these are needed here. So the
        # record itself is read, if it exists.
        record = distribution.read_text('RECORD')
        names = (
            [str(path) for path in distribution.files or ()]
            if record is None
            else [row[0] for row in csv.reader(record.splitlines()) if row]
        )
        paths = {
            pathlib.Path(str(distribution.locate_file(name)))
            for name in names
            if name.startswith(f'{package.name}/') and name.endswith('.py')
        }
        modules = {path for path in paths if path.is_relative_to(package)}
        if modules:
            owned[f'{distribution.name} {distribution.version}'] = modules
    return owned
