# SPDX-License-Identifier: Apache-2.0
"""Waiting for others to finish."""

from __future__ import annotations

import random
import time

# The first pause and the longest, in seconds.
FIRST_DELAY = 0.004
MAX_DELAY = 0.25


def pause(attempt: int) -> None:
    """Wait milliseconds, more after each attempt, never the same for two who wait."""
    longest = min(MAX_DELAY, FIRST_DELAY * 2 ** min(attempt, 10))
    time.sleep(longest * random.uniform(0.5, 1.5))
