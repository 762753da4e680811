# SPDX-License-Identifier: Apache-2.0
"""How long to wait, and how often to try."""

import dataclasses
import random
import time
from collections.abc import Callable

from placement.client import errors


@dataclasses.dataclass(frozen=True)
class RetryPolicy:
    """The limits of a client, in seconds."""

    #: How often something is tried in all.
    attempts: int = 6
    #: The longest wait before the second try; it doubles from try to try.
    first_delay: float = 0.1
    #: No wait is longer than this, unless the service asks for it.
    longest_delay: float = 5.0
    #: One request of HTTP: to connect, and between two pieces of the answer.
    request_timeout: float = 30.0
    #: One call of a method of the client, with all its requests and waits.
    call_timeout: float = 120.0

    def delay(self, attempt: int) -> float:
        """A random wait after this attempt, of which the first is 0.

        Any length up to the limit is as likely as another ("full jitter"): clients that failed
        together do not come back together.
        """
        return random.uniform(0, min(self.longest_delay, self.first_delay * 2**attempt))


class Deadline:
    """A moment by which a call has to be over."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds that are left, more than none.

        :raises errors.OutOfTime: none is
        """
        left = self._end - self._clock()
        if left <= 0:
            raise errors.OutOfTime('the time given to this call is over')
        return left

    def allows(self, seconds: float) -> bool:
        """Whether there is more time left than this."""
        return self._end - self._clock() > seconds
