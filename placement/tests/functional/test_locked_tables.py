# SPDX-License-Identifier: Apache-2.0
"""Locks of this service's own tables, as by a dump, do not delay requests."""

import contextlib
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement.microversions import NEWEST

from .fixtures import applications, clouds
from .fixtures.backends import on_servers
from .fixtures.client import Answer, Client

pytestmark = on_servers

HOST = clouds.Provider('host', {'VCPU': 64})

#: Below the lock timeout of other statements, and above that of these.
LONG_SECONDS = 10


@pytest.fixture
def options() -> applications.Options:
    waiting = {('placement_database', 'lock_timeout'): 2 * LONG_SECONDS}
    return {**applications.insight_options('on'), **waiting}


@contextlib.contextmanager
def locked(service: applications.Service, *tables: str) -> Iterator[None]:
    """Lock tables against reading and writing, until the end of the session."""
    engine = sa.create_engine(service.database.url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        if engine.dialect.name == 'postgresql':
            connection.exec_driver_sql(f'LOCK TABLE {", ".join(tables)}')
        else:
            names = ', '.join(f'{name} WRITE' for name in tables)
            connection.exec_driver_sql(f'LOCK TABLES {names}')
        yield


def send(client: Client, method: str, path: str, body: Any = None) -> Answer:
    return client.send(method, path, body, version=NEWEST)


def test_a_claim_is_made_soon_while_the_history_is_locked(
    service: applications.Service, client: Client
) -> None:
    clouds.build((HOST,), client)
    with locked(service, 'placement_history'):
        started_at = time.monotonic()
        assert clouds.put_claim(client, 'server').status == 204
        assert time.monotonic() - started_at < LONG_SECONDS


@pytest.mark.parametrize('query', ['', f'?global_request_id=req-{uuid.UUID(int=1)}'])
def test_unmet_demand_is_refused_soon_while_its_tables_are_locked(
    service: applications.Service, client: Client, query: str
) -> None:
    path = f'/insight/unmet_demand{query}'
    with locked(service, 'placement_unmet_demand', 'placement_unmet_searches'):
        started_at = time.monotonic()
        answer = send(client, 'GET', path)
        assert answer.status == 503, answer
        assert time.monotonic() - started_at < LONG_SECONDS
    assert send(client, 'GET', path).status == 200
