# SPDX-License-Identifier: Apache-2.0
"""Exponential backoff with jitter, between two attempts at a transaction."""

import random
import time

# The mean of the first delay and the largest mean, in seconds.
FIRST_DELAY = 0.004
MAX_DELAY = 0.25


def sleep(attempt: int) -> None:
    """Sleep after a failed attempt, numbered from 0.

    The mean doubles with each attempt, from `FIRST_DELAY` to `MAX_DELAY`. Jitter of half the mean
    in either direction keeps transactions from conflicting again.
    """
    mean = min(MAX_DELAY, FIRST_DELAY * 2 ** min(attempt, 10))
    time.sleep(mean * random.uniform(0.5, 1.5))
