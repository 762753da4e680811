# SPDX-License-Identifier: Apache-2.0
"""Progress is shown on a terminal, after a while, and nowhere else."""

import io
import time

import pytest

from osc_placement_insight import progress as progress_module
from osc_placement_insight.progress import Progress

#: Longer than a line takes to be written, so that a test which waits for it in vain fails.
TIMEOUT = 60


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        """People watch it."""
        return True

    def wait_for(self, text: str) -> None:
        """Return when the text has been written."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.getvalue():
            assert time.monotonic() < deadline, self.getvalue()
            time.sleep(0.01)


def test_a_terminal_shows_what_is_being_done_until_it_is_done() -> None:
    terminal = Terminal()
    with Progress(terminal, 'asking', delay=0) as progress:
        terminal.wait_for('asking ...')
        progress.tell('asking again')
        terminal.wait_for('asking again ...')

    # The line is erased in the end.
    assert terminal.getvalue().endswith('\r\x1b[K')


def test_who_is_waited_for_is_told_after_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, 'LONG', 0)
    terminal = Terminal()
    with Progress(terminal, 'asking', delay=0) as progress:
        terminal.wait_for('asking ...')
        progress.wait_for('http://placement.example')
        terminal.wait_for('asking, waiting for http://placement.example ...')

    monkeypatch.setattr(progress_module, 'LONG', TIMEOUT)
    terminal = Terminal()
    with Progress(terminal, 'asking', delay=0) as progress:
        progress.wait_for('http://placement.example')
        terminal.wait_for('asking ...')
        progress.tell('asking again')
        terminal.wait_for('asking again ...')
    assert 'placement.example' not in terminal.getvalue()


@pytest.mark.parametrize(('stream', 'delay'), [(Terminal(), TIMEOUT), (io.StringIO(), 0)])
def test_what_is_done_at_once_and_a_pipe_show_nothing(stream: io.StringIO, delay: float) -> None:
    with Progress(stream, 'asking', delay=delay) as progress:
        progress.tell('asking again')

    assert stream.getvalue() == ''
