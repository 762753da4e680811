# SPDX-License-Identifier: Apache-2.0
"""The state of a promise: room for a number of consumers of one request."""

import enum

from placement_insight.search.closed_form import Count

# A promise is tight if the room exceeds the promised number by less than this part of it.
TIGHT_PART = 0.05


class PromiseState(enum.StrEnum):
    """The comparison of the room for consumers with the promised number."""

    KEPT = 'kept'
    # Kept, with little room beyond the promised number.
    TIGHT = 'tight'
    BROKEN = 'broken'
    # The promised number lies between the bounds of the count.
    UNKNOWN = 'unknown'


def state_of(room: Count, promised: int) -> PromiseState:
    """Return the state of a promise; `room` counts the consumers that could be claimed now."""
    if room.at_most < promised:
        return PromiseState.BROKEN
    if room.at_least < promised:
        return PromiseState.UNKNOWN
    slack = room.at_least - promised
    is_tight = slack < max(1, TIGHT_PART * promised)
    return PromiseState.TIGHT if is_tight else PromiseState.KEPT
