# SPDX-License-Identifier: Apache-2.0
"""GET /healthcheck answers 503 promptly while the database server is down, and 200 after."""

import time
from collections.abc import Callable

import pytest

from placement.microversions import NEWEST
from placement.tests.databases import servers
from placement.tests.functional.fixtures import applications, databases

ENDS: tuple[Callable[[servers.PrivateServer], None], ...] = (
    servers.PrivateServer.stop,
    lambda server: server.crash(),
)


@pytest.mark.parametrize('kind', [servers.Mariadb, servers.Postgresql])
def test_healthcheck_follows_the_database_server(
    kind: type[servers.PrivateServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def paused(seconds: float) -> None:
        pauses.append(seconds)
        sleep(seconds)

    sleep = time.sleep
    with servers.started(kind) as server:
        databases.migrate(server.service_url())
        with applications.serving(server.service_url()) as client:
            assert client.send('GET', '/healthcheck').status == 200
            for end in ENDS:
                end(server)
                with monkeypatch.context() as patched:
                    patched.setattr(time, 'sleep', paused)
                    for _ in range(3):
                        answer = client.send('GET', '/healthcheck')
                        assert answer.status == 503
                        assert answer.json['reasons'] == ['The database does not answer.']
                        assert client.send('GET', '/traits', version=NEWEST).status == 503
                server.start()
                assert client.send('GET', '/healthcheck').status == 200
                assert client.send('GET', '/traits', version=NEWEST).status == 200
    # No request waited as the start of a worker does, which waits minutes for its database.
    assert max(pauses) < 1
