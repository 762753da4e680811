# SPDX-License-Identifier: Apache-2.0
"""Waiting for others to finish."""

from __future__ import annotations

import random
import time

# The first pause and the longest, in seconds.
FIRST_PAUSE = 0.004
LONGEST_PAUSE = 0.25


def pause(attempt: int) -> None:
    """Wait milliseconds, more after each attempt, never the same for two who wait."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt, 10))
    time.sleep(longest * random.uniform(0.5, 1.5))
