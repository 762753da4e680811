# SPDX-License-Identifier: Apache-2.0
"""Checks of the configuration: where it comes from, and whether it can be understood."""

from __future__ import annotations

import os

from placement import conf as placement_conf
from placement.conf import files
from placement.doctor import identity
from placement.doctor.deployment import Deployment
from placement.doctor.result import Result, failure, ok, warning


def check_files(deployment: Deployment) -> Result:
    """Name the files and variables that were read; the service has to read the same ones."""
    name = 'configuration files'
    found = files.files_read(deployment.conf)
    variables = files.variables_read(deployment.conf, deployment.environ)
    read = ', '.join([*found, *variables]) or 'nothing'
    if not found and not variables:
        return failure(
            name,
            'No file was found, and no environment variable sets an option.',
            'Name the file with --config-file, or put it at /etc/placement/placement.conf.',
        )
    elsewhere = placement_conf.files_of_web_application(deployment.environ)
    if elsewhere is not None and elsewhere != found:
        return warning(
            name,
            f'The commands read {read}; the web application reads {elsewhere[0]}, because '
            'OS_PLACEMENT_CONFIG_DIR is set.',
            f'Give the commands --config-file {elsewhere[0]}.',
        )
    return _check_rights(deployment, name, found) or ok(name, f'Read: {read}.')


def _check_rights(deployment: Deployment, name: str, paths: list[str]) -> Result | None:
    account = deployment.account
    closed = [path for path in paths if not account.may(os.R_OK, path)]
    if not closed:
        return None
    return failure(
        name,
        f'The user {account.name} may not read {", ".join(closed)}.',
        f'Let the group of {account.name} read it: chgrp {account.name} and chmod 640.',
    )


def check_values(deployment: Deployment) -> Result:
    """Look at every value once."""
    name = 'configuration values'
    wrong = [
        f'[{one.group}] {one.name}: {one.reason}' for one in files.wrong_values(deployment.conf)
    ]
    if wrong:
        return failure(name, ' '.join(wrong), 'Correct it; the service does not start with it.')
    if not deployment.conf.placement_database.connection:
        return failure(
            name,
            '[placement_database] connection is not set.',
            'Set it to the URL of the database, such as mysql+pymysql://USER:PASSWORD@HOST/placement.',
        )
    return ok(name, 'Every option has a value of its type.')


def check_names(deployment: Deployment) -> Result:
    """Look for options that are written wrong, which the service would ignore."""
    name = 'option names'
    wrong = [
        f'[{group}] (did you mean [{similar}]?)'
        for group, similar in files.unknown_groups(deployment.conf)
    ]
    for one in files.unknown_options(deployment.conf, identity.library_options()):
        meant = f' (did you mean {one.similar}?)' if one.similar else ''
        wrong.append(f'[{one.group}] {one.name}{meant}')
    if wrong:
        return warning(
            name,
            f'Unknown, and without effect: {", ".join(wrong)}.',
            'Correct the name, or remove the line.',
        )
    return ok(name, 'The files have no option that looks like a mistake in typing.')


def check_pool(deployment: Deployment) -> Result | None:
    """Compare the pool of connections with the threads that share it."""
    group = deployment.conf.placement_database
    if group.max_pool_size is None or group.max_overflow is None or group.max_pool_size <= 0:
        return None
    most = group.max_pool_size + max(0, group.max_overflow)
    name = 'connection pool'
    if group.max_overflow >= 0 and most < MIN_CONNECTIONS:
        return warning(
            name,
            f'A process has at most {most} connections, and threads wait for each other.',
            'Raise [placement_database] max_pool_size to the number of threads of a process.',
        )
    return ok(name, f'A process has at most {most} connections.')


# The number of threads that the guide recommends for a process.
MIN_CONNECTIONS = 4
