# SPDX-License-Identifier: Apache-2.0
"""Error responses as JSON, HTML or plain text.

Specification: http, "Responses and errors".
"""

import functools
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse

import webob
import webob.exc

from placement import errors
from placement.http import environ_keys

Environ = dict[str, Any]


def error_response(
    environ: Environ, status: int, detail: str, code: str | None = None, **extra: Any
) -> webob.Response:
    """The error response with this `detail`, in the format that the request accepts.

    `code` is left out when it is None: below the microversion that has it, and where no
    version was established. `extra` members are added to the error object.
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
    # WebOb takes an empty Accept header for HTML, and shows a missing media type as nothing.
    environ = environ | {
        'HTTP_ACCEPT': environ.get('HTTP_ACCEPT') or 'application/json',
        'CONTENT_TYPE': environ.get('CONTENT_TYPE') or 'None',
    }
    return webob.Request(environ).get_response(problem)


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
    """The text as WebOb shows it where it is not HTML: on one line, and without anything in tags.

    WebOb alone would look for the end of each tag up to the end of the text. Of a text with
    thousands of `<` and no `>`, which any client can have us quote, that is minutes.
    """
    ended, last, rest = text.rpartition('>')
    stripped: str = webob.exc.strip_tags(ended + last)
    return stripped + rest.replace('\n', ' ').replace('\r', '').replace('<!--', '')


@functools.cache
def _problem_class(status: int) -> type[webob.exc.WSGIHTTPException]:
    """The answers of one status."""

    class ErrorResponse(webob.exc.status_map[status]):
        def plain_body(self, environ: Environ) -> str:
            """As that of WebOb, with its tags removed our way."""
            body = without_tags(self._make_body(environ, webob.exc.no_escape))
            values = {'status': self.status, 'title': self.title, 'body': body}
            return str(self.plain_template_obj.substitute(values))

    return ErrorResponse
