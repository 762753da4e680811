# SPDX-License-Identifier: Apache-2.0
"""Checks of the rights of the service's account to files."""

import os
from collections.abc import Iterable

from placement.db.engine import sqlite
from placement.doctor.check import CheckResult, Deployment, failure, ok, warning


def unreadable(deployment: Deployment, paths: Iterable[str]) -> CheckResult | None:
    """Return a failure if the account may not read one of these files."""
    name = deployment.account.pw_name
    closed = [path for path in paths if not deployment.may(os.R_OK, path)]
    if not closed:
        return None
    return failure(
        f'The user {name} may not read {", ".join(closed)}.',
        f'Let the group of {name} read it: chgrp {name} and chmod 640.',
    )


def check_home(deployment: Deployment) -> CheckResult:
    """Check that the account has a home directory, in which Apache starts its processes."""
    home, name = deployment.account.pw_dir, deployment.account.pw_name
    if not os.path.isdir(home):
        return warning(
            f'{home}, the home of the user {name}, does not exist: with Apache mod_wsgi the '
            'service restarts for ever, and clients get 504.',
            _make(deployment, home),
        )
    return ok(f'{home} of the user {name} exists.')


def check_log(deployment: Deployment) -> CheckResult:
    """Check that the account may write the log."""
    conf = deployment.conf
    if conf.log_file:
        path = os.path.join(conf.log_dir or '', conf.log_file)
    elif conf.log_dir:
        # The file is named after the program, which is that of the web server.
        path = os.path.join(conf.log_dir, '')
    else:
        return ok('No file is configured: the log goes to standard error.')
    return _check_file(deployment, path, 'the log goes to standard error')


def check_sqlite_file(deployment: Deployment) -> CheckResult | None:
    """Check that the account may write the file of an SQLite database and its directory."""
    path = sqlite.path_in(deployment.conf.placement_database.connection)
    if path is None:
        return None
    if not os.path.exists(path):
        return failure(
            f'{path} does not exist.',
            f'Run "placement-manage db sync" as the user {deployment.account.pw_name}.',
        )
    return _check_file(deployment, path, 'every write is answered with 503', needs_directory=True)


def check_metrics(deployment: Deployment) -> CheckResult | None:
    """Check that the account may write the counts for Prometheus."""
    if not deployment.conf.metrics.enabled:
        return None
    directory = os.path.abspath(deployment.conf.metrics.directory)
    # The service creates missing directories below the nearest existing one.
    existing = directory
    while not os.path.exists(existing):
        existing = os.path.dirname(existing)
    name = deployment.account.pw_name
    if not (os.path.isdir(existing) and _may_write(deployment, existing)):
        return warning(
            f'The user {name} may not write {existing}: nothing is counted in {directory}.',
            _make(deployment, directory),
        )
    return ok(f'The user {name} may write {directory}.')


def _check_file(
    deployment: Deployment, path: str, effect: str, needs_directory: bool = False
) -> CheckResult:
    """Check that the account may write a file, or create it."""
    name = deployment.account.pw_name
    directory = os.path.abspath(os.path.dirname(path))
    paths = [path] if os.path.isfile(path) else [directory]
    if needs_directory:
        paths.append(directory)
    for required in paths:
        if not os.path.exists(required):
            return failure(
                f'The directory {required} does not exist.', _make(deployment, required)
            )
        if not _may_write(deployment, required):
            return failure(
                f'The user {name} may not write {required}: {effect}.',
                f'Run chown {name} {required}, and run commands as that user.',
            )
    return ok(f'The user {name} may write {path}.')


def _may_write(deployment: Deployment, path: str) -> bool:
    modes = (os.W_OK, os.X_OK) if os.path.isdir(path) else (os.W_OK,)
    return all(deployment.may(mode, path) for mode in modes)


def _make(deployment: Deployment, directory: str) -> str:
    name = deployment.account.pw_name
    return f'Run install -d -m 750 -o {name} -g {name} {directory}.'
