# SPDX-License-Identifier: Apache-2.0
"""The result codes of SQLite that are no defect of this service.

Source: https://www.sqlite.org/rescode.html. The low eight bits of an extended code are its primary
code. SQLITE_ERROR, 1, says nothing by itself, so its messages are compared (`main.c`, `expr.c` and
`resolve.c` of SQLite).
"""

from __future__ import annotations

from placement.db.engine.causes import Cause

ERROR = 1

# By cause: primary and extended codes with their symbols. A code that is extended and not here has
# the cause of its primary code.
BY_CAUSE: dict[Cause, dict[int, str]] = {
    Cause.CONFLICT: {
        6: 'SQLITE_LOCKED',
        17: 'SQLITE_SCHEMA',
        516: 'SQLITE_ABORT_ROLLBACK',
        517: 'SQLITE_BUSY_SNAPSHOT',
        787: 'SQLITE_CONSTRAINT_FOREIGNKEY',
        1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
        2067: 'SQLITE_CONSTRAINT_UNIQUE',
        2579: 'SQLITE_CONSTRAINT_ROWID',
    },
    # The file was moved or deleted.
    Cause.LOST_CONNECTION: {1032: 'SQLITE_READONLY_DBMOVED'},
    Cause.TIMEOUT: {
        5: 'SQLITE_BUSY',
        9: 'SQLITE_INTERRUPT',
        15: 'SQLITE_PROTOCOL',
    },
    Cause.FULL: {
        7: 'SQLITE_NOMEM',
        13: 'SQLITE_FULL',
        3082: 'SQLITE_IOERR_NOMEM',
    },
    Cause.DAMAGED: {
        10: 'SQLITE_IOERR',
        11: 'SQLITE_CORRUPT',
        26: 'SQLITE_NOTADB',
    },
    Cause.REFUSED: {
        3: 'SQLITE_PERM',
        8: 'SQLITE_READONLY',
        14: 'SQLITE_CANTOPEN',
        23: 'SQLITE_AUTH',
    },
    Cause.VALUE: {18: 'SQLITE_TOOBIG'},
}

CAUSES = {code: cause for cause, codes in BY_CAUSE.items() for code in codes}

# What is in messages of SQLITE_ERROR, or what the driver says before SQLite is asked.
BY_MESSAGE: dict[str, Cause] = {
    'no such table': Cause.SCHEMA,
    'no such column': Cause.SCHEMA,
    'has no column named': Cause.SCHEMA,
    'too many SQL variables': Cause.VALUE,
    'Expression tree is too large': Cause.VALUE,
    'LIKE or GLOB pattern too complex': Cause.VALUE,
    'too many terms in compound SELECT': Cause.VALUE,
    'string or blob too big': Cause.VALUE,
}
