# SPDX-License-Identifier: Apache-2.0
"""One line on a terminal that says what a command waits for."""

from __future__ import annotations

import threading
from typing import Self, TextIO

ERASE_LINE = '\r\033[K'
#: How long nothing is shown, and how often the line is written again, in seconds.
DELAY = 1.0
INTERVAL = 0.5


class Progress:
    """A context manager that shows what is being done, once that takes longer than a second.

    Only a terminal shows it: nothing is ever written to a file or a pipe. The line is erased at
    the end, so that what the command prints stands alone.
    """

    def __init__(self, stream: TextIO, doing: str, delay: float = DELAY) -> None:
        self._stream = stream
        self._doing = doing
        self._delay = delay
        self._over = threading.Event()
        self._thread = (
            threading.Thread(target=self._show, daemon=True) if _watched(stream) else None
        )

    def tell(self, doing: str) -> None:
        """Say what is being done from now on."""
        self._doing = doing

    def __enter__(self) -> Self:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    def _show(self) -> None:
        if self._over.wait(self._delay):
            return
        self._write(f'{self._doing} ...')
        while not self._over.wait(INTERVAL):
            self._write(f'{self._doing} ...')
        self._write('')

    def _write(self, text: str) -> None:
        self._stream.write(f'{ERASE_LINE}{text}')
        self._stream.flush()


def _watched(stream: TextIO) -> bool:
    return stream.isatty()
