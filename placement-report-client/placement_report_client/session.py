# SPDX-License-Identifier: Apache-2.0
"""One call of the client: its requests, retries and deadline."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from placement_report_client import errors, microversions
from placement_report_client.connection import Connection
from placement_report_client.microversions import Feature, Microversion
from placement_report_client.responses import Response
from placement_report_client.retry_policy import Deadline, RetryPolicy

LOG = logging.getLogger(__name__)

NOT_ACCEPTABLE = 406

Result = TypeVar('Result')


@dataclasses.dataclass(frozen=True)
class Request:
    """One request; ``body`` makes its body for a microversion."""

    method: str
    path: str
    needs: frozenset[Feature] = frozenset()
    body: Callable[[Microversion], Any] | None = None
    #: The errors after which the same request is sent again. That is safe for idempotent requests;
    #: after a conflict only for requests without generation, which would be stale.
    repeated_after: tuple[type[errors.ClientError], ...] = (errors.Unreachable, errors.Conflict)
    #: The newest version to send it at, even when both sides support newer ones.
    at_most: Microversion = microversions.NEWEST
    #: The error of a 409 without a code.
    conflict: type[errors.ClientError] = errors.Refused


class Session:
    """Sends the requests of one call of the client, with retries; it belongs to one thread."""

    def __init__(
        self, connection: Connection, retry_policy: RetryPolicy, deadline: Deadline
    ) -> None:
        self._connection = connection
        self._retry_policy = retry_policy
        self._deadline = deadline

    def version(self) -> Microversion:
        """The newest microversion that client and service support.

        :raises errors.TooOld: there is none
        :raises errors.Unreachable: the service does not answer
        """
        return self.retry(self._known_version, errors.Unreachable)

    def send(self, request: Request) -> Response:
        """The answer to a request that succeeded, retried according to the request.

        :raises errors.TooOld: the service does not support a feature that the request needs
        :raises errors.ClientError: it was refused, or not answered
        """
        return self.retry(lambda: self._send_once(request), *request.repeated_after)

    def retry(self, attempt: Callable[[], Result], *reasons: type[errors.ClientError]) -> Result:
        """The result of `attempt`, called again after these errors with growing delays.

        :raises errors.ClientError: the error of the last attempt, or one of another class
        """
        number = 0
        while True:
            try:
                return attempt()
            except reasons as error:
                self.back_off(number, error)
            number += 1

    def back_off(self, attempt: int, error: errors.ClientError) -> None:
        """Wait before the attempt after this one, which failed with this error.

        :raises errors.ClientError: the same error, when it was the last attempt or the deadline
            leaves no time to wait
        """
        delay = max(self._retry_policy.delay(attempt), error.retry_after)
        if attempt + 1 >= self._retry_policy.attempts or not self._deadline.allows(delay):
            raise error
        LOG.info('Trying again in %.2f s, after: %s', delay, error)
        time.sleep(delay)

    def _send_once(self, request: Request) -> Response:
        answer = self._exchange(request)
        if answer.status == NOT_ACCEPTABLE:
            # The service was replaced by one with other versions. A 406 means that the request was
            # not processed, so it is sent again after another request for the versions.
            answer = self._exchange(request)
        if answer.status >= 400:
            raise answer.error(request.conflict)
        return answer

    def _exchange(self, request: Request) -> Response:
        try:
            known = self._known_version()
        except errors.Unreachable as error:
            error.was_sent = False
            raise
        microversions.check(known, request.needs)
        version = min(known, request.at_most)
        body = None if request.body is None else request.body(version)
        answer = self._connection.send(
            request.method, request.path, version, body, self._timeout()
        )
        if answer.status == NOT_ACCEPTABLE:
            self._connection.forget(known)
        return answer

    def _known_version(self) -> Microversion:
        return self._connection.version(self._timeout())

    def _timeout(self) -> float:
        return min(self._retry_policy.request_timeout, self._deadline.remaining())
