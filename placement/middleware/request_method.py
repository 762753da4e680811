# SPDX-License-Identifier: Apache-2.0
"""A method for each request, which WSGI promises and uWSGI does not always give."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

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
