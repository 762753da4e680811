# SPDX-License-Identifier: Apache-2.0
"""How many connections the operating system allows the process."""

import resource

# For the database, the log, modules that are still to be imported, and the event loop.
_RESERVED = 256


def available_connections(wanted: int) -> int:
    """As many connections as wanted, or as there can be when the limit is as high as allowed.

    Raises the process's own limit of open files where that is needed; at least 10.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _RESERVED
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY:
            needed = min(needed, hard)
        soft = max(soft, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(10, min(wanted, soft - _RESERVED))
    return wanted
