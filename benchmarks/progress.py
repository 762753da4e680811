# SPDX-License-Identifier: Apache-2.0
"""A bar that says how far the benchmark is and what it is busy with."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 24


class Progress:
    """Steps done of steps to do; on a terminal one line that is written over."""

    def __init__(self, total: int, out: TextIO = sys.stderr) -> None:
        self._total = max(total, 1)
        self._done = 0
        self._out = out
        self._begin = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._begin

    def say(self, what: str) -> None:
        """Show what happens now."""
        line = f'{bar(self._done, self._total)} {self._elapsed()} {what}'
        if self._out.isatty():
            self._out.write(f'\r\033[K{line[:100]}')
        else:
            self._out.write(f'{line}\n')
        self._out.flush()

    def advance(self, steps: int = 1) -> None:
        """Count what is done."""
        self._done += steps

    def end(self) -> None:
        """Leave the line."""
        self.say('done')
        if self._out.isatty():
            self._out.write('\n')

    def _elapsed(self) -> str:
        minutes, seconds = divmod(int(self.seconds), 60)
        return f'{minutes:3}:{seconds:02}'


def bar(done: int, total: int) -> str:
    """The bar itself and the count."""
    filled = WIDTH * done // total
    return f'[{"#" * filled}{"." * (WIDTH - filled)}] {done:3}/{total}'
