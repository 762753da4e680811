# SPDX-License-Identifier: Apache-2.0
"""Request ids, a default for Accept, and the request's lines in the log.

Specification: http, "Responses and errors", "Request ids"; configuration, "Logging".
"""

import logging
import re
import time
from collections.abc import Iterable
from typing import Any
from wsgiref.headers import Headers
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement.context import LOGGED, RequestContext, quote_environ_for_log
from placement.errors import shortened
from placement.http import environ_keys

LOG = logging.getLogger('placement.requestlog')

_REQUEST_ID = re.compile(r'req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}')
# Characters of a path that the log shows unchanged; all others are percent-encoded.
_PLAIN = "/:@!$&'()*+,;=~-._"
# Maximum length of a field in a line, because clients without a token cause lines as well. A path
# contains a uuid and a resource class of up to 255 characters; few queries exceed a kilobyte.
MAX_FIELD = 1_024
MAX_QUERY = 4_096
# Maximum length of an Accept header: WebOb would parse thousands of media ranges.
MAX_ACCEPT = 8_192


class RequestLog:
    """The wrapped application, with request ids and log lines.

    A request whose response begins after `slow_seconds` or later is logged with a warning as well;
    0 disables this.
    """

    def __init__(self, application: WSGIApplication, slow_seconds: float = 0) -> None:
        self._application = application
        self._slow_seconds = slow_seconds

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started_at = time.perf_counter()
        # The caller is not authenticated yet. Without a new context, lines logged until then would
        # name the caller of the previous request of this thread.
        context = RequestContext(global_request_id=_global_request_id(environ))
        environ[environ_keys.CONTEXT] = context
        environ[environ_keys.REQUEST_ID] = context.request_id
        environ[environ_keys.GLOBAL_REQUEST_ID] = context.global_request_id
        accept = environ.get('HTTP_ACCEPT', '').strip()
        if accept in ('', '*/*') or len(accept) > MAX_ACCEPT:
            environ['HTTP_ACCEPT'] = 'application/json'

        # Described here, because inner middleware may move parts of the path to SCRIPT_NAME.
        request = _describe(environ)
        LOG.debug('Starting request: %s', _line(request))

        def start_logged(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            headers.append(('x-openstack-request-id', context.request_id))
            length = Headers(headers).get('Content-Length')
            answer = {
                'status': int(status[:3]),
                'length': None if length is None else int(length),
                'microversion': environ.get(environ_keys.MICROVERSION),
            }
            self._log(request | answer, time.perf_counter() - started_at)
            return start_response(status, headers, *exc_info)

        return self._application(environ, start_logged)

    def _log(self, fields: dict[str, Any], duration: float) -> None:
        """Log a request and its answer; the JSON format of oslo.log has the fields as well."""
        line = _line(fields)
        extra = {'extra': fields | {'duration': round(duration, 6)}}
        LOG.info(
            '%s status: %s len: %s microversion: %s duration: %.6f',
            line,
            fields['status'],
            '-' if fields['length'] is None else fields['length'],
            fields['microversion'] or '-',
            duration,
            extra=extra,
        )
        if 0 < self._slow_seconds <= duration:
            LOG.warning(
                'Slow request: %s took %.3f s ([placement] slow_request_seconds is %s).',
                line,
                duration,
                self._slow_seconds,
                extra=extra,
            )


def _global_request_id(environ: WSGIEnvironment) -> str | None:
    """The global request id that the client sent, if well formed."""
    sent = environ.get('HTTP_X_OPENSTACK_REQUEST_ID', '')
    return sent if _REQUEST_ID.fullmatch(sent) else None


def _describe(environ: WSGIEnvironment) -> dict[str, Any]:
    """The fields of a request, with blanks and quotes percent-encoded."""
    path = environ.get('SCRIPT_NAME', '') + environ.get('PATH_INFO', '')
    return {
        'address': _quoted(environ.get('REMOTE_ADDR') or '') or None,
        'method': _quoted(environ['REQUEST_METHOD']),
        'path': _quoted(path, safe=_PLAIN),
        'query': _quoted(environ.get('QUERY_STRING', ''), MAX_QUERY),
    }


def _quoted(text: str, most: int = MAX_FIELD, safe: str = LOGGED) -> str:
    """The text for a line, shortened with dots to `most` characters."""
    return shortened(quote_environ_for_log(text[: most + 1], safe), most)


def _line(fields: dict[str, Any]) -> str:
    """Address, method and URI for a line."""
    uri = f'{fields["path"]}?{fields["query"]}' if fields['query'] else fields['path']
    return f'{fields["address"] or "-"} "{fields["method"]} {uri}"'
