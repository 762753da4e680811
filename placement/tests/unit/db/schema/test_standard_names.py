# SPDX-License-Identifier: Apache-2.0
"""Standard traits and resource classes are inserted, even with concurrent inserts."""

from collections.abc import Callable, Collection
from typing import Any

import os_traits
import pytest
import sqlalchemy as sa

from placement.db.engine.database import Database
from placement.db.schema import standard_names, tables
from placement.db.statements import names

Rows = Callable[..., list[tuple[Any, ...]]]

# Specification: data_model, "Resource class ids".
CLASSES = [
    'VCPU',
    'MEMORY_MB',
    'DISK_GB',
    'PCI_DEVICE',
    'SRIOV_NET_VF',
    'NUMA_SOCKET',
    'NUMA_CORE',
    'NUMA_THREAD',
    'NUMA_MEMORY_MB',
    'IPV4_ADDRESS',
    'VGPU',
    'VGPU_DISPLAY_HEAD',
    'NET_BW_EGR_KILOBIT_PER_SEC',
    'NET_BW_IGR_KILOBIT_PER_SEC',
    'PCPU',
    'MEM_ENCRYPTION_CONTEXT',
    'FPGA',
    'PGPU',
    'NET_PACKET_RATE_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC',
    'NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC',
]

classes = tables.resource_classes.c
traits = tables.traits.c


def insert(database: Database, table: sa.Table, **values: object) -> None:
    with database.engine.begin() as connection:
        connection.execute(sa.insert(table).values(**values))


def test_every_standard_name_is_inserted_once(
    database: Database, rows: Rows, statements: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    standard_names.sync(database)
    assert caplog.text == ''
    assert [statement.split('(')[0] for statement in statements if 'INSERT' in statement] == [
        'INSERT INTO traits ',
        'INSERT INTO resource_classes ',
    ]
    found: dict[int, str] = dict(rows(classes.id, classes.name))
    assert [found[position] for position in range(len(CLASSES))] == CLASSES
    assert sorted(name for (name,) in rows(traits.name)) == sorted(os_traits.get_traits())
    times = rows(traits.created_at, traits.updated_at)
    times += rows(classes.created_at, classes.updated_at)
    assert all(created and not updated for created, updated in times)


def test_sync_inserts_only_missing_names_and_keeps_others(database: Database, rows: Rows) -> None:
    kept = {(5000, 'HW_CPU_X86_AVX2'), (1, 'CUSTOM_FAST'), (2, 'HW_NO_LONGER_STANDARD')}
    for trait_id, name in kept:
        insert(database, tables.traits, id=trait_id, name=name)
    insert(database, tables.resource_classes, id=1, name='MEMORY_MB')
    insert(database, tables.resource_classes, id=10000, name='CUSTOM_GOLD')
    standard_names.sync(database)
    assert kept <= set(rows(traits.id, traits.name))
    assert len(rows(traits.id)) == len(os_traits.get_traits()) + 2
    assert (10000, 'CUSTOM_GOLD') in rows(classes.id, classes.name)
    assert len(rows(classes.id)) == len(CLASSES) + 1


def test_a_later_sync_reads_each_table_once(database: Database, statements: list[str]) -> None:
    standard_names.sync(database)
    del statements[:]
    standard_names.sync(database)
    assert [statement for statement in statements if statement != 'BEGIN'] == [
        f"SELECT {table}.name \nFROM {table} \nWHERE ({table}.name NOT LIKE ? || '%' ESCAPE '/')"
        for table in ('traits', 'resource_classes')
    ]


def look_stale(monkeypatch: pytest.MonkeyPatch, times: int, missing: list[str]) -> None:
    """Make the first looks at the traits find `missing`, as before somebody else's commit."""
    look = standard_names.missing_traits
    remaining = [missing] * times

    def look_or_be_late(connection: sa.Connection) -> Collection[str]:
        return remaining.pop() if remaining else look(connection)

    monkeypatch.setattr(standard_names, 'missing_traits', look_or_be_late)


def test_sync_survives_a_concurrent_insert_and_inserts_the_rest(
    database: Database, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert(database, tables.traits, name='HW_CPU_X86_AVX2')
    look_stale(monkeypatch, 2, ['HW_CPU_X86_AVX', 'HW_CPU_X86_AVX2'])
    standard_names.sync(database)
    assert len(rows(traits.id)) == len(os_traits.get_traits())
    assert len(rows(classes.id)) == len(CLASSES)


def test_concurrent_inserts_never_stop_the_start(
    database: Database,
    rows: Rows,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    insert(database, tables.traits, name='HW_CPU_X86_AVX2')
    look_stale(monkeypatch, 1000, ['HW_CPU_X86_AVX2'])
    standard_names.sync(database)
    assert 'Concurrent inserts of standard names' in caplog.text
    assert len(rows(classes.id)) == len(CLASSES)


class MySQLConnection:
    """A connection of MySQL that only knows the mode of its session."""

    def __init__(self) -> None:
        self.dialect = sa.create_mock_engine('mysql+pymysql://', print).dialect
        self.mode = 'TRADITIONAL'

    def scalar(self, _statement: sa.TextClause) -> str:
        return self.mode

    def execute(self, _statement: sa.TextClause, values: dict[str, str]) -> None:
        self.mode = values['mode']


def test_mysql_allows_the_id_zero_only_during_the_insert() -> None:
    connection: Any = MySQLConnection()

    def insert_and_fail() -> None:
        with names.zero_id_allowed(connection):
            assert connection.mode == 'TRADITIONAL,NO_AUTO_VALUE_ON_ZERO'
            raise RuntimeError('duplicate entry')

    with pytest.raises(RuntimeError):
        insert_and_fail()
    assert connection.mode == 'TRADITIONAL'
