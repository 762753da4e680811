# SPDX-License-Identifier: Apache-2.0
"""Inventories, traits and aggregates of one provider: compared, and sent when they differ.

Each is a part of the provider that is read and replaced as a whole, together with the provider's
generation (specification: inventories; traits; aggregates).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from placement.client import errors, names
from placement.client.microversions import Feature
from placement.client.provider import Inventory
from placement.client.session import Request, Session

Value = TypeVar('Value')

GENERATION = 'resource_provider_generation'


@dataclasses.dataclass(frozen=True)
class Part(Generic[Value]):
    """How one part is read, compared and written."""

    name: str
    needs: frozenset[Feature]
    parse: Callable[[Any], Value]
    written: Callable[[Value], Any]
    are_alike: Callable[[Value, Value], bool]
    #: Makes sure of what is named by the second and not yet by the first.
    prepare: Callable[[Session, Value, Value], None]


def ensure(session: Session, provider: str, part: Part[Value], wanted: Value) -> None:
    """Have the part of a provider as it is wanted.

    It is written only if it differs, and read and compared again when somebody else has changed
    the provider meanwhile.

    :raises errors.Conflict: others have changed it again and again
    :raises errors.Gone: there is no such provider, or no such standard trait or class
    :raises errors.InUse: a resource class that is to go has allocations
    """
    path = f'/resource_providers/{names.quoted(provider)}/{part.name}'

    def attempt() -> None:
        shown = session.send(Request('GET', path, part.needs)).body()
        present = part.parse(shown[part.name])
        if not part.are_alike(present, wanted):
            part.prepare(session, present, wanted)
            body = {part.name: part.written(wanted), GENERATION: shown[GENERATION]}
            # A second sending would meet the generation that the first has left, and become a
            # conflict, after which there is no difference any more.
            session.send(
                Request(
                    'PUT',
                    path,
                    part.needs,
                    lambda _version: body,
                    repeated_after=(errors.Unreachable,),
                )
            )

    session.persist(attempt, errors.Conflict)


def _parse_inventories(body: Mapping[str, Any]) -> Mapping[str, Inventory]:
    known = [field.name for field in dataclasses.fields(Inventory)]
    return {
        resource_class: Inventory(**{name: record[name] for name in known})
        for resource_class, record in body.items()
    }


def _write_inventories(inventories: Mapping[str, Inventory]) -> dict[str, Any]:
    return {name: dataclasses.asdict(record) for name, record in inventories.items()}


def _are_inventories_alike(one: Mapping[str, Inventory], other: Mapping[str, Inventory]) -> bool:
    return one.keys() == other.keys() and all(one[name].is_like(other[name]) for name in one)


def _prepare_inventories(
    session: Session, before: Mapping[str, Inventory], wanted: Mapping[str, Inventory]
) -> None:
    for name in sorted(wanted.keys() - before.keys()):
        if name.startswith(names.CUSTOM):
            names.ensure_resource_class(session, name)


def _prepare_traits(session: Session, before: frozenset[str], wanted: frozenset[str]) -> None:
    names.ensure_traits(session, wanted - before)


def _prepare_nothing(session: Session, before: frozenset[str], wanted: frozenset[str]) -> None:
    """Aggregates come into being when they are named."""


def _are_equal(one: frozenset[str], other: frozenset[str]) -> bool:
    return one == other


INVENTORIES = Part[Mapping[str, Inventory]](
    'inventories',
    frozenset({Feature.PROVIDERS}),
    parse=_parse_inventories,
    written=_write_inventories,
    are_alike=_are_inventories_alike,
    prepare=_prepare_inventories,
)

TRAITS = Part[frozenset[str]](
    'traits',
    frozenset({Feature.PROVIDERS}),
    parse=frozenset,
    written=sorted,
    are_alike=_are_equal,
    prepare=_prepare_traits,
)

AGGREGATES = Part[frozenset[str]](
    'aggregates',
    frozenset({Feature.PROVIDERS, Feature.AGGREGATES}),
    parse=frozenset,
    written=sorted,
    are_alike=_are_equal,
    prepare=_prepare_nothing,
)
