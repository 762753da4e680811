# SPDX-License-Identifier: Apache-2.0
"""Counts requests."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement.http import environ_keys
from placement.metrics import catalog

if TYPE_CHECKING:
    from placement.metrics.recorder import Recorder

#: The action of requests without a route.
NO_ACTION = 'none'

#: The actions of paths that are answered before the routes, by path.
OUTSIDE_ROUTES = {'/healthcheck': 'healthcheck', '/metrics': 'metrics'}

METHODS = frozenset({'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'})
OTHER = 'other'


class HTTPMetrics:
    """The wrapped application, whose requests are counted."""

    def __init__(self, application: WSGIApplication, recorder: Recorder) -> None:
        self._application = application
        self._recorder = recorder

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started_at = time.perf_counter()
        # The web server answers with 500 if the application raises.
        sent = '500'

        def start_counted(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
            nonlocal sent
            sent = status[:3]
            return start_response(status, headers, *exc_info)

        try:
            return self._application(environ, start_counted)
        finally:
            self._count(environ, sent, time.perf_counter() - started_at)

    def _count(self, environ: WSGIEnvironment, status: str, seconds: float) -> None:
        recorder = self._recorder
        action = environ.get(environ_keys.ACTION)
        if action is None:
            action = OUTSIDE_ROUTES.get(environ.get('PATH_INFO', ''), NO_ACTION)
        method = environ['REQUEST_METHOD']
        if method not in METHODS:
            method = OTHER
        recorder.add(catalog.HTTP_REQUESTS, (action, method, status))
        recorder.observe(catalog.HTTP_DURATION, (action, method), seconds)
        if environ_keys.CONFLICT in environ:
            recorder.add(catalog.CONFLICTS, (environ[environ_keys.CONFLICT],))
        recorder.update_gauges()
