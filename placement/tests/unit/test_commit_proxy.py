# SPDX-License-Identifier: Apache-2.0
"""The proxy before a database server simulates the configured faults of a network."""

import contextlib
import socket
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from placement.tests.functional.fixtures.commit_proxy import CommitProxy
from placement.tests.waiting import TIMEOUT


@contextlib.contextmanager
def forwarding(
    driver: str = 'mysql',
) -> Iterator[tuple[CommitProxy, socket.socket, socket.socket]]:
    """A proxy, and both ends of a connection through it: that of the client, and the server's."""
    with socket.create_server(('127.0.0.1', 0)) as listening:
        port = listening.getsockname()[1]
        with contextlib.closing(CommitProxy(f'{driver}://127.0.0.1:{port}', seed=1)) as proxy:
            address = ('127.0.0.1', sa.make_url(proxy.url).port or 0)
            with socket.create_connection(address) as client, listening.accept()[0] as server:
                yield proxy, client, server


def test_a_silent_network_loses_nothing_and_carries_nothing() -> None:
    with forwarding() as (proxy, client, server):
        proxy.freeze()
        client.sendall(b'asked')
        server.sendall(b'answered')
        for end in (client, server):
            end.settimeout(0.1)
            with pytest.raises(TimeoutError):
                end.recv(9)
            end.settimeout(None)
        proxy.thaw()

        assert (client.recv(9), server.recv(9)) == (b'answered', b'asked')


def test_a_cut_closes_both_ends_of_a_connection() -> None:
    with forwarding() as (proxy, client, server):
        client.settimeout(TIMEOUT)
        server.settimeout(TIMEOUT)
        client.sendall(b'asked')
        assert server.recv(9) == b'asked'
        proxy.cut()

        assert (client.recv(9), server.recv(9)) == (b'', b'')


@pytest.mark.parametrize('driver', ['mysql+pymysql', 'postgresql+psycopg'])
def test_it_cuts_nothing_where_it_saw_no_commit(driver: str) -> None:
    """Send data without a readable COMMIT, as an encrypted connection does."""
    with forwarding(driver) as (proxy, client, server):
        client.sendall(b'\x16\x03\x01 and what nobody reads')
        server.recv(99)
        with pytest.raises(AssertionError, match='no COMMIT'):
            proxy.share = 0.5
        assert proxy.share == 0.0

        client.sendall(b'\x07\0\0\0\x03COMMIT\0')
        server.recv(99)
        proxy.share = 0.5
        assert proxy.share == 0.5


@pytest.mark.parametrize(
    ('driver', 'refusals'),
    [
        ('mysql+pymysql', {'ssl_disabled': 'true'}),
        ('postgresql+psycopg', {'sslmode': 'disable', 'gssencmode': 'disable'}),
    ],
)
def test_drivers_do_not_encrypt(driver: str, refusals: dict[str, str]) -> None:
    url = f'{driver}://root@127.0.0.1:9/placement?connect_timeout=3'
    with contextlib.closing(CommitProxy(url, seed=1)) as proxy:
        _, options = sa.create_engine(proxy.url).dialect.create_connect_args(
            sa.make_url(proxy.url)
        )
    assert refusals.items() <= options.items()
    assert int(options['connect_timeout']) == 3
