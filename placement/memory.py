# SPDX-License-Identifier: Apache-2.0
"""Settings of the memory management of the interpreter and the C library that suit a service."""

import contextlib
import gc
from collections.abc import Iterator

# As large as anything that comes and goes with one request: the answer to a search of a large
# cloud takes some megabytes, as text and as bytes.
LARGE_BLOCK = 16 << 20


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Disable the garbage collector, in all threads of the process, for a block of code.

    Python goes through all objects again whenever there are a quarter more of them. Where very
    many are made to stay, that is most of the work.
    """
    # At worst one of two threads that overlap enables the collector too early for the other: the
    # first of them found it enabled and enables it again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def loading_a_service() -> Iterator[None]:
    """Load, in a block of code, what the process keeps until it ends.

    The collector is disabled meanwhile, and looks at nothing of it afterwards.
    """
    expect_large_blocks()
    with uncollected():
        yield
        # The collector need not look at what stays for good again and again, and processes that
        # are forked from this one go on sharing it. One object in a hundred is garbage, which is
        # not worth looking for either.
        gc.freeze()


def expect_large_blocks() -> None:
    """Let the C library keep the memory of a large answer for the next one.

    glibc returns every block to the system that is larger than any it has seen freed, and a fifth
    of the time for an answer of half a megabyte went into getting it again, page by page. This
    block is never written to, so it takes no memory.
    """
    bytes(LARGE_BLOCK)
