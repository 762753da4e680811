# SPDX-License-Identifier: Apache-2.0
"""Trees of providers: compared, and sent where they differ (specification: resource_providers)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placement.client import errors, sub_resources
from placement.client.microversions import Feature
from placement.client.names import quoted
from placement.client.provider import Provider
from placement.client.session import Request, Session

NEEDS = frozenset({Feature.PROVIDERS})

# A provider as the API shows it.
Shown = Mapping[str, Any]


def ensure_tree(session: Session, provider: Provider, parent: str | None = None) -> None:
    """Have a provider and those below it as they are wanted.

    ``parent`` is where the uppermost one belongs; None leaves it where it is, and makes a new one
    a root.

    :raises errors.Conflict: others have changed a provider again and again
    :raises errors.Gone: the parent is not there, or a standard trait or class is not known
    :raises errors.InUse: a resource class that is to go has allocations
    :raises errors.NameTaken: another provider has a name that is wanted
    """
    path = f'/resource_providers?in_tree={quoted(provider.uuid)}'
    listed = session.send(Request('GET', path, NEEDS)).body()['resource_providers']
    present = {shown['uuid']: shown for shown in listed}
    for wanted, above in provider.with_parents(parent):
        _ensure_identity(session, wanted, above, present.get(wanted.uuid))
        _ensure_parts(session, wanted)


def delete_provider(session: Session, uuid: str) -> bool:
    """Have no such provider; whether there was one.

    :raises errors.Conflict: others were in the way again and again
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
    """Have the provider there by its name, below its parent."""
    if present is None:
        try:
            _create(session, wanted, parent)
            return
        except errors.NameTaken:
            # By itself, if it is in another tree, or somebody was faster, or the answer to a
            # first try got lost.
            present = _find(session, wanted.uuid)
            if present is None:
                raise
    above = present['parent_provider_uuid']
    moves = parent is not None and parent != above
    if moves or present['name'] != wanted.name:
        _update(session, wanted, parent, needs={Feature.REPARENTING} if moves and above else set())


def _create(session: Session, wanted: Provider, parent: str | None) -> None:
    body = {'uuid': wanted.uuid, 'name': wanted.name, 'parent_provider_uuid': parent}
    # The uuid is ours, so a second sending cannot create a second one.
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


def _ensure_parts(session: Session, wanted: Provider) -> None:
    if wanted.inventories is not None:
        sub_resources.ensure(session, wanted.uuid, sub_resources.INVENTORIES, wanted.inventories)
    if wanted.traits is not None:
        sub_resources.ensure(session, wanted.uuid, sub_resources.TRAITS, frozenset(wanted.traits))
    if wanted.aggregates is not None:
        sub_resources.ensure(
            session, wanted.uuid, sub_resources.AGGREGATES, frozenset(wanted.aggregates)
        )
