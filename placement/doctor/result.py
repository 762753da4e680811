# SPDX-License-Identifier: Apache-2.0
"""What a check found."""

from __future__ import annotations

import dataclasses
import enum


class Status(enum.StrEnum):
    """How good a finding is, the best first."""

    OK = 'ok'
    WARNING = 'warning'
    FAILURE = 'failure'


@dataclasses.dataclass(frozen=True)
class Result:
    """What a check found, in one line, and what to do about it unless all is well."""

    name: str
    status: Status
    found: str
    remedy: str | None = None


def ok(name: str, found: str) -> Result:
    """A result that asks for nothing."""
    return Result(name, Status.OK, found)


def warning(name: str, found: str, remedy: str) -> Result:
    """A result that somebody should know of: the service works, but not as well as it could."""
    return Result(name, Status.WARNING, found, remedy)


def failure(name: str, found: str, remedy: str) -> Result:
    """A result that keeps the service from working, or some requests from succeeding."""
    return Result(name, Status.FAILURE, found, remedy)
