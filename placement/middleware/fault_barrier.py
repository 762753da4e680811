# SPDX-License-Identifier: Apache-2.0
"""The end of the line for errors that nobody expected.

Specification: http, "Responses and errors".
"""

import logging
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from placement import errors
from placement.http import error_response

LOG = logging.getLogger(__name__)


class FaultBarrier:
    """The wrapped application, with an answer of 500 in place of any exception."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._application(environ, start_response)
        except Exception as error:
            LOG.exception('Placement API unexpected error: %s', error)
            response = error_response.error_response(
                environ, 500, str(error), code=errors.UNDEFINED_CODE
            )
            answer: Iterable[bytes] = response(environ, start_response)
            return answer
