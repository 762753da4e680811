# SPDX-License-Identifier: Apache-2.0
"""`Mode`: the kinds of transactions."""

import enum


class Mode(enum.Enum):
    """The kinds of transactions, which `RequestContext.transaction` and `Database.begin` open.

    A transaction that reads uses a replica only if the caller allows it: a write depends on its
    reads, so it must not read outdated rows of a replica. `READ_ONE_MOMENT` costs a statement more
    than `READ`, and is for several statements whose results must be consistent. The brief modes
    are for tables that an operator may have locked.
    """

    #: Each statement sees the rows committed before it.
    READ = 'read'
    #: Reads one moment: all statements see the rows committed before the first.
    READ_ONE_MOMENT = 'read one moment'
    #: Reads one moment, with short timeouts.
    READ_BRIEFLY = 'read briefly'
    #: Writes. If the reply to COMMIT is lost, its outcome is determined.
    WRITE = 'write'
    #: Best-effort writes with short timeouts.
    WRITE_BRIEFLY = 'write briefly'
