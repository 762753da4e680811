# SPDX-License-Identifier: Apache-2.0
"""No 5xx response tells what only the log may have, whatever goes wrong."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement import routes
from placement.feed.follower_position import FollowerPosition
from placement.microversions import NEWEST

from .fixtures import applications, clouds, databases
from .fixtures.client import Client

PROVIDER = 'aaaaaaaa-0000-4000-8000-000000000001'
CALLER = {'x-auth-token': 'admin', 'x-roles': 'admin,service'}
BODIES = {
    'resource_providers.create': {'name': 'host'},
    'resource_providers.update': {'name': 'host'},
    'resource_classes.create': {'name': 'CUSTOM_A'},
    'inventories.create': {'resource_class': 'VCPU', 'total': 1},
    'inventories.set': {'resource_provider_generation': 0, 'inventories': {}},
    'inventories.update': {'resource_provider_generation': 0, 'total': 1},
    'aggregates.set': {'resource_provider_generation': 0, 'aggregates': []},
    'provider_traits.set': {'resource_provider_generation': 0, 'traits': []},
    'allocations.set': clouds.claim({PROVIDER: {'VCPU': 1}}, project_id='p', user_id='u'),
}
BODIES['insight.capacities'] = {'requests': {'small': 'resources=VCPU:1'}}
BODIES['allocations.set_many'] = {PROVIDER: BODIES['allocations.set']}
BODIES['reshaper.reshape'] = {
    'inventories': {PROVIDER: BODIES['inventories.set']},
    'allocations': {PROVIDER: BODIES['allocations.set']},
}
QUERIES = {
    'allocation_candidates.list': '?resources=VCPU:1',
    'usages.show': '?project_id=p',
    'insight.explain': '?resources=VCPU:1',
    'insight.capacity': '?resources=VCPU:1',
    'insight.usages': '?by=project',
    'insight.changes': f'?since={FollowerPosition(1, 1, 1, 1, 1, 1).encoded()}',
}
# These read nothing of the database.
WITHOUT_DATABASE = ('root.show', 'insight.show')
ROUTES = [route for route in routes.ROUTES if route.action not in WITHOUT_DATABASE]


@pytest.fixture(scope='module')
def broken() -> Iterator[applications.Service]:
    """A service whose tables were dropped behind its back."""
    # Of its own, because databases that are handed back keep their tables.
    database = databases.create_empty()
    databases.migrate(database.url)
    # Whatever the environment says: what is off does not fail.
    service = applications.Service(applications.insight_options('on'), database=database)
    engine = sa.create_engine(database.url)
    metadata = sa.MetaData()
    metadata.reflect(engine)
    metadata.drop_all(engine)
    engine.dispose()
    yield service
    service.stop()


@pytest.mark.parametrize('route', ROUTES, ids=lambda route: f'{route.method} {route.path}')
def test_failure_of_a_route_tells_nothing_of_the_database(
    broken: applications.Service, route: routes.Route
) -> None:
    client = Client(broken.application, CALLER)
    names = {'uuid': PROVIDER, 'consumer_uuid': PROVIDER}
    names |= {'resource_class': 'VCPU', 'name': 'CUSTOM_A'}
    path = route.path.format(**names) + QUERIES.get(route.action, '')

    # What the response says is checked by the client.
    answer = client.send(route.method, path, BODIES.get(route.action), version=NEWEST)

    assert answer.status >= 500, answer.text
