# SPDX-License-Identifier: Apache-2.0
"""One request gets an id, a default for Accept, and two lines in the log; a slow one gets a third.

Specification: http, "Responses and errors", "Request ids"; configuration, "Logging".
"""

import logging
import re
import time
import urllib.parse
from collections.abc import Iterable
from typing import Any
from wsgiref.headers import Headers
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement.context import RequestContext, quote_environ_for_log
from placement.http import environ_keys

LOG = logging.getLogger('placement.requestlog')

_REQUEST_ID = re.compile(r'req-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}')
# Characters that a path shows as they are; all else is percent-encoded, as it was sent.
_PLAIN = "/:@!$&'()*+,;=~-._"


class RequestLog:
    """The wrapped application, with request ids and log lines.

    A request whose response begins after `slow_seconds` or later is logged as a warning too; 0
    logs no such warning.
    """

    def __init__(self, application: WSGIApplication, slow_seconds: float = 0) -> None:
        self._application = application
        self._slow_seconds = slow_seconds

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started_at = time.perf_counter()
        # The caller is not authenticated yet. A context of its own keeps lines that are logged
        # until then from naming the caller of the previous request of this thread.
        context = RequestContext(global_request_id=_global_request_id(environ))
        environ[environ_keys.CONTEXT] = context
        environ[environ_keys.REQUEST_ID] = context.request_id
        environ[environ_keys.GLOBAL_REQUEST_ID] = context.global_request_id
        if environ.get('HTTP_ACCEPT', '').strip() in ('', '*/*'):
            environ['HTTP_ACCEPT'] = 'application/json'

        # Described now: inner middleware may move parts of the path to SCRIPT_NAME.
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
        """Log a request and its answer; the JSON of oslo.log has the fields beside the line."""
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
    """The id that the client sent for the request that this one is part of, if well formed."""
    sent = environ.get('HTTP_X_OPENSTACK_REQUEST_ID', '')
    return sent if _REQUEST_ID.fullmatch(sent) else None


def _describe(environ: WSGIEnvironment) -> dict[str, Any]:
    """Address, method, path and query, with blanks and quotes percent-encoded."""
    path = environ.get('SCRIPT_NAME', '') + environ.get('PATH_INFO', '')
    address = environ.get('REMOTE_ADDR')
    return {
        'address': quote_environ_for_log(address) if address else None,
        'method': quote_environ_for_log(environ['REQUEST_METHOD']),
        # WSGI decodes the bytes of a path as Latin-1, whatever they are.
        'path': urllib.parse.quote(path.encode('latin-1', 'replace'), safe=_PLAIN),
        'query': quote_environ_for_log(environ.get('QUERY_STRING', '')),
    }


def _line(fields: dict[str, Any]) -> str:
    """Address, method and URI, as the log lines show them."""
    uri = f'{fields["path"]}?{fields["query"]}' if fields['query'] else fields['path']
    return f'{fields["address"] or "-"} "{fields["method"]} {uri}"'
