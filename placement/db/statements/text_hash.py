# SPDX-License-Identifier: Apache-2.0
"""A hash of a text that is equal in every database and in Python.

It consists of the first seven hexadecimal digits of SHA-256, as a number.
"""

import hashlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

# The name of the function on connections to SQLite (`placement.db.engine.sqlite`).
SQLITE_NAME = 'placement_text_hash'


def hash_of(text: str) -> int:
    """The hash of a text, from 0 to 2**28 - 1."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:7], 16)


class text_hash(sa.sql.functions.GenericFunction[int]):
    """`hash_of` a column of texts, as an expression of SQL."""

    type = sa.BigInteger()
    inherit_cache = True
    name = SQLITE_NAME


@compiles(text_hash, 'mysql', 'mariadb')
def _of_mysql(element: text_hash, compiler: SQLCompiler, **options: Any) -> str:
    text = compiler.process(element.clauses, **options)
    return f'CAST(CONV(LEFT(SHA2({text}, 256), 7), 16, 10) AS SIGNED)'


@compiles(text_hash, 'postgresql')
def _of_postgresql(element: text_hash, compiler: SQLCompiler, **options: Any) -> str:
    text = compiler.process(element.clauses, **options)
    digits = f"left(encode(sha256(convert_to({text}, 'UTF8')), 'hex'), 7)"
    return f"CAST(CAST('x' || {digits} AS bit(28)) AS bigint)"
