# SPDX-License-Identifier: Apache-2.0
"""Python's collector of garbage, kept from looking where there is none.

It goes through all objects again whenever there are a quarter more of them. Where very many are
made to stay, that is most of the work.
"""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Time in which nothing looks for garbage, in no thread of the process."""
    # Threads that overlap here end each other's pause at worst: the first of them found the
    # collector enabled and enables it again.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
