# SPDX-License-Identifier: Apache-2.0
"""A progress bar."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 24


class Progress:
    """The number of steps done, and the total; on a terminal one line that is overwritten."""

    def __init__(self, total: int, out: TextIO = sys.stderr) -> None:
        self._total = max(total, 1)
        self._done = 0
        self._out = out
        self._begin = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begin

    def say(self, activity: str) -> None:
        """Show the current activity."""
        line = f'{bar(self._done, self._total)} {self._elapsed()} {activity}'
        if self._out.isatty():
            self._out.write(f'\r\033[K{line[:100]}')
        else:
            self._out.write(f'{line}\n')
        self._out.flush()

    def advance(self, steps: int = 1) -> None:
        """Count steps as done."""
        self._done += steps

    def end(self) -> None:
        """Finish the line."""
        self.say('done')
        if self._out.isatty():
            self._out.write('\n')

    def _elapsed(self) -> str:
        minutes, seconds = divmod(int(self.seconds), 60)
        return f'{minutes:3}:{seconds:02}'


def bar(done: int, total: int) -> str:
    """The bar and the count."""
    filled = WIDTH * done // total
    return f'[{"#" * filled}{"." * (WIDTH - filled)}] {done:3}/{total}'
