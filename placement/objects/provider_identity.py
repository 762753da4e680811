# SPDX-License-Identifier: Apache-2.0
"""The uuid of a resource provider, and its change (specification: commands, "provider set-uuid").

The rows of other tables refer to a provider by its id, so its inventories, traits, aggregates,
children and allocations are kept. Everything else that shows its uuid is recorded as changed: the
providers whose parent or root it is, and the consumers of its resources.
"""

from collections.abc import Iterable, Iterator, Sequence

from placement import errors
from placement.context import RequestContext
from placement.db.changes import ConsumerChange, Part
from placement.db.mode import Mode
from placement.db.rows import Connection, Row
from placement.db.statements import allocations as allocation_statements
from placement.db.statements import consumers as consumer_statements
from placement.db.statements import providers
from placement.db.statements.owners import OwnerNames
from placement.db.transaction import in_transaction
from placement.objects.resource_provider import ResourceProvider

# Number of consumers read and locked at a time.
CONSUMERS_AT_ONCE = 1_000

EVERYTHING = Part.PLACE | Part.INVENTORIES | Part.TRAITS | Part.AGGREGATES


@in_transaction(Mode.READ)
def check(context: RequestContext, uuid: str, new_uuid: str) -> ResourceProvider:
    """The provider, after a check that its uuid can be changed.

    :raises errors.ResourceProviderNotFound: the provider does not exist
    :raises errors.DuplicateResourceProvider: a provider, this one or another, has the new uuid
    """
    provider = ResourceProvider.get_by_uuid(context, uuid)
    for row in providers.list_conflicting(context.connection, provider.name, new_uuid):
        # The provider itself is among the rows, because of its name.
        if row.uuid == new_uuid or row.uuid != uuid:
            raise errors.DuplicateResourceProvider(
                f'Resource provider {row.name} has the uuid {new_uuid} already.'
            )
    return provider


@in_transaction(Mode.WRITE)
def set_uuid(context: RequestContext, uuid: str, new_uuid: str) -> ResourceProvider:
    """Change the uuid of a provider, and increment its generation; return it.

    `new_uuid` is in lower case with dashes.

    :raises errors.PlacementError: the errors of `check`; nothing has changed
    """
    connection = context.connection
    provider = check(context, uuid, new_uuid)
    _lock_consumers(connection, provider.id)
    current = provider.lock()
    # The whole tree, so that no provider joins that shows the former uuid of its root or parent.
    members = providers.lock_trees(connection, {current.root_provider_id})
    # Again, for consumers that came before the provider was locked.
    consumers = _lock_consumers(connection, provider.id)
    providers.update(connection, provider.id, uuid=new_uuid, generation=current.generation + 1)
    renamed = ResourceProvider.get_by_uuid(context, new_uuid)
    changes = context.changes
    changes.deleted(provider.id, uuid)
    changes.provider([provider.id], EVERYTHING)
    changes.provider(_relatives(provider.id, members), Part.PLACE)
    states = list(_states(connection, consumers))
    for state in states:
        changes.consumer(state)
    held = {state.uuid: state.allocations[new_uuid] for state in states}
    changes.allocations(provider.id, held, new_uuid, renamed.generation)
    return renamed


def _relatives(provider_id: int, members: Sequence[Row]) -> set[int]:
    """The ids of the members of a tree whose parent or root is the provider."""
    return {
        member.id
        for member in members
        if provider_id in (member.parent_provider_id, member.root_provider_id)
    } - {provider_id}


def _lock_consumers(connection: Connection, provider_id: int) -> list[str]:
    """Lock the consumers of a provider, and return their uuids.

    Consumers are locked before providers, as in claims. Without the lock, a release, which locks
    no provider, could delete allocations before they are recorded as changed.
    """
    rows = allocation_statements.list_by_providers(connection, [provider_id])
    uuids = sorted({row.consumer_uuid for row in rows})
    for some in _in_batches(uuids):
        consumer_statements.lock(connection, some)
    return uuids


def _states(connection: Connection, consumer_uuids: Sequence[str]) -> Iterator[ConsumerChange]:
    """The owner and all allocations of each of some consumers."""
    for some in _in_batches(consumer_uuids):
        by_consumer: dict[str, list[Row]] = {}
        for row in allocation_statements.list_by_consumers(connection, some):
            by_consumer.setdefault(row.uuid, []).append(row)
        yield from map(_state, by_consumer.values())


def _state(rows: Sequence[Row]) -> ConsumerChange:
    """The state of one consumer, from the rows of its allocations."""
    allocations: dict[str, dict[str, int]] = {}
    for row in rows:
        allocations.setdefault(row.provider_uuid, {})[row.resource_class] = row.used
    first = rows[0]
    owner = OwnerNames(first.project_id, first.user_id, first.consumer_type)
    return ConsumerChange(first.uuid, owner, None, first.generation, allocations)


def _in_batches(uuids: Sequence[str]) -> Iterable[Sequence[str]]:
    for start in range(0, len(uuids), CONSUMERS_AT_ONCE):
        yield uuids[start : start + CONSUMERS_AT_ONCE]
