# SPDX-License-Identifier: Apache-2.0
"""Two concurrent writers, with their steps in the most harmful order."""

import concurrent.futures
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
import sqlalchemy as sa

from placement import errors
from placement.context import RequestContext
from placement.db.engine import backoff
from placement.db.engine.database import Database
from placement.db.mode import Mode
from placement.db.rows import Row
from placement.db.statements import allocations, providers
from placement.db.transaction import in_transaction
from placement.objects.allocation import AllocationList
from placement.tests.unit.objects.cloud import Cloud, uuid_of

from .fixtures.backends import on_servers

# SQLite has one writer at a time.
pytestmark = on_servers


@pytest.fixture
def cloud(database: Database) -> Cloud:
    return Cloud(database)


def lock_tree(database: Database, root_id: int, has_looked: threading.Event) -> set[str]:
    """Lock a tree and return its uuids; set `has_looked` after the first read."""
    mine = threading.get_ident()

    def note(*_arguments: Any) -> None:
        if threading.get_ident() == mine:
            has_looked.set()

    sa.event.listen(database.engine, 'after_cursor_execute', note)
    try:
        with database.begin(Mode.WRITE) as connection:
            rows: Sequence[Row] = providers.lock_trees(connection, [root_id])
            return {row.uuid for row in rows}
    finally:
        sa.event.remove(database.engine, 'after_cursor_execute', note)


def test_lock_trees_locks_a_provider_that_joins_meanwhile(cloud: Cloud) -> None:
    """Add a provider during the lock: a move that missed it would leave it with its old root."""
    root = cloud.add('root')
    cloud.add('child', parent='root')
    has_looked = threading.Event()
    joining = Cloud(cloud.database)
    with concurrent.futures.ThreadPoolExecutor() as threads:

        @in_transaction(Mode.WRITE)
        def join(_context: RequestContext) -> concurrent.futures.Future[set[str]]:
            joining.add('late', parent='child')
            locked = threads.submit(lock_tree, cloud.database, root.id, has_looked)
            assert has_looked.wait(60)
            return locked

        assert join(joining.context).result(60) == {
            uuid_of(name) for name in ('root', 'child', 'late')
        }


def test_release_that_meets_the_first_claim_deletes_the_consumer(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim during a release: a consumer left without allocations could not claim again."""
    cloud.add('host', VCPU=8)
    delete = allocations.delete_by_consumer

    def delete_after_a_claim(*arguments: Any) -> set[int]:
        Cloud(cloud.database).take('server', {'host': {'VCPU': 1}}, generation=None)
        return delete(*arguments)

    with monkeypatch.context() as patches:
        patches.setattr(allocations, 'delete_by_consumer', delete_after_a_claim)
        AllocationList.release(cloud.context, uuid_of('server'))

    assert cloud.has('server') == {}
    cloud.take('server', {'host': {'VCPU': 1}}, generation=None)
    assert cloud.has('server') == {uuid_of('host'): {'VCPU': 1}}


def test_claim_waits_for_the_deletion_of_its_host(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim during the deletion: another order of locks would be a deadlock."""
    host = cloud.add('host', VCPU=8)
    has_allocations = providers.has_allocations
    claims = []
    monkeypatch.setattr(backoff, 'sleep', lambda _attempt: pytest.fail('a deadlock'))
    with concurrent.futures.ThreadPoolExecutor() as threads:

        def claim_meanwhile(*arguments: Any) -> bool:
            take = Cloud(cloud.database).take
            claims.append(threads.submit(take, 'server', {'host': {'VCPU': 1}}, generation=None))
            time.sleep(0.5)
            return has_allocations(*arguments)

        monkeypatch.setattr(providers, 'has_allocations', claim_meanwhile)
        host.destroy()
        with pytest.raises(errors.UnknownAllocationProvider):
            claims[0].result(60)
