# SPDX-License-Identifier: Apache-2.0
"""Compares inventories, traits and aggregates of one provider, and writes them when they differ.

Each is a sub-resource that is read and replaced as a whole, guarded by the provider's generation
(specification: inventories; traits; aggregates).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from placement_report_client import errors, names
from placement_report_client.microversions import Feature
from placement_report_client.provider import Inventory
from placement_report_client.session import Request, Session

Value = TypeVar('Value')

GENERATION = 'resource_provider_generation'


@dataclasses.dataclass(frozen=True)
class SubResource(Generic[Value]):
    """A sub-resource of a provider: functions to parse, compare and write it."""

    name: str
    #: Features of the API that reading and writing it need.
    needs: frozenset[Feature]
    #: Converts between the member of a body and the value.
    parse: Callable[[Any], Value]
    written: Callable[[Value], Any]
    are_equal: Callable[[Value, Value], bool]
    #: Creates the names that the second value contains and the first does not.
    prepare: Callable[[Session, Value, Value], None]


def ensure(
    session: Session, provider: str, sub_resource: SubResource[Value], wanted: Value
) -> None:
    """Make the sub-resource of a provider equal to the given value.

    It is written only if it differs, and read and compared again after a concurrent write to the
    provider.

    :raises errors.Conflict: concurrent writes to the provider prevented it at every attempt
    :raises errors.Gone: the provider, a standard trait or a standard class does not exist
    :raises errors.InUse: a resource class to be removed has allocations
    """
    path = f'/resource_providers/{names.quoted(provider)}/{sub_resource.name}'

    def attempt() -> None:
        shown = session.send(Request('GET', path, sub_resource.needs)).body()
        present = sub_resource.parse(shown[sub_resource.name])
        if not sub_resource.are_equal(present, wanted):
            sub_resource.prepare(session, present, wanted)
            body = {sub_resource.name: sub_resource.written(wanted), GENERATION: shown[GENERATION]}
            # If the first request was done and its answer lost, the retry is a conflict because of
            # the generation, and the next comparison finds no difference.
            session.send(
                Request(
                    'PUT',
                    path,
                    sub_resource.needs,
                    lambda _version: body,
                    repeated_after=(errors.Unreachable,),
                )
            )

    session.retry(attempt, errors.Conflict)


def _parse_inventories(body: Mapping[str, Any]) -> Mapping[str, Inventory]:
    known = [field.name for field in dataclasses.fields(Inventory)]
    return {
        resource_class: Inventory(**{name: record[name] for name in known})
        for resource_class, record in body.items()
    }


def _write_inventories(inventories: Mapping[str, Inventory]) -> dict[str, Any]:
    return {name: dataclasses.asdict(record) for name, record in inventories.items()}


def _are_inventories_equal(one: Mapping[str, Inventory], other: Mapping[str, Inventory]) -> bool:
    return one.keys() == other.keys() and all(one[name].matches(other[name]) for name in one)


def _prepare_inventories(
    session: Session, before: Mapping[str, Inventory], wanted: Mapping[str, Inventory]
) -> None:
    for name in sorted(wanted.keys() - before.keys()):
        if name.startswith(names.CUSTOM):
            names.ensure_resource_class(session, name)


def _prepare_traits(session: Session, before: frozenset[str], wanted: frozenset[str]) -> None:
    names.ensure_traits(session, wanted - before)


def _prepare_nothing(session: Session, before: frozenset[str], wanted: frozenset[str]) -> None:
    """Do nothing: a write creates missing aggregates."""


def _are_equal(one: frozenset[str], other: frozenset[str]) -> bool:
    return one == other


INVENTORIES = SubResource[Mapping[str, Inventory]](
    'inventories',
    frozenset({Feature.PROVIDERS}),
    parse=_parse_inventories,
    written=_write_inventories,
    are_equal=_are_inventories_equal,
    prepare=_prepare_inventories,
)

TRAITS = SubResource[frozenset[str]](
    'traits',
    frozenset({Feature.PROVIDERS}),
    parse=frozenset,
    written=sorted,
    are_equal=_are_equal,
    prepare=_prepare_traits,
)

AGGREGATES = SubResource[frozenset[str]](
    'aggregates',
    frozenset({Feature.PROVIDERS, Feature.AGGREGATES}),
    parse=frozenset,
    written=sorted,
    are_equal=_are_equal,
    prepare=_prepare_nothing,
)
