# SPDX-License-Identifier: Apache-2.0
"""Repairs that are killed at any point."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

from osc_placement_insight.audit.finding import Finding
from osc_placement_insight.audit.journal import Journal
from osc_placement_insight.audit.repair import MICROVERSION, Repairer, Result
from osc_placement_insight.service import Service
from osc_placement_insight.tests.audit.clouds import Cloud

REPORT_ID = 'a-report'


class Killed(BaseException):
    """The process of a repair ends here."""


def repair(cloud: Cloud, findings: Sequence[Finding], journal: pathlib.Path) -> list[Result]:
    """Repair the findings, and return the result of each."""
    writer = Service(cloud.client, MICROVERSION)
    with Journal(journal, REPORT_ID) as opened:
        return list(Repairer(writer, cloud.compute, opened).repair(findings))


def is_killed_after(
    events: int, cloud: Cloud, findings: Sequence[Finding], journal: pathlib.Path
) -> bool:
    """Repair until so many lines were written and requests sent; whether that was an early end."""
    try:
        with _killing_after(events):
            repair(cloud, findings, journal)
    except Killed:
        return True
    return False


@contextlib.contextmanager
def _killing_after(events: int) -> Iterator[None]:
    left = events

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            answer = method(*args, **kwargs)
            left -= 1
            return answer

        return call

    with (
        mock.patch.object(Journal, 'write', counted(Journal.write)),
        mock.patch.object(Service, 'send', counted(Service.send)),
    ):
        yield
