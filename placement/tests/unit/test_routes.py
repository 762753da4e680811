# SPDX-License-Identifier: Apache-2.0
"""The URL map (specification: http, "Routes", "Order of checks")."""

import collections

import pytest

from placement import routes
from placement.routes import StatusBeforeIntroduction

PROVIDER = '/resource_providers/{uuid}'

# The methods of each path in the order in which `Allow` shows them (specification: http,
# "Routes").
PATHS = {
    '/': 'GET',
    '': 'GET',
    '/resource_classes': 'GET, POST',
    '/resource_classes/{name}': 'GET, PUT, DELETE',
    '/resource_providers': 'GET, POST',
    PROVIDER: 'GET, DELETE, PUT',
    PROVIDER + '/inventories': 'GET, POST, PUT, DELETE',
    PROVIDER + '/inventories/{resource_class}': 'GET, PUT, DELETE',
    PROVIDER + '/usages': 'GET',
    PROVIDER + '/aggregates': 'GET, PUT',
    PROVIDER + '/allocations': 'GET',
    PROVIDER + '/traits': 'GET, PUT, DELETE',
    '/allocations': 'POST',
    '/allocations/{consumer_uuid}': 'GET, PUT, DELETE',
    '/allocation_candidates': 'GET',
    '/traits': 'GET',
    '/traits/{name}': 'GET, PUT, DELETE',
    '/usages': 'GET',
    '/reshaper': 'POST',
    '/insight': 'GET',
    '/insight/allocation_candidates': 'GET',
    '/insight/capacity': 'GET, POST',
    '/insight/unmet_demand': 'GET',
    '/insight/providers': 'GET',
    '/insight/consumers': 'GET',
    '/insight/usages': 'GET',
    '/insight/changes': 'GET',
    '/insight/history': 'GET',
}


def test_url_map_has_the_paths_and_methods_of_the_specification() -> None:
    methods: dict[str, list[str]] = collections.defaultdict(list)
    for route in routes.ROUTES:
        methods[route.path].append(route.method)

    assert {path: ', '.join(names) for path, names in methods.items()} == PATHS


def test_every_action_but_the_root_has_one_route() -> None:
    count = collections.Counter(route.action for route in routes.ROUTES)

    assert [action for action, routed in count.items() if routed > 1] == ['root.show']


def test_only_deletion_of_all_inventories_is_405_before_its_introduction() -> None:
    assert [
        (route.method, route.path)
        for route in routes.ROUTES
        if route.status_before_introduction is StatusBeforeIntroduction.METHOD_NOT_ALLOWED
    ] == [('DELETE', PROVIDER + '/inventories')]


def test_only_aggregates_check_media_types_before_the_version() -> None:
    assert {r.path for r in routes.ROUTES if r.body_before_version} == {PROVIDER + '/aggregates'}


def test_every_get_with_a_body_requires_that_json_is_accepted() -> None:
    """Except for the root, and for a trait, which is answered without a body."""
    silent = [r.path for r in routes.ROUTES if r.method == 'GET' and not r.replies_json]

    assert silent == ['/', '', '/traits/{name}']
    assert {r.method for r in routes.ROUTES if r.replies_json} == {'GET'}


@pytest.mark.parametrize('route', routes.ROUTES, ids=lambda route: f'{route.method} {route.path}')
def test_action_is_named_by_a_noun_and_a_verb(route: routes.Route) -> None:
    noun, dot, verb = route.action.partition('.')

    assert noun
    assert dot
    assert verb.replace('_', '').isalpha()
