# SPDX-License-Identifier: Apache-2.0
"""Progress is shown on a terminal, after a while, and nowhere else."""

import contextlib
import io
import os
import pty
import time

from osc_placement_insight.progress import Progress

#: Longer than a line takes to be written, so that a test which waits for it in vain fails.
TIMEOUT = 60


class Terminal:
    """A terminal to write to, and what stands in it."""

    def __init__(self) -> None:
        self._screen, terminal = pty.openpty()
        os.set_blocking(self._screen, False)
        self.stream = os.fdopen(terminal, 'w')
        self._written = b''

    def written(self) -> str:
        """All that has been written to it."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._screen, 4096):
                self._written += piece
        return self._written.decode()

    def wait_for(self, text: str) -> None:
        """Return when the text has been written."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.written():
            assert time.monotonic() < deadline, self._written
            time.sleep(0.01)

    def close(self) -> None:
        """Give both ends back."""
        self.stream.close()
        os.close(self._screen)


def test_a_terminal_shows_what_is_being_done_until_it_is_done() -> None:
    with contextlib.closing(Terminal()) as terminal:
        with Progress(terminal.stream, 'asking', delay=0) as progress:
            terminal.wait_for('asking ...')
            progress.tell('asking again')
            terminal.wait_for('asking again ...')
        # The line is erased in the end.
        assert terminal.written().endswith('\r\x1b[K')


def test_what_is_done_at_once_shows_nothing() -> None:
    with contextlib.closing(Terminal()) as terminal:
        with Progress(terminal.stream, 'asking', delay=TIMEOUT):
            pass
        assert terminal.written() == ''


def test_a_pipe_shows_nothing() -> None:
    stream = io.StringIO()
    with Progress(stream, 'asking', delay=0) as progress:
        progress.tell('asking again')

    assert stream.getvalue() == ''
