# SPDX-License-Identifier: Apache-2.0
"""Memory, as the interpreter and the C library look after it, told what a service is like."""

import contextlib
import gc
from collections.abc import Iterator

# As large as anything that comes and goes with one request: the answer to a search of a large
# cloud takes some megabytes, as text and as bytes.
LARGE_BLOCK = 16 << 20


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Time in which nothing looks for garbage, in no thread of the process.

    Python goes through all objects again whenever there are a quarter more of them. Where very
    many are made to stay, that is most of the work.
    """
    # Threads that overlap here end each other's pause at worst: the first of them found the
    # collector enabled and enables it again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def expect_large_blocks() -> None:
    """Let the C library keep the memory of a large answer for the next one.

    That of GNU gives every block back to the system which is larger than any that it has seen
    freed, and a fifth of the time for an answer of half a megabyte went into getting it again,
    page by page. This block is never written to, so that it takes no memory.
    """
    bytes(LARGE_BLOCK)
