# SPDX-License-Identifier: Apache-2.0
"""A small cloud in a database in memory, and short ways to say what is in it."""

import contextlib
import functools
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from placement.context import RequestContext
from placement.db.engine.database import Database
from placement.db.engine.engines import create_engine
from placement.db.mode import Mode
from placement.db.schema import migration, own_tables, standard_names, tables
from placement.objects.allocation import AllocationList
from placement.objects.claim import Claim
from placement.objects.inventory import InventoryList
from placement.objects.resource_provider import ResourceProvider
from placement.schemas.common import NOT_SENT, NotSent
from placement.tests.opened import database_on

# By consumer and provider, both called by their names in the test, the amounts by class.
Wanted = Mapping[str, Mapping[str, int]]


def uuid_of(name: str) -> str:
    """The uuid of whatever a test calls by this name."""
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


@functools.cache
def _migrated() -> bytes:
    """A database with the newest schema, the standard traits and the standard classes."""
    engine = create_engine('sqlite://')
    migration.sync(engine)
    standard_names.sync(database_on(engine))
    content: bytes
    with engine.connect() as connection:
        content = connection.connection.driver_connection.serialize()  # type: ignore[union-attr]
    engine.dispose()
    return content


def create_database() -> Database:
    """A database in memory as a service finds it that has just been installed."""
    engine = create_engine('sqlite://')
    with engine.connect() as connection:
        connection.connection.driver_connection.deserialize(_migrated())  # type: ignore[union-attr]
    return database_on(engine)


class Cloud:
    """A database whose providers and consumers are called by their names."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.context = RequestContext(database)

    def provider(self, name: str) -> ResourceProvider:
        """The provider as it is now."""
        return ResourceProvider.get_by_uuid(self.context, uuid_of(name))

    def add(
        self, name: str, parent: str | None = None, **inventories: int | Mapping[str, Any]
    ) -> ResourceProvider:
        """A new provider with inventories by class: a total, or some of the six members."""
        parent_uuid = None if parent is None else uuid_of(parent)
        ResourceProvider.create(self.context, uuid_of(name), name, parent_uuid)
        if inventories:
            self.give(name, **inventories)
        return self.provider(name)

    def give(self, name: str, **inventories: int | Mapping[str, Any]) -> None:
        """Replace the inventories of a provider."""
        provider = self.provider(name)
        self.inventories(**inventories).replace(provider, provider.generation)

    def inventories(self, **inventories: int | Mapping[str, Any]) -> InventoryList:
        """Inventories that are not in the database yet."""
        bodies = {
            resource_class: {'total': value} if isinstance(value, int) else value
            for resource_class, value in inventories.items()
        }
        return InventoryList.from_bodies(self.context, bodies)

    def claim(
        self,
        consumer: str,
        wanted: Wanted,
        generation: int | NotSent | None = NOT_SENT,
        project: str = 'project',
        user: str = 'user',
        consumer_type: str | NotSent = NOT_SENT,
    ) -> Claim:
        """A claim that is not yet written; `wanted` has the amounts by provider and class."""
        return Claim(
            consumer_uuid=uuid_of(consumer),
            resources={uuid_of(name): amounts for name, amounts in wanted.items()},
            project_id=project,
            user_id=user,
            generation=generation,
            consumer_type=consumer_type,
        )

    def write(self, *claims: Claim) -> None:
        """Write claims in one request."""
        AllocationList.replace(self.context, claims)

    def take(self, consumer: str, wanted: Wanted, **more: Any) -> None:
        """Replace the allocations of one consumer."""
        self.write(self.claim(consumer, wanted, **more))

    def has(self, consumer: str) -> dict[str, dict[str, int]]:
        """Return the allocations of a consumer by the uuid of the provider."""
        found: dict[str, dict[str, int]] = {}
        for allocation in AllocationList.list_by_consumer(self.context, uuid_of(consumer)):
            amounts = found.setdefault(allocation.provider_uuid, {})
            amounts[allocation.resource_class] = allocation.used
        return found

    def generation(self, name: str) -> int:
        """The generation of a provider."""
        return self.provider(name).generation

    def consumer_generation(self, consumer: str) -> int | None:
        """The generation of a consumer; None when there is no such consumer."""
        found = self.rows(
            tables.consumers.c.generation, tables.consumers.c.uuid == uuid_of(consumer)
        )
        return found[0][0] if found else None

    def rows(self, column: Any, *conditions: Any) -> list[tuple[Any, ...]]:
        """Select a column."""
        with self.database.begin(Mode.READ) as connection:
            found = connection.execute(sa.select(column).where(*conditions))
            return [tuple(row) for row in found]

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows of all tables, for later comparison."""
        with self.database.begin(Mode.READ) as connection:
            return {
                table.name: [tuple(row) for row in connection.execute(sa.select(table))]
                for table in (*tables.metadata.sorted_tables, own_tables.change_feed)
            }

    @contextlib.contextmanager
    def statements(self) -> Iterator[list[str]]:
        """The statements that the database is given meanwhile."""
        seen: list[str] = []

        def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            if not statement.startswith('BEGIN IMMEDIATE'):
                seen.append(statement)

        sa.event.listen(self.database.engine, 'before_cursor_execute', note)
        try:
            yield seen
        finally:
            sa.event.remove(self.database.engine, 'before_cursor_execute', note)
