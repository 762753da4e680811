# SPDX-License-Identifier: Apache-2.0
"""What was found, as text for people and as JSON for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence

from placement.doctor.result import Result, Status

#: The exit statuses of the command.
HEALTHY, UNHEALTHY, NOT_EXAMINED = 0, 1, 2


def exit_status(results: Iterable[Result]) -> int:
    """0 unless something failed; warnings do not count."""
    failed = any(result.status is Status.FAILURE for result in results)
    return UNHEALTHY if failed else HEALTHY


def as_text(result: Result) -> str:
    """One line for what was found, and one for the remedy."""
    line = f'{result.status.upper():<8} {result.name}: {result.found}'
    return f'{line}\n{"":<8} -> {result.remedy}' if result.remedy else line


def summary(results: Sequence[Result]) -> str:
    """How many results there are of each status."""
    counts = dict.fromkeys(Status, 0)
    for result in results:
        counts[result.status] += 1
    return (
        f'{counts[Status.FAILURE]} failed, {counts[Status.WARNING]} with a warning, '
        f'{counts[Status.OK]} passed.'
    )


def as_json(results: Sequence[Result]) -> str:
    """An object with the worst status, and every result."""
    worst = max((result.status for result in results), key=list(Status).index, default=Status.OK)
    checks = [dataclasses.asdict(result) for result in results]
    return json.dumps({'status': worst, 'checks': checks}, indent=2)
