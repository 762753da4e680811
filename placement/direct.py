# SPDX-License-Identifier: Apache-2.0
"""The service in the process of its client, without a socket.

For tools and for functional tests of other projects (specification: configuration, "Entry points
for Python").
"""

import io
from typing import Any
from wsgiref.types import WSGIApplication

import requests
import urllib3
import webob
from keystoneauth1 import adapter, session
from requests import adapters

from placement import deploy
from placement.conf import ConfigOpts
from placement.feed.sink import open_database

# The name is not resolved: the transport of the session calls the application.
URL = 'http://placement.direct'


class PlacementDirect:
    """A context manager for a keystoneauth1 adapter to a new service, configured by ``conf``.

    Requests have the rights of an administrator. Paths begin with ``/``, and answers of 4xx and
    5xx are returned, not raised. Requests without a microversion use the oldest one, or the newest
    with ``latest_microversion``. In ``conf``, ``[api] auth_strategy`` is set to ``noauth2``.
    """

    def __init__(self, conf: ConfigOpts, latest_microversion: bool = False) -> None:
        self._conf = conf
        self._headers = {'x-auth-token': 'admin'}
        if latest_microversion:
            self._headers['OpenStack-API-Version'] = 'placement latest'
        self._transport = requests.Session()

    def __enter__(self) -> adapter.Adapter:
        self._conf.set_override('auth_strategy', 'noauth2', group='api')
        self._database = open_database(self._conf)
        try:
            application = deploy.application_on(self._database, self._conf)
        except BaseException:
            self._database.dispose()
            raise
        self._transport.mount(URL, InProcess(application))
        return adapter.Adapter(
            session.Session(session=self._transport, additional_headers=self._headers),
            service_type='placement',
            endpoint_override=URL,
            raise_exc=False,
        )

    def __exit__(self, *_error: object) -> None:
        self._transport.close()
        self._database.dispose()


class InProcess(adapters.HTTPAdapter):
    """A transport of requests that calls a WSGI application."""

    def __init__(self, application: WSGIApplication) -> None:
        super().__init__()
        self._application = application

    def send(
        self, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """The answer of the application; options of the connection are ignored."""
        # keystoneauth1 sends text or bytes; it offers no streams.
        body = request.body or b''
        asked = webob.Request.blank(
            request.url or URL,
            method=request.method or 'GET',
            body=body if isinstance(body, bytes) else str(body).encode(),
            environ={'REMOTE_ADDR': '127.0.0.1'},
        )
        for name, value in request.headers.items():
            asked.headers[name] = value if isinstance(value, str) else value.decode('latin-1')
        answer = asked.send(self._application)
        code, _, reason = answer.status.partition(' ')
        raw = urllib3.HTTPResponse(
            io.BytesIO(answer.body),
            answer.headerlist,
            int(code),
            reason=reason,
            preload_content=False,
        )
        return self.build_response(request, raw)
