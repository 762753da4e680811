# SPDX-License-Identifier: Apache-2.0
"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from typing import TypeVar

#: Longer than anything takes, in seconds, so that a test which hangs fails.
TIMEOUT = 300

Found = TypeVar('Found')


def wait_until(
    find: Callable[[], Found], what: Callable[[], object] = str, seconds: float = TIMEOUT
) -> Found:
    """What is found as soon as it is true; fails with `what`, which says what there is instead."""
    deadline = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)
    return found
