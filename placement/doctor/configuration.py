# SPDX-License-Identifier: Apache-2.0
"""Checks of the configuration and of the policy files."""

import logging
import logging.handlers
import sys

from placement import conf as placement_conf
from placement import policies
from placement.conf import files
from placement.doctor import identity, rights
from placement.doctor.check import CheckResult, Deployment, failure, ok, warning
from placement.policies.enforcer import find_files, list_places, load_rules

# The number of threads that the guide recommends for a process.
MIN_CONNECTIONS = 4


def check_files(deployment: Deployment) -> CheckResult:
    """List the files and variables that were read; the service must read the same ones."""
    paths = files.files_read(deployment.conf)
    variables = files.variables_read(deployment.conf, deployment.environ)
    read = ', '.join([*paths, *variables])
    if not read:
        return failure(
            'No file was found, and no environment variable sets an option.',
            'Name the file with --config-file, or put it at /etc/placement/placement.conf.',
        )
    elsewhere = placement_conf.files_of_web_application(deployment.environ)
    if elsewhere is not None and elsewhere != paths:
        return warning(
            f'The commands read {read}; the web application reads {elsewhere[0]}, because '
            'OS_PLACEMENT_CONFIG_DIR is set.',
            f'Give the commands --config-file {elsewhere[0]}.',
        )
    return rights.unreadable(deployment, paths) or ok(f'Read: {read}.')


def check_values(deployment: Deployment) -> CheckResult:
    """Check the value of every option."""
    wrong = list(files.wrong_values(deployment.conf))
    if wrong:
        return failure(' '.join(wrong), 'Correct it; the service does not start with it.')
    if not deployment.conf.placement_database.connection:
        return failure(
            '[placement_database] connection is not set.',
            'Set it to the URL of the database, such as mysql+pymysql://USER:PASSWORD@HOST/placement.',
        )
    return ok('Every option has a value of its type.')


def check_names(deployment: Deployment) -> CheckResult:
    """Look for misspelled options, which the service ignores."""
    wrong = files.mistakes(deployment.conf, identity.library_options())
    if wrong:
        return warning(
            f'Unknown, and without effect: {", ".join(wrong)}.',
            'Correct the name, or remove the line.',
        )
    return ok('The files have no option that looks like a mistake in typing.')


def check_pool(deployment: Deployment) -> CheckResult | None:
    """Compare the pool of connections with the threads that share it."""
    group = deployment.conf.placement_database
    if group.max_pool_size is None or group.max_overflow is None or group.max_pool_size <= 0:
        return None
    limit = group.max_pool_size + max(0, group.max_overflow)
    if group.max_overflow >= 0 and limit < MIN_CONNECTIONS:
        return warning(
            f'A process has at most {limit} connections, and threads wait for each other.',
            'Raise [placement_database] max_pool_size to the number of threads of a process.',
        )
    return ok(f'A process has at most {limit} connections.')


_REMEDY = 'Correct it; "oslopolicy-validator --namespace placement" names every mistake.'


def check_policies(deployment: Deployment) -> CheckResult:
    """Read the policy files as the service does."""
    paths = sorted(path for path, *_ in find_files(list_places(deployment.conf)))
    unreadable = rights.unreadable(deployment, paths)
    if unreadable:
        return unreadable
    # Invalid rules allow nothing, and oslo.policy only logs a warning.
    logger = logging.getLogger('oslo_policy')
    collector = logging.handlers.BufferingHandler(sys.maxsize)
    collector.setLevel(logging.WARNING)
    logger.addHandler(collector)
    try:
        rules = load_rules(deployment.conf)
    except Exception as error:
        # The library raises errors of many kinds, and the service would not start.
        return failure(f'{", ".join(paths)}: {" ".join(str(error).split())}', _REMEDY)
    finally:
        logger.removeHandler(collector)
    known = {rule.name for rule in policies.list_rules()}
    unknown = sorted(
        rule for rule in rules.file_rules if rule.startswith('placement:') and rule not in known
    )
    warnings = [record.getMessage().rstrip('.') for record in collector.buffer]
    warnings += [f'the rule {rule} does not exist' for rule in unknown]
    if warnings:
        return warning(f'{", ".join(paths)}: {"; ".join(warnings)}.', _REMEDY)
    return ok(
        f'Read: {", ".join(paths)}.' if paths else 'There are none; the defaults are in force.'
    )
