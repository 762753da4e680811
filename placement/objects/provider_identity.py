# SPDX-License-Identifier: Apache-2.0
"""The uuid of a resource provider, and its change (specification: commands, "provider set-uuid").

The rows of other tables refer to a provider by its id, so that inventories, traits, aggregates,
children and allocations stay with it. What shows its uuid elsewhere is recorded anew: the
providers whose parent or root it is, and, in the history, the consumers of its resources.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from placement import errors
from placement.context import RequestContext
from placement.db.engine import transactions as db
from placement.db.statements import consumers as consumer_statements
from placement.db.statements import providers
from placement.feed.change_feed import ChangeFeed
from placement.insight.bulk import pages as cloud
from placement.insight.bulk.pages import CloudConsumer
from placement.insight.bulk.statements import ConsumerFilters
from placement.insight.history.recorder import ConsumerState, note_deleted_provider, note_providers
from placement.insight.history.statements import Part
from placement.objects.claim import Resources
from placement.objects.resource_provider import ResourceProvider

# How many consumers are read, and locked, at a time.
CONSUMERS_AT_ONCE = 1_000

EVERYTHING = Part.PLACE | Part.INVENTORIES | Part.TRAITS | Part.AGGREGATES


@db.reader
def check(context: RequestContext, uuid: str, new_uuid: str) -> ResourceProvider:
    """The provider whose uuid can be changed, as it is now.

    Raises `errors.ResourceProviderNotFound`, and `errors.DuplicateResourceProvider` when a
    provider, this one or another, has the new uuid.
    """
    provider = ResourceProvider.get_by_uuid(context, uuid)
    for row in providers.list_conflicting(context.connection, provider.name, new_uuid):
        # The provider itself is found as well, by its name.
        if row.uuid == new_uuid or row.uuid != uuid:
            raise errors.DuplicateResourceProvider(
                f'Resource provider {row.name} has the uuid {new_uuid} already.'
            )
    return provider


@db.writer
def set_uuid(context: RequestContext, uuid: str, new_uuid: str) -> ResourceProvider:
    """The provider after it was given another uuid and the next generation; its name stays.

    `new_uuid` is in lower case with dashes. Raises what `check` raises; then nothing has changed.
    """
    connection = context.connection
    _lock_consumers(context, uuid)
    current = check(context, uuid, new_uuid).lock()
    # Whole, so that no provider joins whose root or parent would have the former uuid.
    members = providers.lock_trees(connection, {current.root_provider_id})
    # Those that came before the provider was locked.
    _lock_consumers(context, uuid)
    providers.update(connection, current.id, uuid=new_uuid, generation=current.generation + 1)
    relatives = _relatives(current.id, members)
    feed = ChangeFeed(connection)
    feed.record_former_uuid(current.id, uuid)
    feed.record([current.id, *relatives])
    provider = ResourceProvider.get_by_uuid(context, new_uuid)
    _note(context, provider, uuid, relatives)
    return provider


def _relatives(provider_id: int, members: Sequence[db.Row]) -> set[int]:
    """The ids of those members of a tree that show a provider as their parent or root."""
    return {
        member.id
        for member in members
        if provider_id in (member.parent_provider_id, member.root_provider_id)
    } - {provider_id}


def _lock_consumers(context: RequestContext, provider_uuid: str) -> None:
    """Lock the consumers of a provider, if the history is to have their allocations.

    Before providers, as claims do. Otherwise one that releases what it has, which locks no
    provider, could be recorded before its allocations here.
    """

    def lock() -> None:
        for page in _pages_of_consumers(context, provider_uuid):
            uuids = [consumer.row.uuid for consumer in page]
            consumer_statements.lock(context.connection, uuids)

    if context.change_recorder is not None:
        context.change_recorder.attempt(lock, None)


def _note(
    context: RequestContext,
    provider: ResourceProvider,
    former_uuid: str,
    relatives: Collection[int],
) -> None:
    """Note everything that shows the uuid of a provider, if there is a history."""
    recorder = context.change_recorder
    if recorder is None:
        return
    states: list[ConsumerState] = recorder.attempt(
        lambda: _states_of_consumers(context, provider.uuid), []
    )
    for state in states:
        recorder.consumer(state)
    resources = {state.uuid: state.allocations[provider.uuid] for state in states}
    note_providers(context, [provider.id], EVERYTHING)
    recorder.allocations(provider.id, provider.uuid, provider.generation, resources)
    note_providers(context, relatives, Part.PLACE)
    note_deleted_provider(context, former_uuid)


def _states_of_consumers(context: RequestContext, provider_uuid: str) -> list[ConsumerState]:
    """The allocations of each consumer of a provider, there and elsewhere."""
    pages = _pages_of_consumers(context, provider_uuid)
    return [_state(consumer) for page in pages for consumer in page]


def _state(consumer: CloudConsumer) -> ConsumerState:
    row = consumer.row
    return ConsumerState(
        row.uuid,
        row.project_id,
        row.user_id,
        row.generation,
        row.consumer_type,
        _by_provider(consumer.allocations),
    )


def _by_provider(allocations: Sequence[db.Row]) -> Mapping[str, Resources]:
    """The amounts of allocations, by the uuid of the provider and the name of the class."""
    amounts: dict[str, dict[str, int]] = {}
    for row in allocations:
        amounts.setdefault(row.provider_uuid, {})[row.resource_class] = row.used
    return amounts


def _pages_of_consumers(
    context: RequestContext, provider_uuid: str
) -> Iterator[Sequence[CloudConsumer]]:
    """The consumers that have something of a provider, by uuid, a page at a time."""
    filters = ConsumerFilters(provider=provider_uuid)
    after = None
    while True:
        page = cloud.list_consumers(context, filters, after, CONSUMERS_AT_ONCE)
        yield page.items
        if not page.has_more:
            return
        after = page.items[-1].row.uuid
