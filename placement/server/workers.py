# SPDX-License-Identifier: Apache-2.0
"""The threads that run the application, each one request at a time, first come first served."""

import collections
import threading
from collections.abc import Callable

Work = Callable[[], None]


class Workers:
    """A fixed number of threads and what waits for them.

    Each idle thread has a lock of its own to wake it. In a `queue.SimpleQueue` each thread that
    takes something wakes another one, which finds nothing: a fifth of the server's share of a
    small request.
    """

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        # None tells a thread to end.
        self._waiting: collections.deque[Work | None] = collections.deque()
        # The locks of idle threads, all of them taken; to release one wakes its thread.
        self._idle: list[threading.Lock] = []
        # A process that was told to stop does not wait for a thread that does not end.
        self._threads = [
            threading.Thread(target=self._run, name=f'worker-{number}', daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work) -> None:
        """Have this done by the next thread that is free; it must not raise."""
        self._put(work)

    def stop(self) -> None:
        """Let each thread end when it has done what was submitted before."""
        for _ in self._threads:
            self._put(None)

    def _put(self, work: Work | None) -> None:
        with self._lock:
            self._waiting.append(work)
            if self._idle:
                # Of the thread that was busy last, whose memory is still in the caches.
                self._idle.pop().release()

    def _run(self) -> None:
        wake = threading.Lock()
        wake.acquire()
        while (work := self._take(wake)) is not None:
            work()

    def _take(self, wake: threading.Lock) -> Work | None:
        """What has waited longest, or else what is put next."""
        while True:
            with self._lock:
                if self._waiting:
                    return self._waiting.popleft()
                self._idle.append(wake)
            # A thread that was busy meanwhile may take what this one is woken for.
            wake.acquire()
