# SPDX-License-Identifier: Apache-2.0
"""Why a transaction can fail without a defect of this service, and the error codes of each cause.

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


def _by_code(codes: Mapping[Cause, str]) -> dict[str, Cause]:
    return {code: cause for cause, text in codes.items() for code in text.split()}


# 0 is a closed connection to PyMySQL. 1467 is what INSERT ... SELECT reports instead of 1213 when
# it deadlocks over the next value; 1290 and 1836 are those of a server that is read-only, since
# another one is the primary by now; 3100 and 3101 come from group replication.
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
            '3032 3100 4145'
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
        Cause.VALUE: '1153 1264 1265 1267 1270 1271 1292 1300 1366 1390 1406 1690 2020 3988',
    }
)

# SQLSTATEs, or the first two characters of all others of a class. 25006 is that of a standby, or
# of a primary that was demoted.
POSTGRESQL = _by_code(
    {
        Cause.CONFLICT: '23001 23503 23505 23P01 55006 72000 40',
        Cause.LOST_CONNECTION: '25P03 40003 08 57',
        Cause.NOT_READY: '08001 08004 25006 53300 53400 57P03',
        Cause.TIMEOUT: '55P03 57014',
        Cause.FULL: '53',
        Cause.DAMAGED: 'XX001 XX002 58 F0',
        Cause.REFUSED: '3D000 42501 57P04 28',
        Cause.SCHEMA: '3F000 42703 42P01',
        Cause.VALUE: '22 54',
    }
)

# Result codes; the low eight bits of an extended code are the primary code, whose cause it has
# where it has none of its own. 1032 is a file that was moved or deleted.
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

# What messages of SQLITE_ERROR have, or the driver says before SQLite is asked.
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
