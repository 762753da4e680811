# SPDX-License-Identifier: Apache-2.0
"""The command `placement-manage doctor`: its arguments, and what it prints."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from typing import Any

from placement.conf import ConfigOpts
from placement.doctor import account, examination, identity, report
from placement.doctor.deployment import Deployment
from placement.doctor.result import Result, failure

NAME = 'doctor'

FORMATS = ('text', 'json')


def add_parser(subparsers: Any) -> None:
    """Add the parser of the command."""
    words = 'Say what is wrong with this deployment, and what to do about it.'
    parser = subparsers.add_parser(NAME, help=words, description=words)
    parser.set_defaults(action=run)
    parser.add_argument(
        '--format', choices=FORMATS, default=FORMATS[0], help='How to print the results.'
    )
    parser.add_argument(
        '--user',
        metavar='NAME',
        help='The user that the service runs as: by default the one that runs this command, and '
        f'{account.DEFAULT_NAME} for root.',
    )


def run(conf: ConfigOpts) -> int:
    """Examine the deployment that is configured; the exit status.

    Nothing is logged: to open the log as root would be a mistake of the kind that is looked for.
    """
    as_json = conf.command.format == 'json'
    try:
        found = account.find(conf.command.user)
    except account.UnknownAccount as reason:
        return refuse(str(reason), 'Give --user an existing user, or run the command as root.')
    identity.register_options(conf)
    deployment = Deployment(conf, found, os.environ)
    try:
        with _without_log():
            results = examination.examine(deployment)
            return _print_json(list(results)) if as_json else _print_text(results)
    except BrokenPipeError:
        # The reader has seen enough, as `head` does. Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return report.UNHEALTHY
    except KeyboardInterrupt:
        return report.NOT_EXAMINED


def _print_json(results: list[Result]) -> int:
    print(report.as_json(results), flush=True)
    return report.exit_status(results)


def _print_text(results: Iterator[Result]) -> int:
    seen: list[Result] = []
    for result in results:
        seen.append(result)
        # Each as soon as it is known: a check may take seconds.
        print(report.as_text(result), flush=True)
    print(report.summary(seen), flush=True)
    return report.exit_status(seen)


def refuse(reason: str, remedy: str) -> int:
    """Say on standard error why nothing can be examined; the exit status."""
    print(report.as_text(failure(NAME, reason, remedy)), file=sys.stderr)
    return report.NOT_EXAMINED


def refuse_configuration(error: Exception) -> int:
    """Say why the configuration cannot be read; the exit status."""
    reason = ' '.join(str(error).split())
    return refuse(f'The configuration cannot be read. {reason}', 'Correct it, or its permissions.')


@contextlib.contextmanager
def _without_log() -> Iterator[None]:
    """Keep what libraries log from standard error, where Python would print it."""
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
