# SPDX-License-Identifier: Apache-2.0
"""Error responses in place of unexpected exceptions (specification: http, "Failures of the
service").
"""

import logging
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement import errors
from placement.http.error_response import send_error

LOG = logging.getLogger(__name__)


class FaultBarrier:
    """The wrapped application, with an error response in place of any exception.

    The response has the status, code and message of `error`. The text of the exception, which may
    contain SQL, paths or answers of other services, goes to the log only, with the traceback.
    """

    def __init__(
        self,
        application: WSGIApplication,
        error: type[errors.PlacementError] = errors.UnexpectedFailure,
    ) -> None:
        self._application = application
        self._error = error

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._application(environ, start_response)
        except Exception as exception:
            LOG.exception('Placement API unexpected error: %s', type(exception).__name__)
            error = self._error()
            return send_error(environ, start_response, error, error.code)
