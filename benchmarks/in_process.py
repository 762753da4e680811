# SPDX-License-Identifier: Apache-2.0
"""A client of an application in the same process, which needs no connection."""

from __future__ import annotations

import json
from typing import Any
from wsgiref.types import WSGIApplication

from webob import Request

from benchmarks.client import MICROVERSION, Answer, Client


class InProcess(Client):
    """Sends the requests of a `Client` to an application."""

    def __init__(self, application: WSGIApplication) -> None:
        super().__init__(port=0)
        self._application = application

    def request(self, method: str, path: str, body: Any = None) -> Answer:
        """The answer, whatever its status."""
        request = Request.blank(path, method=method)
        request.headers['X-Auth-Token'] = 'admin'
        request.headers['X-Roles'] = 'admin,service'
        request.headers['OpenStack-API-Version'] = f'placement {MICROVERSION}'
        if body is not None:
            request.content_type = 'application/json'
            request.body = json.dumps(body).encode()
        response = request.get_response(self._application)
        self.statuses[response.status_int] += 1
        return Answer(response.status_int, response.body)
