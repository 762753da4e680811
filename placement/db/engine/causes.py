# SPDX-License-Identifier: Apache-2.0
"""The causes of failed transactions other than defects of this service, and their error codes.

oslo.db recognises errors by the English text of a message, and has no classes for most of these.
Sources: `perror` of MariaDB and the "Server Error Message Reference" of MySQL; `include/errmsg.h`
for the client library, 2000 to 2999; appendix A of the manual of PostgreSQL; and
https://www.sqlite.org/rescode.html. Galera has no numbers of its own: it reports 1047 for a node
that is not ready, 1213 for a transaction that failed certification, and 1180 where a node loses
its cluster during COMMIT.
"""

import enum
from collections.abc import Mapping


class Cause(enum.Enum):
    """The causes, distinguished by their remedy.

    A failed transaction leaves nothing in the database, unless only the reply to COMMIT was lost.
    """

    # The transaction conflicted with another one, and is retried.
    CONFLICT = 'conflict'
    # The connection is lost: the transaction is retried on another one.
    LOST_CONNECTION = 'lost connection'
    # The server starts, stops, is read-only, is cut off from its cluster, or has no free slot: the
    # transaction is retried on another connection, which may lead to another server.
    NOT_READY = 'not ready'
    # A lock or a statement timed out; a retry would take as long.
    TIMEOUT = 'timeout'
    # The pool had no free connection within `pool_timeout`.
    NO_FREE_CONNECTION = 'no free connection'
    # Disk, memory or a configured limit is exhausted.
    FULL = 'full'
    # A file is corrupt or cannot be read or written.
    DAMAGED = 'damaged'
    # The database refuses the connection or the write.
    REFUSED = 'refused'
    # A table or column is missing.
    SCHEMA = 'schema'
    # The client sent a value that the database cannot store or process.
    VALUE = 'value'


# Causes that are retried.
RETRIED = frozenset({Cause.CONFLICT, Cause.LOST_CONNECTION, Cause.NOT_READY})

# Causes that last until an operator acts.
LASTING = frozenset({Cause.FULL, Cause.DAMAGED, Cause.REFUSED})

# Causes that fail every transaction, now or until an operator acts.
UNUSABLE = LASTING | {Cause.LOST_CONNECTION, Cause.NOT_READY, Cause.TIMEOUT}

# Causes that invalidate the connection.
DISCONNECTS = frozenset({Cause.LOST_CONNECTION, Cause.NOT_READY})


def _by_code(codes: Mapping[Cause, str]) -> dict[str, Cause]:
    return {code: cause for cause, text in codes.items() for code in text.split()}


# PyMySQL reports 0 for a closed connection. INSERT ... SELECT reports 1467 instead of 1213 for a
# deadlock over the next value. 1290 and 1836 come from a read-only server, such as a former
# primary; 3100 and 3101 from group replication; and 9001 from ProxySQL without a server.
MYSQL = _by_code(
    {
        Cause.CONFLICT: (
            '1020 1022 1062 1213 1216 1217 1402 1412 1451 1452 1467 1586 1613 1614 1615 1637 '
            '1689 3058 3101 4060'
        ),
        Cause.LOST_CONNECTION: (
            '0 1053 1077 1078 1079 1152 1154 1155 1156 1157 1158 1159 1160 1161 1184 1317 '
            '1835 1927 2000 2001 2002 2003 2004 2005 2006 2012 2013 2014 2026 2027 2045 2048 '
            '2055 3169 4031'
        ),
        Cause.NOT_READY: (
            '1036 1040 1042 1043 1047 1129 1135 1180 1181 1203 1223 1226 1290 1792 1836 1874 '
            '3032 3100 4145 9001'
        ),
        Cause.TIMEOUT: '1205 1969 3024 3572',
        Cause.FULL: (
            '1021 1026 1037 1038 1041 1114 1197 1206 1705 1811 1878 3015 3019 3044 3675 4139'
        ),
        Cause.DAMAGED: (
            '1015 1016 1017 1024 1030 1033 1034 1035 1039 1194 1195 1286 1712 1810 1812 1814 '
            '1817 1877 1932 3000 4182'
        ),
        Cause.REFUSED: (
            '1044 1045 1046 1049 1130 1142 1143 1227 1251 1275 1698 1820 1862 2049 2059 2061 '
            '3118 3159 4150 4151'
        ),
        Cause.SCHEMA: '1051 1054 1109 1146 1364',
        Cause.VALUE: (
            '1153 1264 1265 1267 1270 1271 1292 1300 1366 1390 1406 1690 1977 2020 3854 3988'
        ),
    }
)

# SQLSTATEs, or the first two characters for all others of a class. A standby reports 25006, and so
# does a demoted primary.
POSTGRESQL = _by_code(
    {
        Cause.CONFLICT: '23001 23503 23505 23P01 55006 72000 40',
        Cause.LOST_CONNECTION: '25P03 26000 40003 42P05 08 57',
        Cause.NOT_READY: '08001 08004 25006 53300 53400 57P03',
        Cause.TIMEOUT: '55P03 57014',
        Cause.FULL: '53',
        Cause.DAMAGED: 'XX001 XX002 58 F0',
        Cause.REFUSED: '3D000 42501 57P04 28',
        Cause.SCHEMA: '3F000 42703 42P01',
        Cause.VALUE: '22 54',
    }
)

# Result codes. The low eight bits of an extended code are its primary code, whose cause is the
# default. 1032 stands for a file that was moved or deleted.
SQLITE = _by_code(
    {
        Cause.CONFLICT: '6 17 516 517 787 1555 2067 2579',
        Cause.LOST_CONNECTION: '1032',
        Cause.TIMEOUT: '5 9 15',
        Cause.FULL: '7 13 3082',
        Cause.DAMAGED: '10 11 26',
        Cause.REFUSED: '3 8 14 23',
        Cause.VALUE: '18',
    }
)

# Parts of messages of SQLITE_ERROR, or of errors of the driver itself.
SQLITE_MESSAGES = {
    'no such table': Cause.SCHEMA,
    'no such column': Cause.SCHEMA,
    'has no column named': Cause.SCHEMA,
    'too many SQL variables': Cause.VALUE,
    'Expression tree is too large': Cause.VALUE,
    'LIKE or GLOB pattern too complex': Cause.VALUE,
    'too many terms in compound SELECT': Cause.VALUE,
    'string or blob too big': Cause.VALUE,
}
