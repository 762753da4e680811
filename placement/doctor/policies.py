# SPDX-License-Identifier: Apache-2.0
"""Checks of the policy files."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator

from placement import policies, policy
from placement.doctor.deployment import Deployment
from placement.doctor.result import Result, failure, ok, warning
from placement.policies import files

_LIBRARY = 'oslo_policy'
_REMEDY = 'Correct it; "oslopolicy-validator --namespace placement" names every mistake.'


def check_files(deployment: Deployment) -> Result:
    """Read the policy files as the service does."""
    name = 'policy files'
    paths = sorted(path for path, *_ in files.find_files(files.find_places(deployment.conf)))
    account = deployment.account
    closed = [path for path in paths if not account.may(os.R_OK, path)]
    if closed:
        return failure(
            name,
            f'The user {account.name} may not read {", ".join(closed)}.',
            f'Let the group of {account.name} read it: chgrp {account.name} and chmod 640.',
        )
    try:
        with _warnings() as warnings:
            rules = policy.load_rules(deployment.conf)
    except Exception as error:
        # The library raises what it and YAML think of, and the service would not start.
        return failure(name, f'{", ".join(paths)}: {" ".join(str(error).split())}', _REMEDY)
    known = {rule.name for rule in policies.list_rules()}
    unknown = sorted(
        rule for rule in rules.file_rules if rule.startswith('placement:') and rule not in known
    )
    warnings.extend(f'the rule {rule} does not exist' for rule in unknown)
    if warnings:
        return warning(name, f'{", ".join(paths)}: {"; ".join(warnings)}.', _REMEDY)
    words = f'Read: {", ".join(paths)}' if paths else 'There are none; the defaults are in force'
    return ok(name, f'{words}.')


class _Collector(logging.Handler):
    """Keeps the messages of warnings and errors."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one message."""
        self.messages.append(record.getMessage().rstrip('.'))


@contextlib.contextmanager
def _warnings() -> Iterator[list[str]]:
    """What oslo.policy warns of meanwhile: rules that it does not understand allow nothing."""
    logger, collector = logging.getLogger(_LIBRARY), _Collector()
    logger.addHandler(collector)
    try:
        yield collector.messages
    finally:
        logger.removeHandler(collector)
