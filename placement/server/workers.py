# SPDX-License-Identifier: Apache-2.0
"""The threads that run the application, each one request at a time, first come first served."""

import queue
import threading
from collections.abc import Callable

Work = Callable[[], None]


class Workers:
    """A fixed number of threads and what waits for them."""

    def __init__(self, count: int) -> None:
        self._queue: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        # A process that was told to stop does not wait for a thread that does not end.
        self._threads = [
            threading.Thread(target=self._run, name=f'worker-{number}', daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work) -> None:
        """Have this done by the next thread that is free; it must not raise."""
        self._queue.put(work)

    def stop(self) -> None:
        """Let each thread end when it has done what was submitted before."""
        for _ in self._threads:
            self._queue.put(None)

    def _run(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
