# SPDX-License-Identifier: Apache-2.0
"""The outcome of a command of `placement-manage`."""

from collections.abc import Callable
from typing import NamedTuple


class Outcome(NamedTuple):
    """The exit status of a command, and what it wrote to its two streams."""

    status: int
    printed: str
    complained: str


Run = Callable[..., Outcome]
