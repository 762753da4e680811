# SPDX-License-Identifier: Apache-2.0
"""The URL map: which action a method on a path means (specification: http, "Routes")."""

import dataclasses
from collections.abc import Mapping
from typing import Any

PROVIDER = '/resource_providers/{uuid}'
INSIGHT = '/insight'
INVENTORY = PROVIDER + '/inventories/{resource_class}'


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """A method on a path.

    A GET refuses callers that do not accept JSON, unless it `has_no_json`. With
    `body_before_version` the media types are checked before the version is asked for a handler.
    Versions older than the one that introduced it answer with `status_before`.
    The caller is authorised for its own project or, with `names_project`, for the one that the
    query names, before the query is validated.
    `reads_primary` keeps the action from reading from a replica, which may lag behind; an action
    that writes never does, and nothing below `/insight`.
    """

    method: str
    path: str
    action: str
    has_no_json: bool = False
    body_before_version: bool = False
    status_before: int = 404
    names_project: bool = False
    reads_primary: bool = False

    @property
    def is_public(self) -> bool:
        """Test whether no rule guards the route: everybody may read the document at the root."""
        return self.action == 'root.show'

    @property
    def question(self) -> str | None:
        """The name of the question below `/insight` that the action answers; None for others."""
        prefix = f'{INSIGHT}/'
        return self.path.removeprefix(prefix) if self.path.startswith(prefix) else None

    @property
    def replies_json(self) -> bool:
        """Test whether the reply of a read is JSON."""
        return self.method == 'GET' and not self.has_no_json

    @property
    def allows_replica_read(self) -> bool:
        """Test whether a replica may answer the action."""
        is_insight = self.path.startswith(INSIGHT)
        return self.method == 'GET' and not self.reads_primary and not is_insight


# The methods of one path stand in the order in which `Allow` lists them.
ROUTES = (
    Route('GET', '/', 'root.show', has_no_json=True),
    Route('GET', '', 'root.show', has_no_json=True),
    Route('GET', '/resource_classes', 'resource_classes.list'),
    Route('POST', '/resource_classes', 'resource_classes.create'),
    Route('GET', '/resource_classes/{name}', 'resource_classes.show'),
    Route('PUT', '/resource_classes/{name}', 'resource_classes.put'),
    Route('DELETE', '/resource_classes/{name}', 'resource_classes.delete'),
    Route('GET', '/resource_providers', 'resource_providers.list'),
    Route('POST', '/resource_providers', 'resource_providers.create'),
    Route('GET', PROVIDER, 'resource_providers.show'),
    Route('DELETE', PROVIDER, 'resource_providers.delete'),
    Route('PUT', PROVIDER, 'resource_providers.update'),
    Route('GET', PROVIDER + '/inventories', 'inventories.list'),
    Route('POST', PROVIDER + '/inventories', 'inventories.create'),
    Route('PUT', PROVIDER + '/inventories', 'inventories.set'),
    Route('DELETE', PROVIDER + '/inventories', 'inventories.clear', status_before=405),
    Route('GET', INVENTORY, 'inventories.show'),
    Route('PUT', INVENTORY, 'inventories.update'),
    Route('DELETE', INVENTORY, 'inventories.delete'),
    Route('GET', PROVIDER + '/usages', 'provider_usages.show'),
    Route('GET', PROVIDER + '/aggregates', 'aggregates.show', body_before_version=True),
    Route('PUT', PROVIDER + '/aggregates', 'aggregates.set', body_before_version=True),
    Route('GET', PROVIDER + '/allocations', 'provider_allocations.list'),
    Route('GET', PROVIDER + '/traits', 'provider_traits.show'),
    Route('PUT', PROVIDER + '/traits', 'provider_traits.set'),
    Route('DELETE', PROVIDER + '/traits', 'provider_traits.clear'),
    Route('POST', '/allocations', 'allocations.set_many'),
    Route('GET', '/allocations/{consumer_uuid}', 'allocations.show'),
    Route('PUT', '/allocations/{consumer_uuid}', 'allocations.set'),
    Route('DELETE', '/allocations/{consumer_uuid}', 'allocations.delete'),
    # A replica that lags may not have names that the snapshot, which never lags, is asked for.
    Route('GET', '/allocation_candidates', 'allocation_candidates.list', reads_primary=True),
    Route('GET', '/traits', 'traits.list'),
    Route('GET', '/traits/{name}', 'traits.show', has_no_json=True),
    Route('PUT', '/traits/{name}', 'traits.put'),
    Route('DELETE', '/traits/{name}', 'traits.delete'),
    Route('GET', '/usages', 'usages.show', names_project=True),
    Route('POST', '/reshaper', 'reshaper.reshape'),
    Route('GET', INSIGHT, 'insight.show'),
    Route('GET', INSIGHT + '/allocation_candidates', 'insight.explain', status_before=400),
    Route('POST', INSIGHT + '/allocation_candidates', 'insight.explain_after', status_before=400),
    Route('GET', INSIGHT + '/capacity', 'insight.capacity', status_before=400),
    Route('POST', INSIGHT + '/capacity', 'insight.capacities', status_before=400),
    Route('POST', INSIGHT + '/survival', 'insight.survival', status_before=400),
    Route('POST', INSIGHT + '/drain', 'insight.drain', status_before=400),
    Route('POST', INSIGHT + '/moves', 'insight.moves', status_before=400),
    Route('GET', INSIGHT + '/unmet_demand', 'insight.unmet_demand'),
    Route('GET', INSIGHT + '/providers', 'insight.providers'),
    Route('GET', INSIGHT + '/consumers', 'insight.consumers'),
    Route('GET', INSIGHT + '/usages', 'insight.usages'),
    Route('GET', INSIGHT + '/changes', 'insight.changes'),
    Route('GET', INSIGHT + '/names', 'insight.names'),
    Route('GET', INSIGHT + '/history', 'insight.history'),
)


def is_insight(environ: Mapping[str, Any]) -> bool:
    """Test whether the path is beside the API: at the newest version if the request names none."""
    path = environ.get('PATH_INFO', '')
    return path.startswith(INSIGHT) and path.removeprefix(INSIGHT)[:1] in ('', '/')
