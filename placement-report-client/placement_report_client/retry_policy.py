# SPDX-License-Identifier: Apache-2.0
"""The retry policy: number of attempts, delays, and deadline."""

import dataclasses
import random
import time

from placement_report_client import errors


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """The limits of retries and timeouts; times are in seconds."""

    #: The maximum number of attempts, the first included.
    attempts: int = 6
    #: The maximum delay before the second attempt; it doubles with each attempt.
    first_delay: float = 0.1
    #: No delay is longer than this, unless Retry-After demands it.
    max_delay: float = 5.0
    #: The timeout of one HTTP request: to connect, and between two parts of the answer.
    request_timeout: float = 30.0
    #: The timeout of one call of the client, with all its requests and delays.
    call_timeout: float = 120.0

    def delay(self, attempt: int) -> float:
        """A random delay after this attempt, counted from 0.

        It is uniform between 0 and the limit ("full jitter"), so that clients which failed at the
        same time do not retry at the same time.
        """
        return random.uniform(0, min(self.max_delay, self.first_delay * 2**attempt))


class Deadline:
    """The moment at which a call has to end."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """The seconds until the deadline, more than 0.

        :raises errors.OutOfTime: it has passed
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise errors.OutOfTime('the deadline of this call has passed')
        return left

    def allows(self, seconds: float) -> bool:
        """Return True if more than this many seconds are left."""
        return self._end - time.monotonic() > seconds
