# SPDX-License-Identifier: Apache-2.0
"""The bound on the body of a request (configuration, ``max_request_body_size``)."""

import io
import logging
from typing import Any

import pytest
import webob

from placement import errors
from placement.middleware import body_limit
from placement.tests.unit.middleware.samples import Inner, error_of

MOST = 64 << 10


@pytest.mark.parametrize('length', [str(MOST + 1), str(1 << 30), '9' * 5000, f'000{MOST + 1}'])
def test_body_beyond_the_bound_is_refused_unread(length: str) -> None:
    # It has no `read`.
    response, inner = ask(object(), length)

    assert response.status_int == 413
    assert error_of(response)['title'] == 'Request Entity Too Large'
    assert str(MOST) in error_of(response)['detail']
    assert not inner.environ


@pytest.mark.parametrize('length', ['', '0', '1', str(MOST), '0000000', 'x', '-1', '\u0663'])
def test_other_content_lengths_are_accepted(length: str) -> None:
    response, inner = ask(io.BytesIO(b''), length)

    assert response.status_int == 204
    assert inner.environ


@pytest.mark.parametrize('size', [-1, 1000, MOST + 1])
def test_body_without_a_length_is_not_read_beyond_the_bound(size: int) -> None:
    _, inner = ask(io.BytesIO(b'x' * MOST), '')
    limited = inner.environ['wsgi.input']
    assert b''.join(iter(lambda: limited.read(size), b'')) == b'x' * MOST

    stream = io.BytesIO(b'x' * (MOST + 100_000))
    _, inner = ask(stream, '')
    limited = inner.environ['wsgi.input']

    with pytest.raises(errors.RequestTooLarge, match=str(MOST)):
        list(iter(lambda: limited.read(size), b''))
    assert stream.tell() == MOST + 1


def test_malformed_chunks_are_a_failure_of_the_client(caplog: pytest.LogCaptureFixture) -> None:
    class InvalidChunkSize(Exception):
        """The error of gunicorn 27, which is no `OSError`."""

    class Chunks:
        def read(self, *arguments: object) -> bytes:
            raise InvalidChunkSize('z')

    caplog.set_level(logging.INFO)
    _, inner = ask(Chunks(), '')

    # Nothing of the web server, which the client would be told.
    with pytest.raises(OSError, match=r'^the body cannot be read to its end$'):
        inner.environ['wsgi.input'].read(1)
    assert "InvalidChunkSize('z')" in caplog.text


def test_body_in_chunks_is_refused_under_uwsgi() -> None:
    chunked = {'HTTP_TRANSFER_ENCODING': 'chunked'}
    response, inner = ask(object(), '', **chunked, **{'uwsgi.version': b'2.0.30'})

    assert response.status_int == 411
    assert 'send it with a Content-Length' in error_of(response)['detail']
    assert not inner.environ

    response, _ = ask(io.BytesIO(), '', **chunked)
    assert response.status_int == 204


def ask(stream: Any, length: str, **environ: Any) -> tuple[webob.Response, Inner]:
    """The answer to a request with this body, and the application inside."""
    inner = Inner()
    request = webob.Request.blank('/')
    request.environ['wsgi.input'] = stream
    request.environ['CONTENT_LENGTH'] = length
    request.environ |= environ
    return request.get_response(body_limit.BodyLimit(inner, MOST)), inner
