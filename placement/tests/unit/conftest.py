# SPDX-License-Identifier: Apache-2.0
"""State that every unit test leaves as it found it."""

import logging
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def logging_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """To start logging changes the whole process: undo what a test has done of it."""
    monkeypatch.setattr(sys, 'excepthook', sys.excepthook)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
