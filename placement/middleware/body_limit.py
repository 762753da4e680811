# SPDX-License-Identifier: Apache-2.0
"""Limits for requests that web servers pass on: with large bodies, or without a method."""

import io
import logging
from collections.abc import Iterable
from typing import Any
from wsgiref.types import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

from placement import errors
from placement.errors import shortened
from placement.http.error_response import send_error
from placement.middleware import unread_body

#: Replaces a missing method; no route has it.
NONE = '-'


class RequestMethod:
    """Adds a missing request method: uWSGI passes some malformed requests on without one."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ['REQUEST_METHOD'] = environ.get('REQUEST_METHOD') or NONE
        return self._application(environ, start_response)


LOG = logging.getLogger(__name__)

UNREADABLE = 'the body cannot be read to its end'


class BodyLimit:
    """The wrapped application, with an answer of 413 for a body of more than `most` bytes.

    A body with Content-Length is refused before any of it is read. A chunked body is read up to
    one byte beyond the limit, which raises `errors.RequestTooLarge`; under uWSGI, which does not
    read chunks, it is refused with 411.

    The rest of a body that the application has not read is dropped.
    """

    def __init__(self, application: WSGIApplication, most: int) -> None:
        self._application = application
        self._most = most

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        length = environ.get('CONTENT_LENGTH') or ''
        # Later layers refuse a length that is not a number.
        if length.isascii() and length.isdigit():
            return self._answer(environ, start_response, _size(length, 2 * self._most))
        if not length and 'wsgi.input' in environ:
            if 'uwsgi.version' in environ and 'HTTP_TRANSFER_ENCODING' in environ:
                return self._refuse_chunks(environ, start_response)
            _limit(environ, self._most)
        return self._application(environ, start_response)

    def _refuse_chunks(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """The answer to a chunked request that the web server does not read."""
        answer = send_error(environ, start_response, errors.LengthRequired())
        client = unread_body.descriptor(environ)
        if client is not None:
            unread_body.drop(unread_body.Chunks(client, self._most), client)
        return answer

    def _answer(
        self, environ: WSGIEnvironment, start_response: StartResponse, size: int
    ) -> Iterable[bytes]:
        """The answer to a request with Content-Length."""
        client = unread_body.descriptor(environ)
        body = _limit(environ, size)
        if size > self._most:
            error = errors.RequestTooLarge(most=self._most)
            answer = send_error(environ, start_response, error)
        else:
            answer = self._application(environ, start_response)
        # The rest of a body far beyond the limit is not read: the connection ends.
        if client is not None and size <= 2 * self._most:
            unread_body.drop(body, client)
        return answer


def _size(digits: str, most: int) -> int:
    """A number, at most `most` + 1. Python refuses to convert thousands of digits."""
    digits = digits.lstrip('0')
    return most + 1 if len(digits) > len(str(most)) else min(int(digits or '0'), most + 1)


class LimitedInput(io.RawIOBase):
    """A stream of bytes that raises `errors.RequestTooLarge` beyond `most` of them.

    It raises OSError where the stream cannot be read any further. `left` counts down from `most`.
    """

    def __init__(self, stream: InputStream, most: int) -> None:
        self._stream = stream
        self._most = most
        self.left = most

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what fits into the buffer; the number of bytes, 0 at the end."""
        # One byte more than is left shows if the body exceeds the limit.
        data = self._read(min(len(buffer), self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise errors.RequestTooLarge(most=self._most)
        buffer[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except OSError:
            raise
        except Exception as error:
            # Web servers such as gunicorn 27 raise errors of their own for malformed chunks. The
            # client is at fault and gets our message; the log has the web server's.
            LOG.info('The body of a request cannot be read to its end: %s', shortened(repr(error)))
            raise OSError(UNREADABLE) from error


def _limit(environ: WSGIEnvironment, size: int) -> LimitedInput:
    """Replace the body of a request by one that limits reads."""
    # WebOb sets the flag for bodies that it created, and would rewind this one.
    environ.pop('webob.is_body_seekable', None)
    body = environ['wsgi.input'] = LimitedInput(environ['wsgi.input'], size)
    return body
