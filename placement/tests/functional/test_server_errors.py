# SPDX-License-Identifier: Apache-2.0
"""No 5xx response contains details that belong in the log only."""

import urllib.parse
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement import routes
from placement.microversions import NEWEST
from placement.routes import installed_surface

from .fixtures import applications, databases, valid_requests
from .fixtures.client import Client

CALLER = {'x-auth-token': 'admin', 'x-roles': 'admin,service'}
# These read nothing of the database.
WITHOUT_DATABASE = ('root.show', 'insight.show', 'insight.names')
ROUTES = [route for route in installed_surface().routes if route.action not in WITHOUT_DATABASE]


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
    names = {one: values[0] for one, values in valid_requests.names(route.path).items()}
    query = urllib.parse.urlencode(valid_requests.query(route.action, valid_requests.NEWEST))
    body = valid_requests.body(route, valid_requests.NEWEST)

    # What the response says is checked by the client.
    answer = client.send(
        route.method, f'{route.path.format(**names)}?{query}', body, version=NEWEST
    )

    assert answer.status >= 500, answer.text
