# SPDX-License-Identifier: Apache-2.0
"""The changes of one transaction: objects record them once, sinks write them before COMMIT."""

from __future__ import annotations

import collections
import dataclasses
import enum
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

import sqlalchemy as sa

from placement.db.rows import Connection
from placement.db.statements.owners import OwnerIds, OwnerNames

# Amounts by the name of the class.
Resources = Mapping[str, int]


class Part(enum.Flag):
    """The parts of a provider that can change, except its generation and its allocations.

    `PLACE` is its name and its place in a tree. `RELATED` stands for rows of other objects that a
    search reads together with the provider, such as the name of a class or the members of its
    tree.
    """

    NOTHING = 0
    PLACE = enum.auto()
    INVENTORIES = enum.auto()
    TRAITS = enum.auto()
    AGGREGATES = enum.auto()
    RELATED = enum.auto()


class NameKind(enum.StrEnum):
    """The kind of a name that clients create and delete."""

    RESOURCE_CLASS = 'resource_class'
    TRAIT = 'trait'
    PROMISE = 'promise'


@dataclasses.dataclass(slots=True)
class ProviderChange:
    """The changed parts of a provider, and its new allocations."""

    parts: Part = Part.NOTHING
    # Uuid and generation are None unless a write of allocations has read them.
    uuid: str | None = None
    generation: int | None = None
    # The new amounts by uuid of the changed consumers; None if no allocation changes.
    allocations: dict[str, Resources] | None = None


class ConsumerChange(NamedTuple):
    """A consumer after a write of its allocations."""

    uuid: str
    # The owner's names, as far as the write sets them.
    given: OwnerNames = OwnerNames()
    # The ids of the owner's names before the write; None if the consumer had no record.
    stored: OwnerIds | None = None
    generation: int | None = None
    # Amounts by uuid of the provider and name of the class; empty if the consumer is deleted.
    allocations: Mapping[str, Resources] = MappingProxyType({})


class NameChange(NamedTuple):
    """A resource class, trait or promise that is created, renamed, replaced or deleted.

    The history shows the `details` in addition to the name.
    """

    kind: NameKind
    name: str
    former_name: str | None = None
    is_deleted: bool = False
    details: Mapping[str, object] = MappingProxyType({})


class FormerProvider(NamedTuple):
    """The former uuid of a provider that was deleted, or got another uuid."""

    id: int
    uuid: str


class Changes:
    """The changes of one attempt at a transaction, each recorded by the object that makes it."""

    def __init__(self) -> None:
        self.providers: dict[int, ProviderChange] = collections.defaultdict(ProviderChange)
        self.consumers: list[ConsumerChange] = []
        self.names: list[NameChange] = []
        self.former_providers: list[FormerProvider] = []

    def __bool__(self) -> bool:
        return bool(self.providers or self.consumers or self.names or self.former_providers)

    def provider(self, provider_ids: Iterable[int], parts: Part) -> None:
        """Record changed parts of providers that the transaction has locked or created."""
        for provider_id in provider_ids:
            self.providers[provider_id].parts |= parts

    def allocations(
        self,
        provider_id: int,
        amounts: Mapping[str, Resources],
        uuid: str | None = None,
        generation: int | None = None,
    ) -> None:
        """Record the new amounts that the changed consumers, by uuid, hold on a provider.

        `uuid` and `generation` are those of the provider after the write, if they were read.
        """
        change = self.providers[provider_id]
        change.uuid, change.generation = uuid, generation
        change.allocations = dict(amounts)

    def consumer(self, change: ConsumerChange) -> None:
        """Record a consumer whose allocations are written."""
        self.consumers.append(change)

    def name(self, change: NameChange) -> None:
        """Record a resource class, trait or promise that is created, replaced or deleted."""
        self.names.append(change)

    def deleted(self, provider_id: int, uuid: str) -> None:
        """Record the former uuid of a provider that is deleted, or gets another uuid."""
        self.former_providers.append(FormerProvider(provider_id, uuid))


class Sink(Protocol):
    """Writes recorded changes to the database, in the transaction that makes them."""

    def write(self, connection: Connection, changes: Changes) -> None:
        """Write changes; called once in each attempt, before COMMIT.

        :raises Exception: an error of the database
        """

    def gives_up(self, failure: Exception) -> bool:
        """True if the failed transaction is to be retried without this sink."""

    def committed(self) -> None:
        """Do what has to wait for the COMMIT, such as counting the written rows."""


class FirstSink(Sink, Protocol):
    """The sink whose entry proves the COMMIT of a transaction when the reply to it is lost.

    Each attempt at a transaction creates one. It writes an entry even if no change was recorded.
    """

    def has_committed(self, engine: sa.Engine) -> bool:
        """True if the transaction has committed; if False, it never will.

        :raises placement.errors.OutcomeUnknown: the database does not answer in time
        """


_CLAIMS: Callable[[Changes], object] = operator.attrgetter('consumers')


def _names_providers(changes: Changes) -> object:
    return changes.providers or changes.former_providers


def _names_part(part: Part) -> Callable[[Changes], object]:
    def is_named(changes: Changes) -> object:
        parts = (change.parts for change in changes.providers.values())
        return changes.former_providers or any(part in other for other in parts)

    return is_named


def _names_or_part(part: Part) -> Callable[[Changes], object]:
    # A write of a part inserts the standard names that it refers to, if they are missing. These
    # are not recorded as changes of names.
    return lambda changes: changes.names or _names_part(part)(changes)


def _names_allocations(changes: Changes) -> object:
    return any(change.allocations is not None for change in changes.providers.values())


# A test for each table that searches or the history read: has a change of it been recorded?
_IS_NAMED: Mapping[str, Callable[[Changes], object]] = {
    'resource_providers': _names_providers,
    'inventories': _names_part(Part.INVENTORIES),
    'allocations': _names_allocations,
    'resource_provider_traits': _names_part(Part.TRAITS),
    'resource_provider_aggregates': _names_part(Part.AGGREGATES),
    'placement_aggregates': _names_part(Part.AGGREGATES),
    'consumers': _CLAIMS,
    'projects': _CLAIMS,
    'users': _CLAIMS,
    'consumer_types': _CLAIMS,
    'traits': _names_or_part(Part.TRAITS),
    'resource_classes': _names_or_part(Part.INVENTORIES),
}


def list_unnamed(changes: Changes, written: Collection[str]) -> list[str]:
    """Return the written tables that searches or the history read, without a recorded change."""
    return sorted(
        table for table in written if table in _IS_NAMED and not _IS_NAMED[table](changes)
    )
