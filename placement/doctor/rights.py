# SPDX-License-Identifier: Apache-2.0
"""Checks of what the account of the service may do with files."""

from __future__ import annotations

import os

from placement.db.engine import diagnosis
from placement.doctor.deployment import Deployment
from placement.doctor.result import Result, failure, ok, warning


def check_home(deployment: Deployment) -> Result:
    """Look for the home directory of the account, where Apache starts its processes."""
    name = 'home directory'
    account = deployment.account
    if not os.path.isdir(account.home):
        return warning(
            name,
            f'{account.home}, the home of the user {account.name}, does not exist: with Apache '
            'mod_wsgi the service restarts for ever, and clients get 504.',
            f'Run install -d -m 750 -o {account.name} -g {account.name} {account.home}.',
        )
    return ok(name, f'{account.home} of the user {account.name} exists.')


def check_log(deployment: Deployment) -> Result:
    """Look whether the account may write the log."""
    name = 'log file'
    path = _log_path(deployment)
    if path is None:
        return ok(name, 'No file is configured: the log goes to standard error.')
    return _check_file(deployment, name, path, 'every request is answered with 500')


def _log_path(deployment: Deployment) -> str | None:
    """The path of the log; where only a directory is configured, that of a file in it."""
    conf = deployment.conf
    if conf.log_file:
        return os.path.join(conf.log_dir or '', conf.log_file)
    # The file is named after the program, which is the web server's.
    return os.path.join(conf.log_dir, '') if conf.log_dir else None


def check_sqlite_file(deployment: Deployment) -> Result | None:
    """Look whether the account may write the file of an SQLite database."""
    path = diagnosis.sqlite_path(deployment.conf.placement_database.connection)
    if path is None:
        return None
    name = 'database file'
    if not os.path.exists(path):
        return failure(
            name,
            f'{path} does not exist.',
            f'Run "placement-manage db sync" as the user {deployment.account.name}.',
        )
    return _check_file(deployment, name, path, 'every write is answered with 503', needs_log=True)


def check_metrics(deployment: Deployment) -> Result | None:
    """Look whether the account may write the counts for Prometheus."""
    options = deployment.conf.metrics
    if not options.enabled:
        return None
    name = 'metrics directory'
    account = deployment.account
    directory = os.path.abspath(options.directory)
    # The service makes what is missing, in the nearest directory above that is there.
    place = directory
    while not os.path.exists(place):
        place = os.path.dirname(place)
    is_usable = os.path.isdir(place) and all(
        account.may(mode, place) for mode in (os.W_OK, os.X_OK)
    )
    if not is_usable:
        return warning(
            name,
            f'The user {account.name} may not write {place}: nothing is counted in {directory}.',
            f'Run install -d -m 750 -o {account.name} -g {account.name} {directory}.',
        )
    return ok(name, f'The user {account.name} may write {directory}.')


def _check_file(
    deployment: Deployment, name: str, path: str, effect: str, needs_log: bool = False
) -> Result:
    """Whether the account may write a file, or make it; `needs_log` wants files beside it."""
    account = deployment.account
    directory = os.path.abspath(os.path.dirname(path))
    places = [path] if os.path.isfile(path) else [directory]
    if needs_log and directory not in places:
        places.append(directory)
    for place in places:
        if not os.path.exists(place):
            return failure(
                name,
                f'The directory {place} does not exist.',
                f'Run install -d -m 750 -o {account.name} -g {account.name} {place}.',
            )
        modes = (os.W_OK, os.X_OK) if os.path.isdir(place) else (os.W_OK,)
        if not all(account.may(mode, place) for mode in modes):
            return failure(
                name,
                f'The user {account.name} may not write {place}: {effect}.',
                f'Run chown {account.name} {place}, and run commands as that user.',
            )
    return ok(name, f'The user {account.name} may write {path}.')
