# SPDX-License-Identifier: Apache-2.0
"""The URL map: which action a method on a path means (specification: http, "Routes")."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any


class StatusBeforeIntroduction(enum.IntEnum):
    """What a route answers at versions older than the one that introduced it."""

    BAD_REQUEST = 400
    NOT_FOUND = 404
    METHOD_NOT_ALLOWED = 405


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """A method on a path.

    A route that `replies_json` refuses callers that do not accept JSON. With
    `body_before_version` the media types are checked before the version is asked for a handler.
    `reads_primary` keeps the action from reading from a replica, which may lag behind; an action
    that writes never does.
    """

    method: str
    path: str
    action: str
    replies_json: bool = False
    body_before_version: bool = False
    status_before_introduction: StatusBeforeIntroduction = StatusBeforeIntroduction.NOT_FOUND
    reads_primary: bool = False

    @property
    def allows_replica_read(self) -> bool:
        """Whether a replica may answer what the action reads."""
        return self.method == 'GET' and not self.reads_primary


PROVIDER = '/resource_providers/{uuid}'
INSIGHT = '/insight'
CAPACITY = INSIGHT + '/capacity'
INVENTORY = PROVIDER + '/inventories/{resource_class}'

# The methods of one path stand in the order in which `Allow` lists them.
ROUTES = (
    Route('GET', '/', 'root.show'),
    Route('GET', '', 'root.show'),
    Route('GET', '/resource_classes', 'resource_classes.list', replies_json=True),
    Route('POST', '/resource_classes', 'resource_classes.create'),
    Route('GET', '/resource_classes/{name}', 'resource_classes.show', replies_json=True),
    Route('PUT', '/resource_classes/{name}', 'resource_classes.put'),
    Route('DELETE', '/resource_classes/{name}', 'resource_classes.delete'),
    Route('GET', '/resource_providers', 'resource_providers.list', replies_json=True),
    Route('POST', '/resource_providers', 'resource_providers.create'),
    Route('GET', PROVIDER, 'resource_providers.show', replies_json=True),
    Route('DELETE', PROVIDER, 'resource_providers.delete'),
    Route('PUT', PROVIDER, 'resource_providers.update'),
    Route('GET', PROVIDER + '/inventories', 'inventories.list', replies_json=True),
    Route('POST', PROVIDER + '/inventories', 'inventories.create'),
    Route('PUT', PROVIDER + '/inventories', 'inventories.set'),
    Route(
        'DELETE',
        PROVIDER + '/inventories',
        'inventories.clear',
        status_before_introduction=StatusBeforeIntroduction.METHOD_NOT_ALLOWED,
    ),
    Route('GET', INVENTORY, 'inventories.show', replies_json=True),
    Route('PUT', INVENTORY, 'inventories.update'),
    Route('DELETE', INVENTORY, 'inventories.delete'),
    Route('GET', PROVIDER + '/usages', 'provider_usages.show', replies_json=True),
    Route(
        'GET',
        PROVIDER + '/aggregates',
        'aggregates.show',
        replies_json=True,
        body_before_version=True,
    ),
    Route('PUT', PROVIDER + '/aggregates', 'aggregates.set', body_before_version=True),
    Route('GET', PROVIDER + '/allocations', 'provider_allocations.list', replies_json=True),
    Route('GET', PROVIDER + '/traits', 'provider_traits.show', replies_json=True),
    Route('PUT', PROVIDER + '/traits', 'provider_traits.set'),
    Route('DELETE', PROVIDER + '/traits', 'provider_traits.clear'),
    Route('POST', '/allocations', 'allocations.set_many'),
    Route('GET', '/allocations/{consumer_uuid}', 'allocations.show', replies_json=True),
    Route('PUT', '/allocations/{consumer_uuid}', 'allocations.set'),
    Route('DELETE', '/allocations/{consumer_uuid}', 'allocations.delete'),
    Route(
        'GET',
        '/allocation_candidates',
        'allocation_candidates.list',
        replies_json=True,
        # A replica that lags may not have names that the snapshot, which never lags, is asked for.
        reads_primary=True,
    ),
    Route('GET', '/traits', 'traits.list', replies_json=True),
    Route('GET', '/traits/{name}', 'traits.show'),
    Route('PUT', '/traits/{name}', 'traits.put'),
    Route('DELETE', '/traits/{name}', 'traits.delete'),
    Route('GET', '/usages', 'usages.show', replies_json=True),
    Route('POST', '/reshaper', 'reshaper.reshape'),
    Route('GET', INSIGHT, 'insight.show', replies_json=True),
    Route(
        'GET',
        INSIGHT + '/allocation_candidates',
        'insight.explain',
        replies_json=True,
        status_before_introduction=StatusBeforeIntroduction.BAD_REQUEST,
        reads_primary=True,
    ),
    Route(
        'GET',
        CAPACITY,
        'insight.capacity',
        replies_json=True,
        status_before_introduction=StatusBeforeIntroduction.BAD_REQUEST,
        reads_primary=True,
    ),
    Route(
        'POST',
        CAPACITY,
        'insight.capacities',
        status_before_introduction=StatusBeforeIntroduction.BAD_REQUEST,
    ),
    # What this very worker has just written has to be there.
    Route(
        'GET',
        INSIGHT + '/unmet_demand',
        'insight.unmet_demand',
        replies_json=True,
        reads_primary=True,
    ),
    Route(
        'GET', INSIGHT + '/providers', 'insight.providers', replies_json=True, reads_primary=True
    ),
    Route(
        'GET', INSIGHT + '/consumers', 'insight.consumers', replies_json=True, reads_primary=True
    ),
    Route('GET', INSIGHT + '/usages', 'insight.usages', replies_json=True, reads_primary=True),
    Route('GET', INSIGHT + '/changes', 'insight.changes', replies_json=True, reads_primary=True),
    Route('GET', INSIGHT + '/history', 'insight.history', replies_json=True, reads_primary=True),
)


def is_insight(environ: Mapping[str, Any]) -> bool:
    """Whether the path is one of those beside the API, which are read at the newest version when
    the request names none."""
    path = environ.get('PATH_INFO', '')
    return path.startswith(INSIGHT) and path.removeprefix(INSIGHT)[:1] in ('', '/')
