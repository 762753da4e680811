# SPDX-License-Identifier: Apache-2.0
"""No request, however odd, breaks the service, and a refused request changes nothing."""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import sqlalchemy as sa

from placement.tests.thorough import examples

from . import odd_requests
from .fixtures import applications, databases, valid_requests
from .fixtures.client import Answer, Client
from .fixtures.valid_requests import NEWEST as NEWEST_MINOR

# A refused request leaves no row of the history either. Unmet demand is written later, after the
# answer to any request.
OPTIONS = {('history', 'enabled'): True, ('insight', 'unmet_demand'): False}

REQUEST_ID = re.compile(r'^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')

#: The same requests in every run: a failure is a defect, not bad luck.
PROFILE = hypothesis.settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
)


@functools.cache
def populated_database() -> databases.Contents:
    """Return the contents of a database with the populated cloud."""
    service = applications.Service(OPTIONS)
    valid_requests.populate(Client(service.application))
    contents = service.database.contents()
    service.stop()
    return contents


class Watched:
    """A service with a populated database, and an eye on all that is written to it."""

    def __init__(self) -> None:
        self.service = applications.Service(OPTIONS, contents=populated_database())
        self.client = Client(self.service.application)
        self._is_changed = False
        self._has_written: set[sa.Connection] = set()
        for name in ('before_cursor_execute', 'commit', 'rollback'):
            sa.event.listen(self.service.engine, name, getattr(self, f'_{name}'))

    def _before_cursor_execute(self, connection: sa.Connection, *arguments: Any) -> None:
        if arguments[1].split()[0] in ('INSERT', 'UPDATE', 'DELETE'):
            self._has_written.add(connection)

    def _commit(self, connection: sa.Connection) -> None:
        self._is_changed |= connection in self._has_written

    def _rollback(self, connection: sa.Connection) -> None:
        self._has_written.discard(connection)

    def send(self, call: odd_requests.Call) -> Answer:
        """The answer to a call, which is never a failure and, when a refusal, without effect."""
        answer = self.client.send(
            call.method,
            call.path,
            call.content,
            version=f'1.{call.version}',
            headers=call.headers,
        )
        self.check(call, answer)
        return answer

    def check(self, call: odd_requests.Call, answer: Answer) -> None:
        """Assert what holds for every answer."""
        assert answer.status < 500, f'{call}: {answer.status} {answer.body[:2000]!r}'
        assert REQUEST_ID.match(answer.headers['x-openstack-request-id']), answer.headers
        if answer.headers.get('content-type', '').startswith('application/json'):
            json.loads(answer.body)
        self._has_written.clear()
        if self._is_changed:
            self._is_changed = False
            self.service.database.restore(populated_database())
            assert answer.status < 400, f'{call}: refused, and changed the database'

    def stop(self) -> None:
        """Remove the database."""
        self.service.stop()


@pytest.fixture(scope='module')
def watched() -> Iterator[Watched]:
    service = Watched()
    yield service
    service.stop()


@pytest.mark.parametrize('action', odd_requests.ROUTES)
def test_malformed_requests_are_refused_without_effect(watched: Watched, action: str) -> None:
    reads_much = action in valid_requests.BODIES or action in valid_requests.QUERIES
    # Hardly any of them reach the database: on servers a quarter is tried.
    count = examples(200 if reads_much else 60) // (1 if databases.backend() == 'sqlite' else 4)

    @hypothesis.settings(PROFILE, max_examples=count)
    @hypothesis.given(odd_requests.calls(odd_requests.ROUTES[action]))
    def send(call: odd_requests.Call) -> None:
        watched.send(call)

    send()


DEEP = 100_000
LARGE = 10 * 1024 * 1024
HARD_BODIES = {
    'deep lists': b'[' * DEEP + b']' * DEEP,
    'deep objects': b'{"a":' * DEEP + b'1' + b'}' * DEEP,
    'deep and open': b'[' * DEEP,
    'deep within a member': b'{"name": ' + b'[' * DEEP + b']' * DEEP + b'}',
    'less deep within a member': b'{"name": ' + b'[' * 800 + b']' * 800 + b'}',
    'a large text': b'{"name": "' + b'a' * LARGE + b'"}',
    'a large list': b'[' + b'0,' * (LARGE // 2) + b'0]',
    'large blanks': b' ' * LARGE + b'{}',
    'a large number': b'{"name": ' + b'9' * 100_000 + b'}',
    'a large fraction': b'{"name": 0.' + b'9' * 100_000 + b'}',
    'many members': b'{' + b','.join(b'"a%d": 1' % n for n in range(50_000)) + b'}',
    'one member many times': b'{' + b','.join([b'"name": 1'] * 50_000) + b'}',
}
WITH_BODY = [action for action in odd_requests.ROUTES if action in valid_requests.BODIES]
#: What is slow to read is read by these only: a list, an object, and objects by name.
READING_LARGE_BODIES = ('aggregates.set', 'resource_providers.create', 'reshaper.reshape')


@pytest.mark.parametrize('body', HARD_BODIES)
def test_extreme_bodies_are_refused_without_effect(watched: Watched, body: str) -> None:
    large = len(HARD_BODIES[body]) > LARGE
    for name in READING_LARGE_BODIES if large else WITH_BODY:
        route = odd_requests.ROUTES[name]
        names = {one: values[0] for one, values in valid_requests.names(route.path).items()}
        segments = route.path.format(**names).strip('/').split('/')
        # Classes are renamed by a body at no later version.
        version = 6 if name == 'resource_classes.put' else NEWEST_MINOR
        call = odd_requests.Call(route.method, segments, version, raw_body=HARD_BODIES[body])
        answer = watched.send(call)
        assert answer.status in (400, 413), f'{name}: {answer.status}'
