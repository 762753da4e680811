# SPDX-License-Identifier: Apache-2.0
"""The body of an error, as JSON, HTML or plain text (contract: http.md 6)."""

from __future__ import annotations

from typing import Any

import webob
import webob.exc

Environ = dict[str, Any]


def error_response(
    environ: Environ, status: int, detail: str, code: str | None = None, **extra: Any
) -> webob.Response:
    """The answer that tells `detail`, in the form that the request accepts.

    `code` is left out when it is None: below the microversion that has it, and where no
    version was established. `extra` members are added to the error object.
    """

    def error_object(body: str, status: str, title: str, environ: Environ) -> dict[str, Any]:
        error: dict[str, Any] = {
            'status': problem.code,
            'title': title,
            'detail': webob.exc.strip_tags(body),
        }
        if code is not None:
            error['code'] = code
        if 'openstack.request_id' in environ:
            error['request_id'] = environ['openstack.request_id']
        return {'errors': [error | extra]}

    problem = webob.exc.status_map[status](detail, json_formatter=error_object)
    # webob leaves an empty header to its own default, which is HTML, and the place of a media
    # type that is not there to whoever reads the message.
    environ = environ | {
        'HTTP_ACCEPT': environ.get('HTTP_ACCEPT') or 'application/json',
        'CONTENT_TYPE': environ.get('CONTENT_TYPE') or 'None',
    }
    return webob.Request(environ).get_response(problem)
