# SPDX-License-Identifier: Apache-2.0
"""One line on a terminal that says what a command waits for."""

from __future__ import annotations

import threading
from typing import Self, TextIO

ERASE_LINE = '\r\033[K'
#: Seconds until the line is first shown, and between two updates.
DELAY = 1.0
INTERVAL = 0.5
#: How much longer it takes until it is said who is waited for.
LONG = 4.0


class Progress:
    """A context manager that shows what is being done, once that takes longer than a second.

    Only a terminal shows it: nothing is ever written to a file or a pipe. The line is erased at
    the end, so that what the command prints stands alone.
    """

    def __init__(self, stream: TextIO, doing: str, delay: float = DELAY) -> None:
        self._stream = stream
        self._doing = doing
        self._awaited = ''
        self._delay = delay
        self._over = threading.Event()
        self._thread = (
            threading.Thread(target=self._show, daemon=True) if _watched(stream) else None
        )

    def tell(self, doing: str) -> None:
        """Say what is being done from now on."""
        self._doing = doing

    def wait_for(self, whom: str) -> None:
        """Say who is asked, which is shown when it does not answer for some seconds."""
        self._awaited = whom

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
        self._write(self._line(self._delay))
        waited = self._delay
        while not self._over.wait(INTERVAL):
            waited += INTERVAL
            self._write(self._line(waited))
        self._write('')

    def _line(self, waited: float) -> str:
        is_long = self._awaited and waited >= self._delay + LONG
        return (
            f'{self._doing}, waiting for {self._awaited} ...' if is_long else f'{self._doing} ...'
        )

    def _write(self, text: str) -> None:
        self._stream.write(f'{ERASE_LINE}{text}')
        self._stream.flush()


def _watched(stream: TextIO) -> bool:
    return stream.isatty()
