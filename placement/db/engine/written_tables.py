# SPDX-License-Identifier: Apache-2.0
"""The tables that a transaction writes, collected while its statements run."""

import contextlib
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa


class WrittenTables:
    """Collects the names of the tables that connections of one engine write."""

    def __init__(self, engine: sa.Engine) -> None:
        # By connection, since options of a connection take time in each of its statements.
        self._written: dict[sa.Connection, set[str]] = {}
        sa.event.listen(engine, 'before_cursor_execute', self._collect)

    @contextlib.contextmanager
    def of(self, connection: sa.Connection) -> Iterator[set[str]]:
        """Yield the set of the tables that a connection writes within the block."""
        written = self._written[connection] = set()
        try:
            yield written
        finally:
            del self._written[connection]

    def _collect(
        self,
        connection: sa.Connection,
        _cursor: object,
        _statement: str,
        _parameters: object,
        context: Any,
        _is_many: bool,
    ) -> None:
        if context.isinsert or context.isupdate or context.isdelete:
            written = self._written.get(connection)
            if written is not None:
                written.add(context.compiled.statement.table.name)
