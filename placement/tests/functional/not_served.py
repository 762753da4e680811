# SPDX-License-Identifier: Apache-2.0
"""Routes that the service does not serve yet: there are none."""

#: Requests to this path are excused while the service answers them with 404; no other is.
NOT_SERVED_YET: str | None = None


def is_excused(path: str, status: int) -> bool:
    """Whether a difference in the answer to a request is due to a missing route."""
    return NOT_SERVED_YET is not None and path.split('?')[0] == NOT_SERVED_YET and status == 404
