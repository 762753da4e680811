# SPDX-License-Identifier: Apache-2.0
"""Resource providers by the name or the uuid that a user gives."""

from __future__ import annotations

import uuid
from typing import Any

from osc_lib import exceptions

from osc_placement_insight.service import Service

PATH = '/insight/providers'


def get_provider(service: Service, uuid_or_name: str) -> Any:
    """A provider as `GET /insight/providers` shows it without `include`.

    :raises osc_lib.exceptions.CommandError: there is none with this uuid, or of this name
    """
    if not uuid_or_name:
        # The service takes an empty name for none, and shows all providers.
        raise exceptions.CommandError('Name a resource provider; this name is empty.')
    member = 'uuid' if is_uuid(uuid_or_name) else 'name'
    for provider in service.ask(PATH, [(member, uuid_or_name)])['providers']:
        return provider
    raise exceptions.CommandError(
        f'There is no resource provider {uuid_or_name}. List them with "openstack resource '
        'provider list".'
    )


def is_uuid(text: str) -> bool:
    """True if a text is a uuid, in any of the ways to write one."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
