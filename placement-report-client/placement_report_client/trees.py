# SPDX-License-Identifier: Apache-2.0
"""Compares provider trees and writes the differences (specification: resource_providers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placement_report_client import errors, sub_resources
from placement_report_client.microversions import Feature
from placement_report_client.names import quoted
from placement_report_client.provider import Provider
from placement_report_client.session import Request, Session

NEEDS = frozenset({Feature.PROVIDERS})

# A provider as the API shows it.
Shown = Mapping[str, Any]


def ensure_tree(session: Session, provider: Provider, parent: str | None = None) -> None:
    """Make a provider and its descendants equal to the given tree.

    ``parent`` is the uuid of the top provider's parent; None leaves its parent unchanged, and
    makes a new provider a root.

    :raises errors.Conflict: concurrent writes to a provider prevented it at every attempt
    :raises errors.Gone: the parent, a standard trait or a standard class does not exist
    :raises errors.InUse: a resource class to be removed has allocations
    :raises errors.NameTaken: another provider has one of the names
    """
    path = f'/resource_providers?in_tree={quoted(provider.uuid)}'
    listed = session.send(Request('GET', path, NEEDS)).body()['resource_providers']
    present = {shown['uuid']: shown for shown in listed}
    for wanted, above in provider.with_parents(parent):
        _ensure_identity(session, wanted, above, present.get(wanted.uuid))
        _ensure_sub_resources(session, wanted)


def delete_provider(session: Session, uuid: str) -> bool:
    """Delete the provider if it exists; whether it did.

    :raises errors.Conflict: concurrent writes prevented it at every attempt
    :raises errors.InUse: it has children or allocations
    """
    try:
        session.send(Request('DELETE', f'/resource_providers/{quoted(uuid)}', NEEDS))
    except errors.Gone:
        return False
    return True


def _ensure_identity(
    session: Session, wanted: Provider, parent: str | None, present: Shown | None
) -> None:
    """Create the provider, or update its name and parent."""
    if present is None:
        try:
            _create(session, wanted, parent)
            return
        except errors.NameTaken:
            # The provider itself has the name if it is in another tree, if another client has just
            # created it, or if an earlier attempt did and its answer was lost.
            present = _find(session, wanted.uuid)
            if present is None:
                raise
    above = present['parent_provider_uuid']
    moves = parent is not None and parent != above
    if moves or present['name'] != wanted.name:
        _update(session, wanted, parent, needs={Feature.REPARENTING} if moves and above else set())


def _create(session: Session, wanted: Provider, parent: str | None) -> None:
    body = {'uuid': wanted.uuid, 'name': wanted.name, 'parent_provider_uuid': parent}
    # The client chooses the uuid, so a retry cannot create a second provider.
    session.send(Request('POST', '/resource_providers', NEEDS, lambda _version: body))


def _find(session: Session, uuid: str) -> Shown | None:
    try:
        shown: Shown = session.send(
            Request('GET', f'/resource_providers/{quoted(uuid)}', NEEDS)
        ).body()
    except errors.Gone:
        return None
    return shown


def _update(session: Session, wanted: Provider, parent: str | None, needs: set[Feature]) -> None:
    body = {'name': wanted.name}
    if parent is not None:
        body['parent_provider_uuid'] = parent
    path = f'/resource_providers/{quoted(wanted.uuid)}'
    session.send(Request('PUT', path, NEEDS | needs, lambda _version: body))


def _ensure_sub_resources(session: Session, wanted: Provider) -> None:
    if wanted.inventories is not None:
        sub_resources.ensure(session, wanted.uuid, sub_resources.INVENTORIES, wanted.inventories)
    if wanted.traits is not None:
        sub_resources.ensure(session, wanted.uuid, sub_resources.TRAITS, frozenset(wanted.traits))
    if wanted.aggregates is not None:
        sub_resources.ensure(
            session, wanted.uuid, sub_resources.AGGREGATES, frozenset(wanted.aggregates)
        )
