# SPDX-License-Identifier: Apache-2.0
"""The rows that a database reads for a write grow with its amounts, also by old statistics."""

from typing import Any

import pytest
import sqlalchemy as sa

from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.backends import on_mysql
from .fixtures.client import Client

CONSUMER = 'dddddddd-0000-4000-8000-000000000001'
FEW, MANY = 150, 300


class RowsRead:
    """Counts the rows that the connections of an engine read, from indexes as well."""

    def __init__(self, engine: sa.Engine) -> None:
        self.number = 0
        sa.event.listen(engine, 'checkout', self._begin)
        sa.event.listen(engine, 'checkin', self._end)

    def _begin(self, connection: Any, record: Any, _proxy: Any) -> None:
        record.info[self] = self._counter(connection)

    def _end(self, connection: Any, record: Any) -> None:
        # None: the connection was lost, and its counter with it.
        if connection is not None:
            self.number += self._counter(connection) - record.info.pop(self)

    def _counter(self, connection: Any) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
            return sum(int(count) for _name, count in cursor.fetchall())


@pytest.fixture
def execute_first(service: applications.Service) -> None:
    """Freeze the statistics of empty tables, as they are while many rows are written at once."""
    with service.engine.begin() as connection:
        for table in ('allocations', 'inventories', 'resource_providers'):
            settings = 'STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0'
            connection.execute(sa.text(f'ALTER TABLE {table} {settings}'))
            connection.execute(sa.text(f'ANALYZE TABLE {table}'))


@on_mysql
def test_a_claim_of_twice_the_amounts_has_three_times_the_rows_read_at_most(
    execute_first: None, service: applications.Service, client: Client
) -> None:
    clouds.build(tuple(clouds.Provider(f'host{n}', {'VCPU': 9}) for n in range(MANY)), client)

    rows = RowsRead(service.engine)

    def replaced(count: int, generation: int | None) -> int:
        held = {clouds.uuid_of(f'host{n}'): {'VCPU': 1} for n in range(count)}
        path = f'/allocations/{CONSUMER}'
        before = rows.number
        for given in (generation, 1 if generation is None else generation + 1):
            answer = client.send('PUT', path, clouds.claim(held, given), NEWEST)
            assert answer.status == 204, answer.text
        return rows.number - before

    few, many = replaced(FEW, None), replaced(MANY, 2)

    assert few > FEW
    assert many <= 3 * few, f'{few} rows become {many}'
