# SPDX-License-Identifier: Apache-2.0
"""The command `placement-manage doctor`: its checks, their timeout, its output."""

import argparse
import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple

from oslo_upgradecheck.upgradecheck import Code

from placement.conf import ConfigOpts
from placement.context import printable
from placement.doctor import configuration, database, durability, identity, modules, rights, rows
from placement.doctor.check import (
    DEFAULT_NAME,
    Check,
    CheckResult,
    Deployment,
    UnknownAccount,
    failure,
    find_account,
)

#: Timeout of a check in seconds. Checks of servers give up after 5.
TIMEOUT = 20.0


class ListedCheck(NamedTuple):
    """A check, its name, and the name of a check that must have succeeded before it."""

    name: str
    check: Check
    needs: str | None = None


CHECKS = (
    ListedCheck('installed distribution', modules.check_distributions),
    ListedCheck('configuration files', configuration.check_files),
    ListedCheck('option names', configuration.check_names),
    ListedCheck('home directory', rights.check_home),
    ListedCheck('log file', rights.check_log),
    ListedCheck('metrics directory', rights.check_metrics),
    ListedCheck('policy files', configuration.check_policies),
    ListedCheck('configuration values', configuration.check_values),
    ListedCheck('database driver', modules.check_driver, 'configuration values'),
    ListedCheck('database file', rights.check_sqlite_file, 'database driver'),
    ListedCheck('database', database.check_connection, 'database file'),
    ListedCheck('database schema', database.check_schema, 'database'),
    ListedCheck('database rows', rows.check_rows, 'database schema'),
    ListedCheck('database writes', database.check_writes, 'database schema'),
    ListedCheck('database durability', durability.check_durability, 'database'),
    ListedCheck('database clock', database.check_clock, 'database writes'),
    ListedCheck('simultaneous schedulers', database.check_randomization, 'database clock'),
    ListedCheck('replica', database.check_replica, 'database driver'),
    ListedCheck('connection pool', configuration.check_pool, 'configuration values'),
    ListedCheck('authentication', identity.check_strategy),
)

#: Only if Keystone authenticates the callers.
KEYSTONE_CHECKS = (
    ListedCheck('keystonemiddleware', modules.check_keystone_middleware),
    ListedCheck('identity service', identity.check_url, 'keystonemiddleware'),
    ListedCheck('credentials', identity.check_credentials, 'identity service'),
    ListedCheck('identity service for callers', identity.check_public_url, 'keystonemiddleware'),
    ListedCheck('memcached client', modules.check_memcached_client, 'keystonemiddleware'),
    ListedCheck('memcached', identity.check_memcached, 'memcached client'),
)


def examine(deployment: Deployment) -> Iterator[tuple[str, CheckResult]]:
    """Yield the name and the result of each check that applies, one after the other."""
    uses_keystone = deployment.conf.api.auth_strategy == 'keystone'
    failed = set()
    for name, check, needs in CHECKS + (KEYSTONE_CHECKS if uses_keystone else ()):
        result = None if needs in failed else run_check(check, deployment)
        if needs in failed or (result is not None and result.code is Code.FAILURE):
            failed.add(name)
        if result is not None:
            yield name, result


def run_check(check: Check, deployment: Deployment) -> CheckResult | None:
    """Return the result of a check; a failure if it raises an error or times out."""
    outcome: list[CheckResult | None] = []

    def work() -> None:
        try:
            outcome.append(check(deployment))
        except Exception as error:
            words = ' '.join(str(error).split())
            outcome.append(
                failure(
                    f'The check failed with {type(error).__name__}: {words}',
                    'See to the checks above first; if there is nothing, report it as a defect.',
                )
            )

    # Python does not wait for a daemon thread at exit.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    if not outcome:
        return failure(
            f'The check did not end within {TIMEOUT:g} s.',
            'Look for a server or a file system that does not answer.',
        )
    return outcome[0]


NAME = 'doctor'

FORMATS = ('text', 'json')

#: The exit statuses of the command.
HEALTHY, UNHEALTHY, NOT_EXAMINED = 0, 1, 2

STATUSES = {Code.SUCCESS: 'ok', Code.WARNING: 'warning', Code.FAILURE: 'failure'}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        '--format', choices=FORMATS, default=FORMATS[0], help='How to print the results.'
    )
    parser.add_argument(
        '--user',
        metavar='NAME',
        help='The user that the service runs as: by default the one that runs this command, and '
        f'{DEFAULT_NAME} for root.',
    )


def run(conf: ConfigOpts) -> int:
    """Examine the configured deployment; return the exit status.

    Nothing is logged: root would become the owner of the log, which the checks look for.
    """
    try:
        user = find_account(conf.command.user)
    except UnknownAccount as reason:
        return refuse(str(reason), 'Give --user an existing user, or run the command as root.')
    identity.register_options(conf)
    deployment = Deployment(conf, user, os.environ)
    # Without a handler, Python would print warnings of libraries on standard error.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        return _print(examine(deployment), conf.command.format)
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNHEALTHY
    except KeyboardInterrupt:
        return NOT_EXAMINED


def _print(results: Iterator[tuple[str, CheckResult]], output_format: str) -> int:
    """Print text, line by line because a check may take seconds, or one object of JSON."""
    seen: list[tuple[str, CheckResult]] = []
    for name, result in results:
        seen.append((name, result))
        if output_format == 'text':
            print(_as_text(name, result), flush=True)
    codes = [result.code for _name, result in seen]
    worst = max(codes, default=Code.SUCCESS)
    if output_format == 'text':
        print(
            f'{codes.count(Code.FAILURE)} failed, {codes.count(Code.WARNING)} with a warning, '
            f'{codes.count(Code.SUCCESS)} passed.',
            flush=True,
        )
    else:
        checks = [
            {
                'name': name,
                'status': STATUSES[result.code],
                'found': result.finding,
                'remedy': result.remedy,
            }
            for name, result in seen
        ]
        print(json.dumps({'status': STATUSES[worst], 'checks': checks}, indent=2), flush=True)
    return UNHEALTHY if worst is Code.FAILURE else HEALTHY


def _as_text(name: str, result: CheckResult) -> str:
    line = f'{STATUSES[result.code].upper():<8} {name}: {printable(result.finding)}'
    return f'{line}\n{"":<8} -> {printable(result.remedy)}' if result.remedy else line


def refuse(reason: str, remedy: str) -> int:
    """Print the reason why nothing can be examined on standard error; return the exit status."""
    print(_as_text(NAME, failure(reason, remedy)), file=sys.stderr)
    return NOT_EXAMINED


def refuse_configuration(error: Exception) -> int:
    """Print the reason why the configuration cannot be read; return the exit status."""
    reason = ' '.join(str(error).split())
    return refuse(f'The configuration cannot be read. {reason}', 'Correct it, or its permissions.')
