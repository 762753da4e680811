# SPDX-License-Identifier: Apache-2.0
"""The URL map: the action of each method on each path (specification: http, "Routes").

`ROUTES` are the routes of the core. A `Surface` adds the routes of extensions, and has one `Api`
per microversion.
"""

import dataclasses
import functools
from collections.abc import Sequence

from placement import extension, microversions
from placement.extension import Extension
from placement.http import microversion
from placement.http.microversion import Api, Apis
from placement.http.route import Route

PROVIDER = '/resource_providers/{uuid}'
# The variables in paths that are uuids of providers and consumers.
UUIDS = frozenset({'uuid', 'consumer_uuid'})
INVENTORY = PROVIDER + '/inventories/{resource_class}'

# The methods of a path are in the order in which `Allow` lists them.
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
    # A replica that lags behind may lack names that are in the snapshot already.
    Route('GET', '/allocation_candidates', 'allocation_candidates.list', reads_primary=True),
    Route('GET', '/traits', 'traits.list'),
    Route('GET', '/traits/{name}', 'traits.show', has_no_json=True),
    Route('PUT', '/traits/{name}', 'traits.put'),
    Route('DELETE', '/traits/{name}', 'traits.delete'),
    Route('GET', '/usages', 'usages.show', names_project=True),
    Route('POST', '/reshaper', 'reshaper.reshape'),
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Every route, and one `Api` per microversion."""

    routes: Sequence[Route]
    apis: Apis
    # Below these paths a request without a microversion gets the newest one.
    newest_below: Sequence[str] = ()

    def negotiated(self, header: str | None, path: str = '/') -> Api:
        """The version that `OpenStack-API-Version` requests on a path.

        :raises errors.InvalidVersion: the header names no version
        :raises errors.UnacceptableVersion: the version is not served
        """
        is_newest = any(_is_below(path, place) for place in self.newest_below)
        otherwise = microversions.NEWEST if is_newest else None
        return microversion.negotiated(self.apis, header, otherwise)

    def introduced(self, action: str) -> str:
        """The version that introduced an action."""
        served = (api for api in self.apis.values() if action in api.handlers)
        return str(next(served).version)


def surface_of(extensions: Sequence[Extension]) -> Surface:
    """The API with the additions of extensions."""
    added = [route for each in extensions for route in each.routes()]
    return Surface(
        (*ROUTES, *added),
        microversion.fold(microversion.extended(microversions.HISTORY, added)),
        [each.newest_below for each in extensions if each.newest_below is not None],
    )


@functools.cache
def installed_surface() -> Surface:
    """The API with the additions of all installed extensions."""
    return surface_of(extension.list_installed())


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f'{place}/')
