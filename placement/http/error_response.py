# SPDX-License-Identifier: Apache-2.0
"""Error responses as JSON, HTML or plain text.

Specification: http, "Responses and errors".
"""

import functools
import re
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse

import webob
import webob.exc

from placement import errors
from placement.errors import shortened
from placement.http import environ_keys

Environ = dict[str, Any]

_BREAK = re.compile('<br.*?>', re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile('<!--|-->')
_TAG = re.compile('<.*?>', re.DOTALL)


def error_response(
    environ: Environ, status: int, detail: str, code: str | None = None, **extra: Any
) -> webob.Response:
    """The error response with this `detail`, in the format that the request accepts.

    `code` is None, and left out, below the microversion that introduced it and before the version
    is known. `extra` members are added to the error object.
    """

    def error_object(body: str, status: str, title: str, environ: Environ) -> dict[str, Any]:
        error: dict[str, Any] = {
            'status': problem.code,
            'title': title,
            'detail': without_tags(body),
        }
        if code is not None:
            error['code'] = code
        if environ_keys.REQUEST_ID in environ:
            error['request_id'] = environ[environ_keys.REQUEST_ID]
        return {'errors': [error | extra]}

    problem = _problem_class(status)(detail, json_formatter=error_object)
    return webob.Request(_environ_to_quote(environ)).get_response(problem)


def _environ_to_quote(environ: Environ) -> Environ:
    """The environ from which WebOb chooses a format, and which it quotes in a 405 and a 415.

    WebOb takes an empty Accept header for HTML, and shows a missing media type as nothing.
    """
    return environ | {
        'REQUEST_METHOD': shortened(environ['REQUEST_METHOD']),
        'HTTP_ACCEPT': environ.get('HTTP_ACCEPT') or 'application/json',
        'CONTENT_TYPE': shortened(environ.get('CONTENT_TYPE') or 'None'),
    }


def send_error(
    environ: Environ,
    start_response: StartResponse,
    error: errors.PlacementError,
    code: str | None = None,
) -> Iterable[bytes]:
    """Answer a request with an error."""
    response = error_response(environ, error.status, str(error), code)
    answer: Iterable[bytes] = response(environ, start_response)
    return answer


def without_tags(text: str) -> str:
    """The text as WebOb shows it in plain text and JSON: on one line, without tags.

    `webob.exc.strip_tags` searches for the end of each tag up to the end of the text, in quadratic
    time. This search ends at the last `>`, after which no tag begins, and takes linear time.
    """
    text = text.replace('\n', ' ').replace('\r', '')
    text = _replaced(_BREAK, '\n', text)
    return _replaced(_TAG, '', _COMMENT.sub('', text))


def _replaced(tag: re.Pattern[str], replacement: str, text: str) -> str:
    """The text with each tag of a kind replaced."""
    ended, last, rest = text.rpartition('>')
    return tag.sub(replacement, ended + last) + rest


@functools.cache
def _problem_class(status: int) -> type[webob.exc.WSGIHTTPException]:
    """The WebOb exception of a status, with `without_tags` instead of its own stripping."""

    class ErrorResponse(webob.exc.status_map[status]):
        def plain_body(self, environ: Environ) -> str:
            """The body that WebOb makes, with tags removed by `without_tags`."""
            body = without_tags(self._make_body(environ, webob.exc.no_escape))
            values = {'status': self.status, 'title': self.title, 'body': body}
            return str(self.plain_template_obj.substitute(values))

    return ErrorResponse
