# SPDX-License-Identifier: Apache-2.0
"""Why a transaction can fail without a defect of this service."""

import enum


class Cause(enum.Enum):
    """The causes, by what can be done about them.

    No database keeps anything of a transaction that failed, except when the reply to its COMMIT
    is what got lost.
    """

    # Another transaction was faster, or this one was rolled back in its favour: begin it again.
    CONFLICT = 'conflict'
    # The connection is of no use any more: begin the transaction again on another one.
    LOST_CONNECTION = 'lost connection'
    # The server starts, stops, is read-only, is cut off from its cluster, or has no free slot:
    # begin again on another connection, which may lead to another server.
    NOT_READY = 'not ready'
    # A lock or a statement took as long as it may: trying again would take as long.
    TIMEOUT = 'timeout'
    # The pool had no free connection for as long as `pool_timeout` says.
    NO_FREE_CONNECTION = 'no free connection'
    # Disk, memory, or a size that the operator configured is used up.
    FULL = 'full'
    # A file is corrupt or cannot be read or written.
    DAMAGED = 'damaged'
    # The database does not let the service in, or does not let it write.
    REFUSED = 'refused'
    # A table or column is missing.
    SCHEMA = 'schema'
    # The client sent a value that the database cannot store or process.
    VALUE = 'value'


# What a transaction is begun again after.
RETRIED = frozenset({Cause.CONFLICT, Cause.LOST_CONNECTION, Cause.NOT_READY})

# What does not pass by itself: an operator has to act.
LASTING = frozenset({Cause.FULL, Cause.DAMAGED, Cause.REFUSED})

# What keeps every transaction from succeeding, now or until an operator acts.
UNUSABLE = LASTING | {Cause.LOST_CONNECTION, Cause.NOT_READY, Cause.TIMEOUT}

# What a connection is dropped after.
DISCONNECTS = frozenset({Cause.LOST_CONNECTION, Cause.NOT_READY})
