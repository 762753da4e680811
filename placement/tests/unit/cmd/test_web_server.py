# SPDX-License-Identifier: Apache-2.0
"""Which addresses a server listens on, and what is said of those that cannot be had."""

import socket

import pytest

from placement.cmd import web_server


@pytest.mark.parametrize(
    ('host', 'url'), [('127.0.0.1', 'http://127.0.0.1:{}'), ('::1', 'http://[::1]:{}')]
)
def test_url_has_the_address_and_the_port_that_was_free(host: str, url: str) -> None:
    with web_server.listen(host, 0) as listening:
        assert web_server.url_of(listening) == url.format(listening.getsockname()[1])


@pytest.mark.parametrize(
    ('host', 'port'), [('192.0.2.1', 1), ('127.0.0.1', 65536), ('host.invalid', 1), ('ü' * 70, 1)]
)
def test_an_address_that_nobody_can_have_is_not_taken(host: str, port: int) -> None:
    with pytest.raises(web_server.CannotListen) as caught:
        web_server.listen(host, port)

    assert str(caught.value).startswith(f'cannot listen on {host} port {port}: ')
    assert not caught.value.is_taken


@pytest.mark.parametrize(
    ('error', 'words'),
    [
        (OSError(13, 'whatever'), 'Permission denied'),
        (socket.gaierror(-2, 'Name or service not known'), 'Name or service not known'),
        (ValueError('two\n lines'), 'two lines'),
        (ValueError(), 'ValueError'),
    ],
)
def test_an_error_is_one_line(error: Exception, words: str) -> None:
    assert web_server.words_of(error) == words
