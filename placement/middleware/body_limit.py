# SPDX-License-Identifier: Apache-2.0
"""Requests as a web server lets them through: without a method, or with bodies of any size."""

import io
import logging
from collections.abc import Iterable
from typing import Any
from wsgiref.types import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

from placement import errors
from placement.conf import ConfigOpts
from placement.http.error_response import send_error

#: In the place of a method that is not there: no route has it.
NONE = '-'


class RequestMethod:
    """The wrapped application, for environments that may lack the method of the request.

    uWSGI calls the application for some malformed requests without having found one.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ['REQUEST_METHOD'] = environ.get('REQUEST_METHOD') or NONE
        return self._application(environ, start_response)


LOG = logging.getLogger(__name__)

UNREADABLE = 'the body cannot be read to its end'


class BodyLimit:
    """The wrapped application, with an answer of 413 for a body beyond the configured size.

    It is refused by its announced length before anything of it is read. One that comes in chunks
    announces none: reading it ends with `errors.RequestTooLarge` one byte beyond the bound.
    """

    def __init__(self, application: WSGIApplication, conf: ConfigOpts) -> None:
        self._application = application
        self._most = conf.placement.max_request_body_size

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        length = environ.get('CONTENT_LENGTH') or ''
        # One that is no number is refused where requests are understood.
        if length.isascii() and length.isdigit():
            if _exceeds(length, self._most):
                error = errors.RequestTooLarge(most=self._most)
                return send_error(environ, start_response, error)
        elif not length and 'wsgi.input' in environ:
            environ['wsgi.input'] = LimitedInput(environ['wsgi.input'], self._most)
        return self._application(environ, start_response)


def _exceeds(digits: str, most: int) -> bool:
    """Compare a number with the limit; Python refuses to convert one of thousands of digits."""
    digits = digits.lstrip('0')
    return len(digits) > len(str(most)) or int(digits or '0') > most


class LimitedInput(io.RawIOBase):
    """A stream of bytes that raises `errors.RequestTooLarge` beyond `most` of them.

    It raises OSError where the stream cannot be read any further.
    """

    def __init__(self, stream: InputStream, most: int) -> None:
        self._stream = stream
        self._most = most
        self._left = most

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what fits into the buffer; the number of bytes, 0 at the end."""
        # One more than is left tells whether the body ends there.
        data = self._read(min(len(buffer), self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise errors.RequestTooLarge(most=self._most)
        buffer[: len(data)] = data
        return len(data)

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except OSError:
            raise
        except Exception as error:
            # Web servers have errors of their own for chunks that are malformed, as gunicorn 27
            # has: the client is at fault, and is told so in words of ours. The log has theirs.
            LOG.info('The body of a request cannot be read to its end: %r', error)
            raise OSError(UNREADABLE) from error
