# SPDX-License-Identifier: Apache-2.0
"""One call of the client: its requests, its tries and its deadline."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from placement.client import errors, microversions
from placement.client.connection import Connection
from placement.client.microversions import Feature, Microversion
from placement.client.responses import Answer
from placement.client.retry_policy import Deadline, RetryPolicy

LOG = logging.getLogger(__name__)

NOT_ACCEPTABLE = 406

Result = TypeVar('Result')


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked for; ``body`` writes it in the words of a microversion."""

    method: str
    path: str
    needs: frozenset[Feature] = frozenset()
    body: Callable[[Microversion], Any] | None = None
    #: What it is sent again after, as it is. That is right for what does no more when it is sent
    #: twice; after a conflict only if it has no generation in it, which would be the wrong one.
    repeated_after: tuple[type[errors.ClientError], ...] = (errors.Unreachable, errors.Conflict)
    #: A version to keep to even when both sides know newer ones.
    at_most: Microversion = microversions.NEWEST
    #: What a conflict without a code means.
    conflict: type[errors.ClientError] = errors.Refused


class Session:
    """What one call of the client sends its requests by; it belongs to one thread."""

    def __init__(
        self, connection: Connection, retry_policy: RetryPolicy, deadline: Deadline
    ) -> None:
        self._connection = connection
        self._retry_policy = retry_policy
        self._deadline = deadline

    def version(self) -> Microversion:
        """The newest microversion that both sides know.

        :raises errors.TooOld: there is none
        :raises errors.Unreachable: the service does not say
        """
        return self.persist(self._known_version, errors.Unreachable)

    def send(self, request: Request) -> Answer:
        """The answer to a request that was granted, which is repeated when that is safe.

        :raises errors.TooOld: the service does not know what the request needs
        :raises errors.ClientError: it was refused, or is not answered
        """
        return self.persist(lambda: self._send_once(request), *request.repeated_after)

    def persist(self, attempt: Callable[[], Result], *reasons: type[errors.ClientError]) -> Result:
        """What the attempt comes to, made again for these reasons, a little later each time.

        :raises errors.ClientError: that of the last attempt, or one of another kind
        """
        number = 0
        while True:
            try:
                return attempt()
            except reasons as error:
                self.pause(number, error)
            number += 1

    def pause(self, attempt: int, error: errors.ClientError) -> None:
        """Wait before trying again what has failed with this error.

        :raises errors.ClientError: the same error, when it was tried often enough or there is no
            time left to wait
        """
        delay = max(self._retry_policy.delay(attempt), error.retry_after)
        if attempt + 1 >= self._retry_policy.attempts or not self._deadline.allows(delay):
            raise error
        LOG.info('Trying again in %.2f s, after: %s', delay, error)
        time.sleep(delay)

    def _send_once(self, request: Request) -> Answer:
        answer = self._exchange(request)
        if answer.status == NOT_ACCEPTABLE:
            # Another release of the service has taken over; what it does not accept it has
            # not done. What it knows is asked anew.
            answer = self._exchange(request)
        if answer.status >= 400:
            raise answer.error(request.conflict)
        return answer

    def _exchange(self, request: Request) -> Answer:
        try:
            known = self._known_version()
        except errors.Unreachable as error:
            error.was_sent = False
            raise
        microversions.check(known, request.needs)
        version = min(known, request.at_most)
        body = None if request.body is None else request.body(version)
        answer = self._connection.ask(request.method, request.path, version, body, self._timeout())
        if answer.status == NOT_ACCEPTABLE:
            self._connection.forget(known)
        return answer

    def _known_version(self) -> Microversion:
        return self._connection.version(self._timeout())

    def _timeout(self) -> float:
        return min(self._retry_policy.request_timeout, self._deadline.remaining())
