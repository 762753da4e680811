# SPDX-License-Identifier: Apache-2.0
"""The signals that end a command: SIGINT, as Ctrl-C sends it, and SIGTERM, as a manager does."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM)


def interrupt() -> None:
    """Let each of them raise `KeyboardInterrupt` in the main thread, whatever is being done."""
    for number in ENDING:
        signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
